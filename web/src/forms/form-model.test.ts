import assert from "node:assert/strict";
import { test } from "node:test";
import { formModel } from "./form-model.ts";

const nested = (depth: number): unknown => (depth === 0 ? { type: "string" } : { type: "object", properties: { a: nested(depth - 1) } });
const flat = (count: number): unknown => Object.fromEntries(Array.from({ length: count }, (_n, at) => [`f${at}`, { type: "string" }]));

for (const [name, schema, reason] of [
  ["no schema at all", undefined, "unusable"],
  ["a list", [], "unusable"],
  ["a schema of an array", { type: "array" }, "unusable"],
  ["a schema elsewhere", { type: "object", properties: { a: { $ref: "https://example.test/a.json" } } }, "unusable"],
  ["an open object", { type: "object" }, "none"],
  ["nine levels", nested(9), "large"],
  ["201 fields", { type: "object", properties: flat(201) }, "large"],
] as const)
  test(`${name} is written as JSON`, () => {
    const model = formModel(schema);
    assert.deepEqual(model.kind === "raw" ? model.reason : model.kind, reason);
  });

for (const [name, schema] of [
  ["a closed object without properties", { type: "object", additionalProperties: false }],
  ["eight levels", nested(8)],
  ["200 fields", { type: "object", properties: flat(200) }],
  ["a reference to itself", { $ref: "#/$defs/a", $defs: { a: { type: "object", properties: { next: { $ref: "#/$defs/a" } } } } }],
  ["alternatives", { type: "object", oneOf: [{ properties: { a: { type: "string" } } }, { properties: { b: { type: "string" } } }] }],
] as const)
  test(`${name} has fields`, () => assert.equal(formModel(schema).kind, "fields"));

const drawnAs = (property: unknown): unknown => {
  const model = formModel({ type: "object", properties: { a: property } });
  assert.equal(model.kind, "fields");
  return model.kind === "fields" ? (model.drawn["properties"] as Record<string, unknown>)["a"] : undefined;
};

for (const [name, property, drawn] of [
  ["anything is a field of JSON", {}, { title: "a", description: "" }],
  ["an open object is a field of JSON", { type: "object", description: "any" }, { title: "a", description: "any" }],
  ["two types at once are a field of JSON", { type: ["string", "number"] }, { title: "a", description: "" }],
  ["a list of anything is a field of JSON", { type: "array" }, { title: "a", description: "" }],
  ["a text or nothing is a text", { anyOf: [{ type: "string" }, { type: "null" }] }, { title: "a", description: "", type: "string" }],
  [
    "what only checks is not drawn",
    { type: "string", not: { const: "x" }, pattern: "^a" },
    { title: "a", description: "", type: "string" },
  ],
  ["a title that is no text is not shown", { type: "string", title: 7 }, { title: "a", description: "", type: "string" }],
  [
    "conditions are no alternatives to choose from",
    { type: "object", properties: { b: { type: "string" } }, anyOf: [{ required: ["b"] }, { maxProperties: 0 }] },
    { title: "a", description: "", type: "object", properties: { b: { title: "b", description: "", type: "string" } } },
  ],
] as const)
  test(name, () => assert.deepEqual(drawnAs(property), drawn));
