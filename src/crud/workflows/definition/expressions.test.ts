import assert from "node:assert/strict";
import { test } from "node:test";
import { ExpressionError, expressionsOf } from "./expressions.ts";

const { evaluate, isTrue } = expressionsOf({ places: { "input.nope": "config/workflows/w.yaml:7:12", "input.big + 1": "w.yaml:1:1" } });
const scope = {
  input: { id: "e1", big: 9_007_199_254_740_991, rows: [{ n: 1 }, { n: 2 }], none: [], text: '{"a":[1,2]}' },
  context: null,
  steps: { find: { ok: true } },
  run: { id: "run_1" },
  caller: { sub: "person:ben" },
  now: new Date("2026-11-28T00:00:00Z"),
  row: { n: 5 },
};

for (const [value, given] of [
  ["plain", "plain"],
  [7, 7],
  ["${ input.id }", "e1"],
  ["${input.id + '!'}", "e1!"],
  [
    { a: ["${ row.n * 2 }", "x"], b: { c: "${ steps.find.ok }" } },
    { a: [10, "x"], b: { c: true } },
  ],
  ["${ first(input.rows).n }", 1],
  ["${ first(input.none) }", null],
  ["${ json(input.text).a[1] }", 2],
  ["${ now + days(2) }", "2026-11-30T00:00:00.000Z"],
  ["${ input.rows.map(r, r.n + 1) }", [2, 3]],
] as const)
  test(`${JSON.stringify(value)} gives ${JSON.stringify(given)}`, () => {
    assert.deepEqual(evaluate(value, scope), given);
  });

for (const [text, message] of [
  ["${ input.nope }", /^config\/workflows\/w\.yaml:7:12: No such key: nope/],
  ["${ input.big + 1 }", /^w\.yaml:1:1: gives a whole number beyond 2\^53/],
  ["${ later }", /Unknown variable: later/],
  ["${ json('{') }", /./],
  [`\${ ${"input.rows.map(a, input.rows.map(b, input.rows.map(c, ".repeat(1)}input.rows.map(d, d)))) }`, /more than 3 macros/],
] as const)
  test(`${text} is an error that says where`, () => {
    assert.throws(
      () => evaluate(text, scope),
      (error) => error instanceof ExpressionError && message.test(error.message),
    );
  });

test("a condition is true or false, and nothing else", () => {
  assert.equal(isTrue("row.n > 4", scope), true);
  assert.equal(isTrue("row.n > 5", scope), false);
  assert.throws(() => isTrue("row.n", scope), ExpressionError);
});
