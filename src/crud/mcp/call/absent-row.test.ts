import assert from "node:assert/strict";
import { cp, mkdtemp, readFile, rm, writeFile } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { fileURLToPath } from "node:url";
import { test, type TestContext } from "node:test";
import { seedEmployees } from "#demo/employees.ts";
import { agent, crudInstance, type CrudInstance } from "#testing/crud-instance.ts";

const shipped = fileURLToPath(new URL("../../../../config/", import.meta.url));
const foreign = seedEmployees().find((row) => row.tenant === "tenant:globex")?.id ?? "";
const absent = "e999999999";

/** The shipped systems, where no file says what an upstream's 404 means. */
const unmapped = async (t: TestContext): Promise<string> => {
  const folder = await mkdtemp(join(tmpdir(), "sallyport-absent-"));
  t.after(() => rm(folder, { recursive: true, force: true }));
  await cp(shipped, folder, { recursive: true });
  const file = join(folder, "demo/systems/people.demo.yaml");
  const text = await readFile(file, "utf8");
  const changed = text.replaceAll(/^ {4}errors:\n(?: {6}- .*\n)+/gm, "");
  assert.notEqual(changed, text);
  await writeFile(file, changed);
  return folder;
};

const without = (value: unknown): unknown =>
  JSON.parse(
    JSON.stringify(value, (name, held: unknown) =>
      ["call_id", "correlation_id", "decision_id", "decisionId", "correlationId", "duration_ms", "arguments_digest", "actId"].includes(name)
        ? undefined
        : held,
    ).replaceAll(/\b(?:d_\d+|r-[0-9a-f-]{36}|[0-9a-f-]{36})\b/g, "~"),
  );

/** All that a call about this row shows, costs and does. */
const traceOf = async (instance: CrudInstance, name: string, id: string, key: string) => {
  const args = name.endsWith("update_salary") ? { id, salary: 50_000 } : { id };
  const sent = instance.people.requests;
  for (const list of [
    instance.entries,
    instance.asked.decisions,
    instance.asked.membership,
    instance.asked.secrets,
    instance.membership.settled,
  ])
    list.length = 0;
  instance.membership.released.length = 0;
  const body = {
    jsonrpc: "2.0",
    id: 1,
    method: "tools/call",
    params: { name, arguments: args, _meta: { "sallyport/idempotencyKey": key } },
  };
  const as = { ...agent, acr: "strong" as const };
  const answers = [];
  // The second one with the same key: it tells whether the first is held to have done anything.
  for (let time = 0; time < 2; time++) {
    const { status, headers, body: answer } = await instance.rpc(body, { as });
    answers.push({ status, headers: [...headers.keys()].toSorted(), answer });
  }
  return without({
    answers,
    upstream: instance.people.requests - sent,
    entries: instance.entries,
    decisions: instance.asked.decisions.map(({ ask }) => [ask.type, ask.action]),
    // Two of them are asked at once: which comes first is nobody's word.
    membership: instance.asked.membership
      .map(({ method, path }) => `${method} ${path.replace(/reservations\/[^/]+/, "reservations/~")}`)
      .toSorted(),
    secrets: instance.asked.secrets.length,
    settled: instance.membership.settled.map(({ usd, steps, outcome }) => [usd, steps, outcome]),
    released: instance.membership.released.length,
  });
};

for (const [files, folderOf] of [
  ["as shipped", async () => shipped],
  ["without words for an absent row", unmapped],
] as const)
  test(`a row of another tenant looks, costs and works like one that is not there: files ${files}`, async (t) => {
    const instance = await crudInstance(t, { configFolder: await folderOf(t) });
    for (const name of ["people.demo.get_employee", "people.demo.update_salary"]) {
      const [theirs, nobodys] = [await traceOf(instance, name, foreign, `${name}-a`), await traceOf(instance, name, absent, `${name}-b`)];
      assert.deepEqual(theirs, nobodys, name);
      const { answers, settled } = theirs as { answers: { answer: { error: { data: { code: string } } } }[]; settled: unknown[] };
      assert.deepEqual(
        answers.map(({ answer }) => answer.error.data.code),
        ["not_found", "not_found"],
        name,
      );
      assert.deepEqual(settled, [
        [0, 1, "failed"],
        [0, 1, "failed"],
      ]);
    }
  });
