import assert from "node:assert/strict";
import { test } from "node:test";
import fc from "fast-check";
import { Problem } from "#contract/problem.ts";
import { parseStrictJson, strictJsonSteps } from "./strict-json.ts";

const refused: readonly (readonly [name: string, text: string | Uint8Array, code: string])[] = [
  ["a repeated member", '{"a":1,"a":2}', "duplicate_member"],
  ["a member repeated by an escape", String.raw`{"a":1,"\u0061":2}`, "duplicate_member"],
  ["a repeated member deep inside", '{"x":[{"b":{},"b":1}]}', "duplicate_member"],
  ["a repeated __proto__", '{"__proto__":1,"__proto__":2}', "duplicate_member"],
  ["depth beyond the limit", "[".repeat(65) + "]".repeat(65), "body_unreadable"],
  ["depth 10,000", '{"a":'.repeat(10_000), "body_unreadable"],
  ["a byte order mark", "\ufeff{}", "body_unreadable"],
  ["bytes that are not UTF-8", new Uint8Array([0x22, 0xc0, 0x80, 0x22]), "body_unreadable"],
  ["an unfinished string", '{"a', "body_unreadable"],
  ["a trailing comma", "[1,]", "body_unreadable"],
  ["nothing", "", "body_unreadable"],
  ["half a surrogate pair", String.raw`{"a":["\ud800"]}`, "body_unreadable"],
  ["half a pair in a name", String.raw`{"\udfff":1}`, "body_unreadable"],
  ["half a pair that stands in the text itself", '{"a":"\ud800"}', "body_unreadable"],
  ["a number beyond a double", '{"a":1e999}', "body_unreadable"],
  ["a negative one", "[-1e999]", "body_unreadable"],
];

for (const [name, text, code] of refused) {
  test(`${name} is refused as ${code}`, () => {
    assert.throws(
      () => parseStrictJson(text),
      (error: unknown) => error instanceof Problem && error.code === code,
    );
  });
}

test("braces, commas and quotes inside strings do not count", () => {
  assert.deepEqual(parseStrictJson(String.raw`{"a":"{\"a\":1,","b":["}]","\\"]}`), { a: '{"a":1,', b: ["}]", "\\"] });
});

test("who names faults of values itself is given them", () => {
  const text = String.raw`{"a":"\ud800","b":1e999}`;
  assert.equal(JSON.stringify(parseStrictJson(text, { depth: 64, keepsUnfit: true })), text);
  assert.deepEqual(parseStrictJson(String.raw`"\ud83d\ude00"`), "\u{1f600}");
});

const inexact = [
  "9007199254740993",
  "-9007199254740993",
  "18446744073709551615",
  "0.1234567890123456789",
  "1e400",
  "1e-400",
  "12345678901234567e2",
];
for (const digits of inexact)
  test(`${digits}, which no double holds, is refused where it stands, or kept for whoever asks for it`, () => {
    for (const [text, path] of [
      [`{"a":[1,{"b":${digits}}]}`, "/a/1/b"],
      [`{ "a" : ${" ".repeat(40)}${digits}\n}`, "/a"],
      [`[${digits} ,"9"]`, "/0"],
      [digits, "/"],
    ] as const) {
      assert.throws(
        () => parseStrictJson(text),
        (error: unknown) => error instanceof Problem && error.code === "body_unreadable" && error.options.errors?.[0]?.path === path,
        text,
      );
      const kept = JSON.stringify(parseStrictJson(text, { depth: 64, keepsDigits: true }));
      assert.equal(kept, text.replaceAll(/\s/g, ""), text);
    }
  });

test("a number that is only written in another way is the number", () => {
  const text = "[1.0,-0,1e2,100.00,1E+2,0.1,9007199254740992,1e21,1.5e300,0e999,123456789012345.0,5e-324]";
  assert.deepEqual(parseStrictJson(text), [1, -0, 100, 100, 100, 0.1, 2 ** 53, 1e21, 1.5e300, 0, 123456789012345, 5e-324]);
  assert.deepEqual(parseStrictJson('["9007199254740993","1e400"]'), ["9007199254740993", "1e400"]);
});

test("equal names in different objects are fine", () => {
  assert.deepEqual(parseStrictJson('[{"a":1},{"a":{"a":2}}]'), [{ a: 1 }, { a: { a: 2 } }]);
});

test("whatever JSON.stringify writes is read back the same", () => {
  fc.assert(
    fc.property(fc.jsonValue({ maxDepth: 20 }), (value) => {
      assert.deepEqual(parseStrictJson(JSON.stringify(value)), JSON.parse(JSON.stringify(value)));
    }),
  );
});

const listOf = (count: number, item: string): string => `[${Array.from({ length: count }, () => item).join(",")}]`;
const membersOf = (count: number): string => `{${Array.from({ length: count }, (_, at) => `"m${at}": 1`).join(", ")}}`;
const counted: readonly (readonly [what: string, text: string, members: number])[] = [
  ["members of an object", membersOf(100), 100],
  ["items of an array", listOf(100, "1"), 100],
  ["empty objects, which have none of their own", listOf(100, "{ }"), 100],
  ["objects with one member each", listOf(50, '{"a": []}'), 100],
  ["one in the other", '{"a":'.repeat(40) + "1" + "}".repeat(40), 40],
  ["commas and braces inside strings, which count nothing", JSON.stringify([",,,,{}[]", '\\",{', "\\"]), 3],
  ["nothing", " [ ] ", 0],
  ["a number alone", "1", 0],
];
for (const [what, text, members] of counted)
  test(`a body is bounded by the number of its members: ${what}`, () => {
    assert.deepEqual(parseStrictJson(text, { depth: 64, members }), JSON.parse(text));
    if (members > 0)
      assert.throws(
        () => parseStrictJson(text, { depth: 64, members: members - 1 }),
        (error: unknown) => error instanceof Problem && error.code === "body_too_large",
      );
  });

test("ten thousand members are taken unless something else is said, and not one more", () => {
  assert.equal((parseStrictJson(listOf(10_000, "1")) as unknown[]).length, 10_000);
  for (const text of [listOf(10_001, "1"), membersOf(10_001), listOf(5001, "[1]"), `[${membersOf(9_999)},1]`])
    assert.throws(
      () => parseStrictJson(text),
      (error: unknown) => error instanceof Problem && error.code === "body_too_large",
    );
});

test("a string ends where its quote is not escaped, whatever stands before it", () => {
  fc.assert(
    fc.property(fc.array(fc.string({ unit: fc.constantFrom("\\", '"', ",", "{", "]", "a", "\n", "\u00e9") })), (texts) => {
      const whole = { texts, named: Object.fromEntries(texts.map((text) => [text, text])) };
      assert.deepEqual(parseStrictJson(JSON.stringify(whole)), JSON.parse(JSON.stringify(whole)));
    }),
  );
});

test("two long bodies that are read in turns do not disturb each other", () => {
  const texts = [listOf(30_000, "[1]"), listOf(30_000, '{"a":1}')];
  const reads = texts.map((text) => strictJsonSteps(text, { depth: 3, members: 100_000 }));
  const values: unknown[] = [];
  let rounds = 0;
  while (values.length < 2) {
    rounds += 1;
    for (const read of reads) {
      const step = read.next();
      if (step.done === true && step.value !== undefined) values.push(step.value);
    }
  }
  assert.ok(rounds > 5);
  assert.deepEqual(values.map((value) => (value as unknown[])[29_999]).toSorted(), [[1], { a: 1 }]);
});

test("the walk of many small pieces stops on its way", () => {
  const steps = strictJsonSteps(`[${"[],".repeat(66_000)}[]]`, { depth: 3, members: 100_000, keepsUnfit: true });
  let stops = 0;
  while (steps.next().done !== true) stops += 1;
  assert.ok(stops > 10, `${stops}`);
});

for (const blanks of [" ".repeat(15), " ".repeat(16), " ".repeat(17), "\n".repeat(100_000)]) {
  test(`pieces are found behind ${blanks.length} blanks`, () => {
    assert.deepEqual(parseStrictJson(`${blanks}{${blanks}"a"${blanks}:${blanks}[1${blanks},2]${blanks}}${blanks}`), { a: [1, 2] });
    assert.throws(() => parseStrictJson(`{"a":1${blanks},${blanks}"a":2}`), { code: "duplicate_member" });
  });
}

test("a reader that stores text is given numbers as they are written, and refused what is no JSON", () => {
  const read = (text: string): unknown => parseStrictJson(text, { depth: 64, keepsUnfit: true, keepsSpelling: true });
  const numbers = ["1.10", "1e23", "1E+2", "-0", "0.0", "12345678901234567890", "9007199254740993", "1e400", "1e-400", "1.0000"];
  for (const number of numbers) {
    assert.equal(read(number), number);
    assert.equal(read(` ${number}\n`), number);
    assert.deepEqual(read(`{"a" : ${number} ,"b":[${number}, 7,"${number}"],"c":{"d":${number}}}`), {
      a: number,
      b: [number, 7, number],
      c: { d: number },
    });
  }
  for (const number of [0, 1, -7, 1.5, 123456789012345]) assert.deepEqual(read(`[${number}]`), [number]);
  for (const text of ["[1.]", "[01]", "[+1.0]", "[1.0 2]", "[x1.0]", "{1.0:2}", '{"a" 1.0}', '["a"1.0]', "[1.0", "[1.0e]", "[-]", "1.0 1"])
    assert.throws(() => read(text), { code: "body_unreadable" }, text);
  const issues: string[] = [];
  const onIssue = (issue: () => { readonly code: string }): void => void issues.push(issue().code);
  const twice = parseStrictJson('{"a":1.0,"a":1e400,"a":2}', { depth: 64, keepsUnfit: true, keepsSpelling: true, onIssue });
  assert.deepEqual([Object.values(twice as object), new Set(issues)], [["1.0", "1e400", 2], new Set(["duplicate_member"])]);
});

test("a reader that looks at a body before it refuses it is given all of it, and what is wrong", () => {
  for (const [text, value, code] of [
    ['{"a":1,"a":2,"b":{"a":3,"a":4,"\\u0061":5}}', [1, 2, [3, 4, 5]], "duplicate_member"],
    ['{"a":12345678901234567890,"b":{}}', [12345678901234567000, []], "body_unreadable"],
    [`{"a":1,"b":{"a":${"[".repeat(70)}${"]".repeat(70)}}}`, undefined, "body_unreadable"],
    ['{"a":1,"b":{}}', [1, []], undefined],
  ] as const) {
    const issues: string[] = [];
    const read = parseStrictJson(text, { depth: 64, keepsUnfit: true, onIssue: (issue) => issues.push(issue().code) });
    assert.equal(issues[0], code);
    const values = (one: unknown): unknown => (typeof one === "object" && one !== null ? Object.values(one).map(values) : one);
    if (value !== undefined) assert.deepEqual(values(read), value);
    const names = Object.keys(read as object).map((name) => name.trim());
    assert.ok(names.every((name) => name === "a" || name === "b"));
  }
  const onIssue = (): void => {};
  assert.throws(() => parseStrictJson(`[${"0,".repeat(11)}0]`, { depth: 64, members: 10, onIssue }), { code: "body_too_large" });
  assert.throws(() => parseStrictJson('{"a":1,"a":', { depth: 64, onIssue }), { code: "body_unreadable" });
});
