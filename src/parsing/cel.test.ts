import assert from "node:assert/strict";
import { test } from "node:test";
import { ABSENT, celInputs, compileCel } from "./cel.ts";

const variables = { input: "map", items: "list", now: "google.protobuf.Timestamp" };
const rows = (count: number) => Array.from({ length: count }, (_none, id) => ({ id, name: `name ${id}`, tags: ["a", "b"] }));
const wide = Object.fromEntries(Array.from({ length: 20_000 }, (_none, at) => [`member${at}`, at]));
const deep = (depth: number): unknown => (depth === 0 ? "end" : { next: [deep(depth - 1)] });
const inputs = {
  input: {
    id: "e1",
    aaa: `${"a".repeat(31)}!`,
    long: "a".repeat(1_000_000),
    needle: `b${"a".repeat(100_000)}`,
    digits: "1".repeat(2000),
    dotted: "\u0130".repeat(100_000),
    spaces: "\u2003".repeat(100_000),
    faces: "\u{1f600}".repeat(100_000),
    backtracking: "^(a+)+$",
    huge: "a{1000}".repeat(200),
    lookbehind: "(?<=a)b",
    zone: "Europe/Berlin",
    wide,
    deep: deep(20),
    texts: Array.from({ length: 5000 }, () => "x".repeat(100)),
  },
  items: rows(3000),
  now: new Date("2026-11-21T10:00:00.000Z"),
};
const evaluate = (text: string, over: object = inputs): unknown => compileCel(text, variables)(celInputs(over));
/** A value that doubles with each step. */
const doubled = (first: string, step: (name: string) => string, times: number): string =>
  Array.from({ length: times }, (_none, at) => `cel.bind(v${at}, ${at === 0 ? first : step(`v${at - 1}`)}, `).join("") +
  `v${times - 1}${")".repeat(times)}`;

test("what a tool's author or caller may write takes no more than its share of work, whatever it is", () => {
  const hostile: readonly (readonly [what: string, text: string])[] = [
    ["concatenation in a macro", "items.map(i, items + items)"],
    ["concatenation of what a macro gives", "items.map(i, items.map(j, j) + items)"],
    ["macros in macros", "items.map(a, items.filter(b, a == b))"],
    ["three macros in one another", "items.exists(a, items.exists(b, items.exists(c, c.id > 99999)))"],
    ["quantifiers that fail at each item", "items.exists(a, items.exists(b, b.nope == 1))"],
    ["all over all", "items.all(a, items.all(b, a.id >= 0 && b.id >= 0))"],
    ["exists_one over all", "items.exists_one(a, items.exists_one(b, a == b))"],
    ["a failure that another branch forgives, again and again", "items.map(a, items.exists(b, b.nope == 1 || a.nope == 2) || true)"],
    ["texts that double", doubled("input.long", (name) => `${name} + ${name}`, 12)],
    ["lists that double", doubled("items", (name) => `${name} + ${name}`, 12)],
    ["parts that are shared", doubled("items", (name) => `[${name}, ${name}]`, 12)],
    ["texts that are shared", `items.map(i, input.long)`],
    [
      "shared parts compared",
      `${doubled("items", (name) => `[${name}, ${name}]`, 18)} == ${doubled("items", (name) => `[${name}, ${name}]`, 18)}`,
    ],
    ["a long text in each item", "items.map(i, input.long + i.name)"],
    ["splitting in each item", "items.map(i, input.long.split(''))"],
    ["splitting once, into a million", "input.long.split('a')"],
    ["splitting with a limit", "items.map(i, size(input.long.split('a', 2)))"],
    ["joining with a long separator", "input.texts.join(input.long)"],
    ["joining in each item", "items.map(i, input.texts.join('-'))"],
    ["counting characters in each item", "items.map(i, size(input.long))"],
    ["lower case in each item", "items.map(i, input.long.lowerAscii())"],
    ["lower case beyond ASCII", "[1, 2].map(i, input.dotted.lowerAscii())"],
    ["upper case beyond ASCII", "[1, 2].map(i, input.dotted.upperAscii())"],
    ["a number read from a text beyond ASCII", "[1, 2].exists(i, double(input.dotted) == 1.0)"],
    ["trimming spaces", "[1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11, 12].map(i, input.spaces.trim())"],
    ["counting characters beyond ASCII", "[1, 2, 3, 4].map(i, size(input.faces))"],
    ["searching for what nearly fits everywhere", "[1, 2].map(i, input.long.contains('aaaaab'))"],
    ["a needle that a search falls back on", "input.long.contains(input.needle)"],
    ["the same from the end", "input.long.lastIndexOf(input.needle)"],
    ["its place", "input.long.indexOf(input.needle)"],
    ["lists that differ at their ends", "items.map(i, items.map(j, j) == items.map(j, j) + [i])"],
    ["membership of each in all", "items.filter(i, i in items)"],
    ["membership of a text in long texts", "items.filter(i, (input.long + 'x') in [input.long + 'y', input.long + 'z'])"],
    ["members of a wide map in each item", "items.map(i, input.wide.exists(k, true))"],
    ["names of a wide map", "items.map(i, input.wide.map(k, k))"],
    ["a duration of digits", "duration(input.digits) == duration('1s')"],
    ["time zones", "items.map(i, now.getHours(input.zone))"],
    ["JSON in each item", "items.map(i, bytes('[' + input.texts.join(',') + ']').json())"],
    ["bytes of a text in each item", "items.map(i, bytes(input.long))"],
    ["hexadecimal", "items.map(i, bytes(input.texts.join('')).hex())"],
    ["a pattern over a long text", "items.map(i, input.long.matches('^(a|b)*c$'))"],
    ["a pattern that repeats much", "input.long.matches(input.huge)"],
    ["deep values compared", "items.map(i, items.map(j, input.deep == input.deep && input.deep != j))"],
    ["an order of long texts", "items.filter(i, input.long + 'a' < input.long + 'b')"],
  ];
  for (const [what, text] of hostile) assert.throws(() => evaluate(text), { code: "expression_limit" }, what);
});

test("what a tool needs stays well within it", () => {
  const cases: readonly (readonly [string, unknown])[] = [
    ["size(items.map(i, {'id': i.id, 'name': i.name}))", 3000],
    ["size(items.filter(i, i.name.contains('99') && 'a' in i.tags))", 57],
    ["size(items.map(i, i.tags.map(t, t + '!')))", 3000],
    ["input.wide == input.wide", true],
    ["size(input.wide)", 20_000],
    ["input.wide.member7", 7],
    ["input.long.startsWith('aaa') && input.long.contains('aaab') == false", true],
    ["size(input.texts.join(','))", 504_999],
    ["input.deep.next[0] == {'next': [1]}", false],
    ["bytes('{\"a\": 1}').json().a + 1", 2],
    ["string(bytes('[9007199254740993]').json()[0])", "9007199254740993"],
    ["now.getHours(input.zone)", 11],
    ["duration('1h30m').getMinutes()", 90],
    ["input.wide.exists(k, k == 'member3')", true],
    ["input.nope", ABSENT],
    ["items[0].tags.exists(i, i.nope == 1)", ABSENT],
  ];
  for (const [text, expected] of cases) assert.deepEqual(evaluate(text), expected, text);
});

test("patterns run on RE2, in either form and wherever the call stands", () => {
  for (const [text, expected] of [
    ["input.aaa.matches('^(a+)+$')", false],
    ["matches(input.aaa, '^(a+)+$')", false],
    ["input.aaa.matches(input.backtracking)", false],
    ["matches(input.aaa, input.backtracking)", false],
    ["['x', input.aaa].filter(matches, matches.matches(input.backtracking + '|x'))", ["x"]],
    ["cel.bind(m, input.backtracking, items.exists(i, input.aaa.matches(m)))", false],
    ["{'matches': input.aaa}.matches.matches('a!$')", true],
    ["(true ? input.aaa : '').matches('a' + '!')", true],
    ["'héé'.matches('^h\\\\pL+$')", true],
  ] as const)
    assert.deepEqual(evaluate(text, { ...inputs, items: rows(3) }), expected, text);
});

test("a literal pattern that RE2 does not take is an issue at its place, and a computed one fails its evaluation", () => {
  for (const [text, message] of [
    ["input.id.matches('(?<=a)b')", /^matches\(\) at character 18: .*invalid|perl|lookbehind/i],
    ["matches(input.id, 'a{1000}a{1000}a{1000}a{1000}a{1000}')", /^matches\(\) at character 19: the pattern repeats too much/],
    ["items.map(i, i.name.matches('('))", /^matches\(\) at character 29: .*missing/],
    ["matches(1, 'a')", /no matching overload/],
  ] as const)
    assert.throws(() => compileCel(text, variables), { message }, text);
  assert.throws(() => evaluate("input.id.matches(input.lookbehind)"), /RE2|pattern|regexp/i);
  assert.throws(() => evaluate("matches(input.id, 1)"), /no matching overload/);
});

test("all expressions over the same inputs share one measure", () => {
  const over = celInputs(inputs);
  const half = compileCel("size(items.filter(i, i.id >= 0 && i.name != ''))", variables);
  assert.equal(half(over), 3000);
  assert.throws(
    () => {
      for (let again = 0; again < 10; again++) half(over);
    },
    { code: "expression_limit" },
  );
});
