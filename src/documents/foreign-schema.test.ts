import assert from "node:assert/strict";
import { test } from "node:test";
import { format } from "@cfworker/json-schema";
import { garbageCollector } from "#testing/garbage-collector.ts";
import { until } from "#testing/until.ts";
import { parseExactJson } from "#contract/exact-numbers.ts";
import { prepareSchema } from "./foreign-schema.ts";

const employee = {
  type: "object",
  required: ["id", "salary"],
  properties: {
    id: { type: "string", pattern: "^e[0-9]{1,9}$" },
    salary: { type: "integer", minimum: 0 },
    tags: { type: "array", items: { type: "string" } },
  },
  additionalProperties: false,
};

test("all faults are found at once, each at its place, without the value", () => {
  const faults = prepareSchema(employee)({ id: "secret-value", salary: -4, tags: ["a", 5], more: 1 });
  assert.deepEqual(faults.map((fault) => `${fault.path} ${fault.message}`).toSorted(), [
    "/id must match ^e[0-9]{1,9}$",
    "/more is not known here",
    "/salary must be at least 0",
    "/tags/1 must be a string",
  ]);
  assert.ok(!JSON.stringify(faults).includes("secret-value"));
});

test("a number that no double holds is held against types and bounds, and never taken for one that is named", () => {
  const check = prepareSchema({ properties: { id: { type: "integer", maximum: 2 ** 63 }, rate: { type: "number" } } });
  for (const text of ['{"id":9007199254740993}', '{"id":9223372036854775807,"rate":0.1234567890123456789}'])
    assert.deepEqual(check(parseExactJson(text)), [], text);
  assert.deepEqual(
    check(parseExactJson('{"id":92233720368547758070,"rate":{"a":9007199254740993}}')).map(({ path, message }) => `${path} ${message}`),
    ["/id must be at most 9223372036854775807", "/rate must be a number"].map((text) =>
      text.replace("9223372036854775807", "9223372036854776000"),
    ),
  );
  assert.deepEqual(
    check(parseExactJson('{"id":1234567890123456.78901}')).map(({ message }) => message),
    ["must be an integer"],
  );
  for (const named of [{ const: 2 ** 53 }, { enum: [1, { a: [2 ** 60] }] }, { enum: [parseExactJson("9007199254740993")] }])
    assert.throws(() => prepareSchema(named), /names a number beyond 2\^53/);
});

test("a fault says what was wanted, in the schema's own words as far as they are short, and never what came", () => {
  const says = (schema: object, value: unknown): string =>
    prepareSchema(schema)(value)
      .map(({ message }) => message)
      .join("; ");
  const long = "x".repeat(300);
  for (const [schema, value, message] of [
    [{ const: 'a "quoted". word' }, "s3cret", 'must be "a \\"quoted\\". word"'],
    [{ enum: ["draft", 3, null] }, "s3cret", 'must be one of "draft",3,null'],
    [{ enum: [long] }, "s3cret", "must be one of the values the schema names"],
    [{ pattern: '^"[a-z]+"\\.$' }, "s3cret", 'must match ^"[a-z]+"\\.$'],
    [{ pattern: `^${long}$` }, "s3cret", "does not match the pattern"],
    [{ format: "date" }, "s3cret", "must be a date"],
    [{ minLength: 9 }, "s3cret", "must have at least 9 characters"],
    [{ maxLength: 3 }, "s3cret", "must have at most 3 characters"],
    [{ minItems: 2 }, ["s3cret"], "must have at least 2 items"],
    [{ maxItems: 1 }, ["s3cret", 1], "must have at most 1 item"],
  ] as const)
    assert.equal(says(schema, value), message);
});

test("a keyword named __proto__ means nothing: it lends the schema no keywords", () => {
  assert.deepEqual(prepareSchema(JSON.parse('{"__proto__": {"type": "string"}, "maximum": 3}'))(2), []);
});

test("a missing member and a wrong type are named", () => {
  assert.deepEqual(prepareSchema(employee)({ id: 7 }), [
    { path: "/salary", message: "is required" },
    { path: "/id", message: "must be a string" },
  ]);
  assert.deepEqual(prepareSchema(employee)([]), [{ path: "", message: "must be an object" }]);
});

test("a pattern that would backtrack for years answers at once", () => {
  const check = prepareSchema({ type: "object", properties: { text: { type: "string", pattern: "^(a+)+$" } } });
  const started = performance.now();
  assert.deepEqual(check({ text: `${"a".repeat(20_000)}!` }), [{ path: "/text", message: "must match ^(a+)+$" }]);
  assert.ok(performance.now() - started < 2000);
});

test("patterns of schemas that nobody uses any more leave the process, and those of the others stay", async () => {
  const collect = garbageCollector();
  const kept = (): number => Object.keys(format).filter((name) => name.startsWith("re2:^list-")).length;
  const check = prepareSchema({ type: "string", pattern: "^list-0$" });
  for (let list = 0; list < 200; list++) prepareSchema({ type: "string", pattern: `^list-${list}$` });
  assert.throws(() => prepareSchema({ allOf: [{ pattern: "^list-refused$" }, { $ref: "#/nowhere" }] }));
  await until(
    () => (collect(), kept()),
    (count) => count === 1,
  );
  assert.deepEqual([check("list-0"), check("list-1").length], [[], 1]);
});

test("inner references work and outer ones are refused", () => {
  const check = prepareSchema({ type: "object", properties: { at: { $ref: "#/$defs/place" } }, $defs: { place: { type: "string" } } });
  assert.deepEqual(check({ at: "here" }), []);
  assert.deepEqual(check({ at: 1 }), [{ path: "/at", message: "must be a string" }]);
  for (const [schema, message] of [
    [{ $ref: "https://example.com/schema.json" }, /within the schema/],
    [{ $ref: "#/$defs/none" }, /is not there/],
    [{ properties: { a: { patternProperties: { "(a+)+": {} } } } }, /patternProperties/],
    [{ pattern: "(?<=x)y" }, /lookbehind|missing|invalid|perl/i],
    [{ $dynamicRef: "#a" }, /not allowed/],
    ["text", /object or a boolean/],
  ] as const) {
    assert.throws(() => prepareSchema(schema), message);
  }
});

test("a schema beyond its limits is refused", () => {
  let deep: object = { type: "string" };
  for (let i = 0; i < 40; i++) deep = { type: "object", properties: { next: deep } };
  assert.throws(() => prepareSchema(deep), /nested deeper/);
  assert.throws(() => prepareSchema({ description: "x".repeat(70_000) }), /larger than/);
  assert.throws(() => prepareSchema({ anyOf: Array.from({ length: 600 }, () => ({ type: "string" })) }), /more than 512/);
});

test("a format named like an inner pattern does not run foreign text as a pattern", () => {
  assert.deepEqual(prepareSchema({ type: "string", format: "regex" })("(("), []);
});

const doubling = {
  $ref: "#/$defs/A0",
  $defs: Object.fromEntries(
    Array.from({ length: 40 }, (_none, at) => [
      `A${at}`,
      at === 39 ? { type: "string" } : { allOf: [{ $ref: `#/$defs/A${at + 1}` }, { $ref: `#/$defs/A${at + 1}` }] },
    ]),
  ),
};
/** Each level of the value is looked at twice as often as the one above. */
const branching = {
  $ref: "#/$defs/A",
  $defs: {
    A: { anyOf: ["one", "two"].map((kind) => ({ type: "object", properties: { kind: { const: kind }, next: { $ref: "#/$defs/A" } } })) },
  },
};
const chain = (depth: number): unknown => (depth === 0 ? { kind: "one" } : { kind: "one", next: chain(depth - 1) });

for (const [what, schema] of [
  ["itself", { $ref: "#" }],
  ["itself through a definition", { $ref: "#/$defs/A", $defs: { A: { allOf: [{ $ref: "#/$defs/A" }] } } }],
  ["itself through another", { $defs: { A: { anyOf: [{ $ref: "#/$defs/B" }] }, B: { not: { if: { $ref: "#/$defs/A" } } } } }],
  ["itself where another member is", { dependentSchemas: { x: { $ref: "#" } } }],
] as const)
  test(`a schema that refers to ${what} at the same place is refused`, () => {
    assert.throws(() => prepareSchema(schema), /refers to itself at the same place/);
  });

test("a schema that refers to itself deeper in the value is taken, and so is one that many values lead through", () => {
  const tree = prepareSchema({
    type: "object",
    required: ["name"],
    properties: { name: { type: "string" }, parts: { type: "array", items: { $ref: "#" } } },
  });
  assert.deepEqual(tree({ name: "a", parts: [{ name: "b", parts: [] }] }), []);
  assert.deepEqual(tree({ name: "a", parts: Array.from({ length: 20_000 }, () => ({ name: "b" })) }), []);
  assert.equal(tree({ name: "a", parts: [{}] })[0]?.path, "/parts/0/name");
  assert.deepEqual(prepareSchema(branching)(chain(6)), []);
});

test("work that doubles with each reference ends with a fault", () => {
  assert.match(prepareSchema(doubling)("x")[0]?.message ?? "", /takes too much work/);
  assert.match(prepareSchema(branching)(chain(40))[0]?.message ?? "", /takes too much work/);
});
