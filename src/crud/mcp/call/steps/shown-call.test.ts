import assert from "node:assert/strict";
import { test } from "node:test";
import { maskValues } from "#contract/masked-values.ts";
import { placeInSchema } from "#crud/tools/schema-place.ts";

const CANARY = "canary-51d0";
const secret = { type: "string", writeOnly: true };

test("what a tool's schema calls secret is hidden, wherever in the schema it says so", () => {
  const cases: readonly (readonly [schema: Readonly<Record<string, unknown>>, value: unknown, masked: readonly string[]])[] = [
    [{ properties: { a: secret } }, { a: CANARY }, ["/a"]],
    [{ properties: { a: { format: "password" } } }, { a: CANARY, b: 1 }, ["/a"]],
    [{ properties: { a: { items: secret } } }, { a: [CANARY, CANARY] }, ["/a/0", "/a/1"]],
    [{ properties: { a: { prefixItems: [{}, secret] } } }, { a: ["x", CANARY] }, ["/a/1"]],
    [{ additionalProperties: secret }, { any: CANARY }, ["/any"]],
    [{ patternProperties: { "^s_": secret } }, { s_a: CANARY }, ["/s_a"]],
    [{ allOf: [{ anyOf: [{ properties: { a: secret } }] }] }, { a: CANARY }, ["/a"]],
    [{ if: {}, else: { properties: { a: secret } } }, { a: CANARY }, ["/a"]],
    [{ $defs: { "x/y": secret }, properties: { a: { $ref: "#/$defs/x~1y" } } }, { a: CANARY }, ["/a"]],
    [
      { $defs: { tree: { properties: { leaf: secret, next: { $ref: "#/$defs/tree" } } } }, $ref: "#/$defs/tree" },
      { next: { next: { leaf: CANARY } } },
      ["/next/next/leaf"],
    ],
  ];
  for (const [schema, value, masked] of cases) {
    const shown = maskValues(value, placeInSchema(schema));
    assert.deepEqual(shown.masked, masked, JSON.stringify(schema));
    assert.ok(!JSON.stringify(shown.value).includes(CANARY));
  }
});

test("what a schema says of a place is found once, however many values stand there", () => {
  let looks = 0;
  const counted = new Proxy<Readonly<Record<string, unknown>>>(
    { required: ["a"] },
    { get: (branch, name) => (looks++, Reflect.get(branch, name)) },
  );
  const branches = [counted, ...Array.from({ length: 470 }, (_none, at) => ({ required: [`r${at}`] }))];
  const schema = { properties: { x: { items: { items: { anyOf: branches } } } } };
  assert.deepEqual(maskValues({ x: [Array.from({ length: 60_000 }, () => 1)] }, placeInSchema(schema)).masked, []);
  assert.ok(looks < 50, String(looks));
});

test("where a schema says too much of too many places, what is not looked at is hidden", () => {
  const names = Array.from({ length: 3000 }, (_none, at) => `p${at}`);
  const schema = {
    properties: Object.fromEntries(names.map((name) => [name, true])),
    additionalProperties: { anyOf: Array.from({ length: 470 }, (_none, at) => ({ required: [`r${at}`] })) },
  };
  const { value } = maskValues(Object.fromEntries(names.map((name) => [name, 1])), placeInSchema(schema));
  const shown = value as Readonly<Record<string, unknown>>;
  assert.deepEqual([shown["p0"], shown["p2999"] === 1], [1, false]);
});

test("a schema that goes round in circles, or is none, hides nothing and ends", () => {
  for (const schema of [
    {},
    { $ref: "#" },
    { $defs: { a: { $ref: "#/$defs/b" }, b: { $ref: "#/$defs/a" } }, properties: { a: { $ref: "#/$defs/a" } } },
    { properties: { a: true }, items: 7, allOf: "x", $ref: "https://example.com/other" },
    { properties: { a: { $ref: "#/%zz" } } },
  ])
    assert.deepEqual(maskValues({ a: { b: [1] } }, placeInSchema(schema)), { value: { a: { b: [1] } }, masked: [] });
});
