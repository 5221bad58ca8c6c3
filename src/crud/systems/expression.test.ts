import assert from "node:assert/strict";
import { test } from "node:test";
import { parseExactJson } from "#contract/exact-numbers.ts";
import { ABSENT, celInputs } from "#parsing/cel.ts";
import { compileExpression, expressionText } from "./expression.ts";
import { compileTemplate } from "./template.ts";

const inputs = celInputs({
  input: { id: "e1", count: 3, ratio: 0.5, big: 2 ** 52, list: [1, "two"], nested: { a: { b: null } } },
  caller: { sub: "person:ben", tenant: "tenant:acme" },
  now: new Date("2026-11-21T10:00:00.000Z"),
  response: { status: 404, headers: { etag: "x" }, body: { items: [{ id: 1 }] } },
  items: [{ id: 1 }, { id: 2 }],
});

test("values keep their JSON types on the way through", () => {
  const cases: [string, unknown][] = [
    ["input.id", "e1"],
    ["input.count + 1", 4],
    ["input.ratio", 0.5],

    ["input.list", [1, "two"]],
    ["input.nested.a.b", null],
    ["{'a': input.count, 'b': [input.ratio]}", { a: 3, b: [0.5] }],
    ["now", "2026-11-21T10:00:00.000Z"],
    ["response.status == 404", true],
    ["items.map(i, i.id)", [1, 2]],
    ["size(items)", 2],
    ["input.absent", ABSENT],
    ["has(input.absent) ? input.absent : 'none'", "none"],
  ];
  for (const [text, expected] of cases) assert.deepEqual(compileExpression(text, "response").evaluate(inputs), expected, text);
});

test("a whole number beyond 2^53 keeps its digits", () => {
  const big = parseExactJson(
    '{"at":9007199254740993,"over":18446744073709551615,"round":1152921504606847000,"fine":0.1234567890123456789}',
  );
  const evaluate = (text: string) => JSON.stringify(compileExpression(text, "response").evaluate(celInputs({ ...inputs, input: big })));
  for (const [text, expected] of [
    ["input.at", "9007199254740993"],
    ["input.at + 1", "9007199254740994"],
    ["input.at == 9007199254740992", "false"],
    ["input.round", "1152921504606847000"],
    ["[input.over, input.fine]", "[18446744073709551615,0.1234567890123456789]"],
  ] as const)
    assert.equal(evaluate(text), expected, text);
  assert.throws(() => evaluate("input.over + 1"), { code: "upstream_bad_response" });
});

test("an expression is the whole of `${ ... }` with blanks", () => {
  assert.equal(expressionText("${ input.id }"), "input.id");
  for (const text of ["${input.id}", "x${ input.id }", "${ input.id } ", "input.id"]) assert.equal(expressionText(text), undefined, text);
});

test("what would cost too much is refused when it is compiled or before it runs", () => {
  assert.throws(() => compileExpression(`"${"x".repeat(3000)}"`, "call"), /at most 2048/);
  assert.throws(() => compileExpression(Array.from({ length: 400 }, () => "1").join("+"), "call"), /./);
  assert.throws(() => compileExpression(`${"(".repeat(100)}1${")".repeat(100)}`, "call"), /./);
  assert.throws(() => celInputs({ input: Array.from({ length: 100_001 }, () => 1), caller: { sub: "a", tenant: "b" }, now: new Date() }), {
    code: "expression_limit",
  });
});

test("a template leaves out what is absent and tells every issue", () => {
  const issues: string[] = [];
  const template = compileTemplate(
    { a: "${ input.id }", b: "${ input.absent }", c: ["${ input.absent }", 1], d: { e: "plain" } },
    "call",
    ["x"],
    (path, message) => issues.push(`${path.join("/")} ${message}`),
  );
  assert.deepEqual(template(inputs), { a: "e1", c: [1], d: { e: "plain" } });
  compileTemplate({ a: "${ nope }", b: ["${ 1 + }"] }, "call", ["x"], (path, message) =>
    issues.push(`${path.join("/")} ${message.slice(0, 16)}`),
  );
  assert.equal(issues.length, 2);
  assert.match(issues.join("\n"), /x\/a Unknown variable/);
});
