import assert from "node:assert/strict";
import { test } from "node:test";
import type { ToolDescriptor } from "#contract/tools.ts";
import { facetOf, filterTools, isReadOnly, systemOf, tagsOf, tokensOf } from "./tool-filter.ts";

const tool = (name: string, more: Partial<ToolDescriptor> = {}): ToolDescriptor => ({
  name,
  description: `Does ${name}`,
  inputSchema: {},
  source: "system",
  ...more,
});

const people = tool("people.demo.list_employees", {
  title: "List employees",
  metadata: { provider: "people", instance: "demo" },
  annotations: { tags: ["hr", "read"], readOnlyHint: true },
});
const memory = tool("memory.demo.create_entities", { metadata: { provider: "memory", instance: "demo" } });
const flow = tool("workflow.offboard", { source: "workflow", annotations: { tags: ["hr"] } });
const all = [people, memory, flow];

test("every word must be found in name, title or description, in any case", () => {
  assert.deepEqual(filterTools(all, { q: "EMPLOYEES list" }), [people]);
  assert.deepEqual(filterTools(all, { q: "  " }), all);
  assert.deepEqual(filterTools(all, { q: "employees offboard" }), []);
});

test("facets narrow together", () => {
  assert.deepEqual(filterTools(all, { tag: "hr" }), [people, flow]);
  assert.deepEqual(filterTools(all, { tag: "hr", source: "workflow" }), [flow]);
  assert.deepEqual(filterTools(all, { provider: "memory.demo" }), [memory]);
});

test("a facet counts each value, in order, without empty ones", () => {
  assert.deepEqual(
    [...facetOf(all, tagsOf)],
    [
      ["hr", 2],
      ["read", 1],
    ],
  );
  assert.deepEqual([...facetOf(all, (each) => [systemOf(each)]).keys()], ["memory.demo", "people.demo"]);
});

test("only a clear yes of the source is read-only", () => {
  assert.equal(isReadOnly(people), true);
  assert.equal(isReadOnly(tool("x", { annotations: { readOnlyHint: "true" } })), false);
  assert.equal(isReadOnly(memory), false);
});

test("tags that are no list of text count as none", () => {
  assert.deepEqual(tagsOf(tool("x", { annotations: { tags: "hr" } })), []);
  assert.deepEqual(tagsOf(tool("x", { annotations: { tags: ["hr", 7] } })), ["hr"]);
});

test("the size in tokens counts bytes, not characters", () => {
  assert.ok(tokensOf([tool("x", { description: "ü".repeat(400) })]) > tokensOf([tool("x", { description: "u".repeat(400) })]));
});
