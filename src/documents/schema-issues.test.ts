import assert from "node:assert/strict";
import { test } from "node:test";
import { parseExactJson } from "#contract/exact-numbers.ts";
import { prepareSchema, TOO_MUCH_WORK } from "./foreign-schema.ts";
import { schemaIssues } from "./schema-issues.ts";

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

test("what takes seconds in the thread, too, is too much work", async () => {
  const branches = Array.from({ length: 400 }, (_none, at) => ({ required: [`x${at}`] }));
  const endless = prepareSchema({ properties: { items: { items: { anyOf: branches } } } });
  assert.deepEqual(await schemaIssues(endless, rows(100_000)), TOO_MUCH_WORK);
});

test("the thread compares on all digits, too, and names as many issues as are wanted", async () => {
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
  assert.equal((await schemaIssues(ids, texts, { maxIssues: 40_000 })).length, 30_001);
  assert.equal((await schemaIssues(ids, texts)).length, 50);
});
