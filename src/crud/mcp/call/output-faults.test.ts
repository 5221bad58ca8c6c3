import assert from "node:assert/strict";
import { test } from "node:test";
import { prepareSchema } from "#documents/foreign-schema.ts";
import type { Tool } from "#crud/mcp/tool.ts";
import { outputFaults } from "./output-faults.ts";

const schema = {
  type: "object",
  properties: { items: { type: "array", items: { type: "object", required: ["id"], properties: { id: { type: "string" } } } } },
};
const tool = (outputSchema?: Readonly<Record<string, unknown>>) =>
  ({ definition: { outputSchema }, rules: { checkOutput: outputSchema && prepareSchema(outputSchema) } }) as unknown as Tool;
const text = "x".repeat(100);
const rows = (count: number, ...more: readonly unknown[]) => ({ items: [...Array.from({ length: count }, () => ({ id: text })), ...more] });

for (const [name, count] of [
  ["small", 1],
  ["large", 3000],
] as const)
  test(`a ${name} answer is held against the tool's schema, and all its faults are named`, async () => {
    const faultsOf = (value: unknown, of = tool(schema)) => outputFaults(of, value, JSON.stringify(value));
    assert.deepEqual(await faultsOf(rows(count)), []);
    assert.deepEqual(await faultsOf(rows(count, { id: 1 }, {})), [
      { path: `/items/${count}/id`, message: "must be a string" },
      { path: `/items/${count + 1}/id`, message: "is required" },
    ]);
    assert.deepEqual(await faultsOf(rows(count, 1), tool()), []);
  });
