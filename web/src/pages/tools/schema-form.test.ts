import assert from "node:assert/strict";
import { test } from "node:test";
import { collectFields, collectRaw, fieldOfIssue, formModel, valuesOf, type Field } from "./schema-form.ts";

const fieldsOf = (schema: unknown): readonly Field[] => {
  const model = formModel(schema);
  assert.equal(model.kind, "fields");
  return model.kind === "fields" ? model.fields : [];
};

const salary = {
  type: "object",
  required: ["id", "salary"],
  additionalProperties: false,
  properties: {
    id: { type: "string", title: "Employee" },
    salary: { type: "integer", description: "USD a year" },
    rate: { type: "number", default: 1.5 },
    notify: { type: "boolean" },
    status: { enum: ["active", "left", 3] },
    tags: { type: "array", items: { type: "string" } },
    note: { type: ["string", "null"] },
  },
};

test("a flat schema becomes fields of the right kinds, in its order", () => {
  assert.deepEqual(
    fieldsOf(salary).map((field) => [field.name, field.kind, field.isRequired]),
    [
      ["id", "text", true],
      ["salary", "integer", true],
      ["rate", "number", false],
      ["notify", "boolean", false],
      ["status", "choice", false],
      ["tags", "list", false],
      ["note", "text", false],
    ],
  );
});

for (const [name, schema, reason] of [
  ["no schema at all", undefined, "unusable"],
  ["a list", [], "unusable"],
  ["a schema of an array", { type: "array" }, "unusable"],
  ["an open object", { type: "object" }, "none"],
  ["an inner object", { type: "object", properties: { a: { type: "object" } } }, "nested"],
  ["an array of numbers", { type: "object", properties: { a: { type: "array", items: { type: "number" } } } }, "nested"],
  ["an untyped property", { type: "object", properties: { a: {} } }, "nested"],
  ["two types at once", { type: "object", properties: { a: { type: ["string", "number"] } } }, "nested"],
  ["a reference", { $ref: "#/x" }, "combined"],
  ["alternatives", { type: "object", oneOf: [], properties: { a: { type: "string" } } }, "combined"],
  ["a property with alternatives", { type: "object", properties: { a: { type: "string", anyOf: [] } } }, "nested"],
  ["an enum of objects", { type: "object", properties: { a: { enum: [{}] } } }, "nested"],
  [
    "too many fields",
    { type: "object", properties: Object.fromEntries(Array.from({ length: 41 }, (_n, index) => [`f${index}`, { type: "string" }])) },
    "large",
  ],
] as const)
  test(`${name} is written as JSON`, () => assert.deepEqual(formModel(schema), { kind: "raw", reason }));

test("a closed object without properties is an empty form", () =>
  assert.deepEqual(fieldsOf({ type: "object", additionalProperties: false }), []));

test("filled-in fields become arguments; what may be left out and is empty is left out", () => {
  const collected = collectFields(fieldsOf(salary), {
    id: "e1",
    salary: " 120000 ",
    notify: "true",
    status: "3",
    tags: "a\n\n b ",
    note: "",
  });
  assert.deepEqual(collected, { value: { id: "e1", salary: 120_000, rate: 1.5, notify: true, status: 3, tags: ["a", "b"] } });
});

test("all issues are found at once", () => {
  const collected = collectFields(fieldsOf(salary), { salary: "12.5", rate: "much", status: "gone" });
  assert.deepEqual(collected, {
    issues: [
      { path: "/id", code: "required" },
      { path: "/salary", code: "whole_number" },
      { path: "/rate", code: "number" },
      { path: "/status", code: "choice" },
    ],
  });
});

for (const text of ["1e3", "0x10", "", "-", "1 2", "NaN"])
  test(`"${text}" is no whole number`, () => {
    const fields = fieldsOf({ type: "object", required: ["n"], properties: { n: { type: "integer" } } });
    assert.ok("issues" in collectFields(fields, { n: text }));
  });

test("a whole number beyond 2^53 goes as text, and as it is where the arguments are JSON", () => {
  const fields = fieldsOf({ type: "object", required: ["n"], properties: { n: { type: "integer" } } });
  assert.deepEqual(collectFields(fields, { n: "9007199254740993" }), { value: { n: "9007199254740993" } });
  assert.equal(JSON.stringify(collectRaw('{"n":9007199254740993}')), '{"value":{"n":9007199254740993}}');
});

test("arguments written as JSON must be one object", () => {
  assert.deepEqual(collectRaw('{"a":[1]}'), { value: { a: [1] } });
  assert.deepEqual(collectRaw("  "), { value: {} });
  assert.deepEqual(collectRaw("[1]"), { issues: [{ path: "", code: "object" }] });
  assert.deepEqual(collectRaw("{"), { issues: [{ path: "", code: "json" }] });
});

test("arguments go back into fields and come out the same", () => {
  const fields = fieldsOf(salary);
  const value = { id: "e1", salary: 5, rate: 0.25, notify: false, status: "left", tags: ["x", "y"] };
  assert.deepEqual(collectFields(fields, valuesOf(fields, value)), { value });
});

test("an issue of the server finds its field, inner paths too", () => {
  const fields = fieldsOf({
    type: "object",
    properties: { "a/b": { type: "string" }, tags: { type: "array", items: { type: "string" } } },
  });
  assert.equal(fieldOfIssue(fields, "/a~1b"), "a/b");
  assert.equal(fieldOfIssue(fields, "/tags/0"), "tags");
  assert.equal(fieldOfIssue(fields, "/tagsy"), undefined);
  assert.equal(fieldOfIssue(fields, ""), undefined);
});

test("fields that look like a secret are marked, so that no draft keeps them", () => {
  const fields = fieldsOf({
    type: "object",
    properties: {
      api_key: { type: "string" },
      pin: { type: "string", writeOnly: true },
      code: { type: "string", format: "password" },
      name: { type: "string" },
    },
  });
  assert.deepEqual(
    fields.map((field) => field.isSecret),
    [true, true, true, false],
  );
});
