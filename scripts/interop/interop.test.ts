import assert from "node:assert/strict";
import { cp, mkdtemp, rm, writeFile } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { after, test, type TestContext } from "node:test";
import { fileURLToPath } from "node:url";
import { testIdentity } from "#testing/identity.ts";
import { profilePdp } from "#testing/pdp-profile.ts";
import { readSets } from "./read-sets.ts";
import { runCase } from "./run-case.ts";
import type { Target } from "./target.ts";

const url = "http://localhost:8082";

/** For all tests of the file. */
const whole = { after: (close: () => unknown) => after(async () => void (await close())) } as Pick<TestContext, "after">;

const targetOf = async (name: string): Promise<Target> => {
  const identity = testIdentity();
  const service = await profilePdp(whole, name, identity);
  const token = await identity.tokenFor(
    { sub: "service:pep", tenant: "*", scopes: ["authzen.pep", "authzen.search"], clientId: "service:pep", life: 3600 },
    url,
  );
  return { url, token, send: (request) => service.fetch(request) };
};

const interop = targetOf("interop");
const certification = targetOf("interop-certification");

for (const [folder, target] of [
  ["cases", interop],
  ["certification", certification],
  ["conformance", certification],
] as const) {
  const { cases, left } = await readSets(fileURLToPath(new URL(folder, import.meta.url)));
  void test(`${folder}: every file holds cases`, () => assert.deepEqual(left, []));
  for (const set of new Set(cases.map((one) => one.set))) {
    void test(`${folder}/${set}: the decision point answers every case as the scenario wants it`, async () => {
      const at = await target;
      const wrong: string[] = [];
      for (const one of cases.filter((candidate) => candidate.set === set)) {
        const issues = await runCase(one, at);
        if (issues.length > 0) wrong.push(`${one.name}: ${issues.join("; ")}`);
      }
      assert.deepEqual(wrong, []);
    });
  }
}

void test("cases/search.yaml: every published search holds the same in pages of 7", async () => {
  const { cases } = await readSets(fileURLToPath(new URL("cases", import.meta.url)));
  const at = await interop;
  const searches = cases.filter((one) => one.expect.results !== undefined && one.expect.pagesOf === undefined);
  const results = searches.reduce((sum, one) => sum + (one.expect.results?.length ?? 0), 0);
  assert.ok(results >= 60, `${results} published results`);
  const wrong: string[] = [];
  for (const one of searches) {
    const issues = await runCase({ ...one, expect: { ...one.expect, pagesOf: 7 } }, at);
    if (issues.length > 0) wrong.push(`${one.name}: ${issues.join("; ")}`);
  }
  assert.deepEqual(wrong, []);
});

test("published sets are read as they are, and a file without cases is named, not passed over", async (t) => {
  const folder = await mkdtemp(join(tmpdir(), "interop-"));
  t.after(() => rm(folder, { recursive: true }));
  const write = (name: string, value: unknown) => writeFile(join(folder, name), JSON.stringify(value));
  const ask = { subject: { type: "user", id: "a" }, action: { name: "read" }, resource: { type: "doc", id: "1" } };
  await write("decisions.json", {
    evaluation: [{ request: ask, expected: true }],
    evaluations: [{ request: { ...ask, evaluations: [{}, {}] }, expected: [{ decision: true }, { decision: false }] }],
  });
  await write("searches.json", {
    search: [
      { request: { ...ask, resource: { type: "doc" } }, expected: { results: [] } },
      { request: { ...ask, subject: { type: "user" } }, expected: { results: [] } },
      { request: { subject: ask.subject, resource: ask.resource }, expected: { results: [] } },
    ],
  });
  await write("users.json", [{ id: "a" }]);
  await write("half.json", [{ id: "a" }, { request: ask }]);
  await cp(new URL("cases/idp.yaml", import.meta.url), join(folder, "own.yaml"));
  const { cases, left } = await readSets(folder);
  assert.deepEqual(
    cases.filter((one) => one.set !== "own.yaml").map((one) => one.path.slice("/access/v1/".length)),
    ["evaluation", "evaluations", "search/resource", "search/subject", "search/action"],
  );
  assert.deepEqual(
    left.map(({ file, isIssue }) => [file, isIssue]),
    [
      ["half.json", true],
      ["users.json", false],
    ],
  );
});
