import assert from "node:assert/strict";
import { cp, mkdtemp, rm, writeFile } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { after, test, type TestContext } from "node:test";
import { fileURLToPath } from "node:url";
import { testIdentity } from "#testing/identity.ts";
import { profilePdp } from "#testing/pdp-profile.ts";
import { readSets } from "./read-sets.ts";
import { runCase, type Target } from "./run-case.ts";

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
] as const) {
  const { cases, left } = await readSets(fileURLToPath(new URL(folder, import.meta.url)));
  void test(`${folder}: every file holds cases`, () => assert.deepEqual(left, []));
  for (const set of new Set(cases.map((one) => one.set))) {
    void test(`${folder}/${set}: the decision point answers every case as the scenario wants it`, async () => {
      const at = await target;
      const wrong: string[] = [];
      for (const one of cases.filter((candidate) => candidate.set === set)) {
        const faults = await runCase(one, at);
        if (faults.length > 0) wrong.push(`${one.name}: ${faults.join("; ")}`);
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
    const faults = await runCase({ ...one, expect: { ...one.expect, pagesOf: 7 } }, at);
    if (faults.length > 0) wrong.push(`${one.name}: ${faults.join("; ")}`);
  }
  assert.deepEqual(wrong, []);
});

/** A decision point that answers the way the row says, to a case that wants `{"decision":true}`. */
const answers: readonly (readonly [name: string, answer: (request: Request) => Response, says: RegExp])[] = [
  ["the other decision", () => Response.json({ decision: false }), /instead of \{"decision":true\}/],
  ["a decision that is text", () => Response.json({ decision: "true" }), /instead of/],
  ["a member more", () => Response.json({ decision: true, context: {} }), /instead of/],
  ["another status", () => Response.json({ decision: true }, { status: 201 }), /status 201/],
  ["another type", () => new Response('{"decision":true}', { headers: { "content-type": "text/html" } }), /Content-Type/],
  ["no JSON", () => new Response("yes", { headers: { "content-type": "application/json" } }), /not JSON/],
  ["an error", () => Response.json({ title: "no" }, { status: 500 }), /status 500/],
];
const echoing =
  (answer: (request: Request) => Response): Target["send"] =>
  async (request) => {
    const response = answer(request);
    response.headers.set("x-request-id", request.headers.get("x-request-id") ?? "");
    return response;
  };
const single = {
  set: "x",
  name: "x",
  method: "POST",
  path: "/access/v1/evaluation",
  headers: {},
  body: "{}",
  expect: { status: 200, body: { decision: true } },
} as const;

test("a wrong answer fails, whatever is wrong with it", async () => {
  const right = echoing(() => Response.json({ decision: true }));
  assert.deepEqual(await runCase(single, { url, token: undefined, send: right }), []);
  for (const [name, answer, says] of answers) {
    const faults = await runCase(single, { url, token: undefined, send: echoing(answer) });
    assert.match(faults.join("; "), says, name);
  }
  const silent = await runCase(single, { url, token: undefined, send: async () => Response.json({ decision: true }) });
  assert.match(silent.join("; "), /X-Request-ID/);
  const away = await runCase(single, { url, token: undefined, send: () => Promise.reject(new Error("refused")) });
  assert.match(away.join("; "), /no answer: refused/);
});

test("results that lack one, repeat one, hold one more or another shape fail; their order is free", async () => {
  const [a, b, c] = ["a", "b", "c"].map((id) => ({ type: "user", id }));
  const one = { ...single, path: "/access/v1/search/subject", expect: { status: 200, results: [a, b] } };
  const cases: readonly (readonly [body: unknown, passes: boolean])[] = [
    [{ results: [a, b] }, true],
    [{ results: [b, a] }, true],
    [{ results: [a] }, false],
    [{ results: [a, b, c] }, false],
    [{ results: [a, a, b] }, false],
    [{ results: [a, { ...b, name: "B" }] }, false],
    [{ results: [a, b], page: {} }, false],
    [[a, b], false],
  ];
  for (const [body, passes] of cases) {
    const faults = await runCase(one, { url, token: undefined, send: echoing(() => Response.json(body)) });
    assert.equal(faults.length === 0, passes, JSON.stringify(body));
  }
});

test("pages that repeat, skip or never end fail", async () => {
  const [a, b] = ["a", "b"].map((id) => ({ type: "user", id }));
  const one = { ...single, path: "/access/v1/search/subject", expect: { status: 200, results: [a, b], pagesOf: 1 } };
  const paged = (pages: Readonly<Record<string, readonly [results: unknown[], next: string]>>): Target["send"] => {
    const send = async (request: Request): Promise<Response> => {
      const { page } = (await request.clone().json()) as { page: { token?: string } };
      const [results, next] = pages[page.token ?? ""] ?? [[], ""];
      return echoing(() => Response.json({ results, page: { next_token: next } }))(request);
    };
    return send;
  };
  const run = (pages: Parameters<typeof paged>[0]) => runCase(one, { url, token: undefined, send: paged(pages) });
  assert.deepEqual(await run({ "": [[a], "t"], t: [[b], ""] }), []);
  assert.notDeepEqual(await run({ "": [[a], "t"], t: [[a], ""] }), [], "repeats");
  assert.notDeepEqual(await run({ "": [[a], ""] }), [], "skips");
  assert.notDeepEqual(await run({ "": [[a], "t"], t: [[b], "t"] }), [], "never ends");
  assert.notDeepEqual(await run({ "": [[a, b], ""] }), [], "too long a page");
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
    left.map(({ file, isFault }) => [file, isFault]),
    [
      ["half.json", true],
      ["users.json", false],
    ],
  );
});
