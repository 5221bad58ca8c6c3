import assert from "node:assert/strict";
import { test } from "node:test";
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
