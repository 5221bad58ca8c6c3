import assert from "node:assert/strict";
import { test } from "node:test";
import { parseExactJson } from "#contract/exact-numbers.ts";
import { prepareSchema, TOO_MUCH_WORK } from "./foreign-schema.ts";
import { schemaIssues } from "./schema-issues.ts";
import type { Place } from "./schema-rules.ts";

const check = prepareSchema({
  type: "object",
  properties: { items: { type: "array", items: { type: "object", required: ["id"], properties: { id: { type: "string" } } } } },
});
const rows = (count: number, ...more: readonly unknown[]) => ({
  items: [...Array.from({ length: count }, () => ({ id: "x" })), ...more],
});

for (const [name, count, isHere] of [
  ["small", 1, true],
  ["large", 30_000, false],
] as const)
  test(`a ${name} value is checked ${isHere ? "here" : "in a thread"}, and all its issues are named`, async () => {
    assert.equal(check(rows(count)) !== TOO_MUCH_WORK, isHere);
    assert.deepEqual(await schemaIssues(check, rows(count)), []);
    assert.deepEqual(await schemaIssues(check, rows(count, { id: 1 }, {})), [
      { path: `/items/${count}/id`, message: "must be a string" },
      { path: `/items/${count + 1}/id`, message: "is required" },
    ]);
  });

test("what takes more than a second in the thread, too, is too much work, and another tenant waits for none of it", async () => {
  const branches = Array.from({ length: 400 }, (_none, at) => ({ required: [`x${at}`] }));
  const endless = prepareSchema({ properties: { items: { items: { anyOf: branches } } } });
  const ended: string[] = [];
  const ask = async (tenant: string, count: number, by = endless) => {
    const issues = await schemaIssues(by, rows(count), { tenant });
    ended.push(tenant);
    return issues;
  };
  const [first, second, other] = [ask("tenant:one", 2900), ask("tenant:one", 100_000), ask("tenant:two", 30_000, check)];
  assert.deepEqual(await Promise.all([first, second, other]), [TOO_MUCH_WORK, TOO_MUCH_WORK, []]);
  assert.equal(ended.at(-1), "tenant:one");
});

test("the thread compares on all digits, too, and finds every text where an integer may be", async () => {
  const ids = prepareSchema(parseExactJson('{"items":{"type":"integer","maximum":9223372036854775807},"uniqueItems":true}'));
  const list = (...more: readonly string[]) =>
    parseExactJson(`[${Array.from({ length: 30_000 }, (_none, at) => `900719925474${1_000_000 + at}`).join()},${more.join()}]`);
  assert.equal(ids(list("1")), TOO_MUCH_WORK);
  assert.deepEqual(await schemaIssues(ids, list("9223372036854775806", "9223372036854775807")), []);
  assert.deepEqual(await schemaIssues(ids, list("9223372036854775808", "9007199254740993.5")), [
    { path: "/30000", message: "must be at most 9223372036854775807" },
    { path: "/30001", message: "must be an integer" },
  ]);
  const texts = Array.from({ length: 30_000 }, () => "9007199254740993");
  const integers: Place[] = [];
  assert.equal((await schemaIssues(ids, texts.slice(0, 9000), { integers })).length, 50);
  assert.deepEqual(
    integers.map(({ key }) => key),
    texts.slice(0, 9000).keys().toArray(),
  );
  assert.equal((await schemaIssues(ids, texts)).length, 50);
});
