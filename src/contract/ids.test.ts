import assert from "node:assert/strict";
import { test } from "node:test";
import fc from "fast-check";
import { microFromUsd, nodeId, plainText, prose, queryInteger, timestamp, usdFromMicro, usdText } from "./ids.ts";

test("money survives the way to micro-USD and back for every amount of 6 decimals", () => {
  fc.assert(
    fc.property(fc.bigInt({ min: 0n, max: 10_000_000_000n }), (micro) => {
      assert.equal(microFromUsd(usdFromMicro(micro)), micro);
    }),
  );
});

for (const wrong of [-0.01, 0.0000001, Number.NaN, Number.POSITIVE_INFINITY, 1e300]) {
  test(`${wrong} is no amount of money`, () => {
    assert.throws(() => microFromUsd(wrong), RangeError);
  });
}

test("money text has six places", () => {
  assert.equal(usdText(5_000_000n), "5.000000");
  assert.equal(usdText(-1n), "-0.000001");
});

for (const id of ["person:ben", "people.demo.list_employees", "account:ben@acme", "a".repeat(200)]) {
  test(`${id.slice(0, 30)} is an id`, () => assert.ok(nodeId.safeParse(id).success));
}
for (const id of ["", ":x", "a b", "a'b", "a/b", "a\u0000", "ä", "a".repeat(201), 'a"b', "a\\b"]) {
  test(`${JSON.stringify(id.slice(0, 20))} is no id`, () => assert.ok(!nodeId.safeParse(id).success));
}

test("text of a line holds every character but control characters; prose line breaks and tabs too", () => {
  const line = plainText(1, 2);
  const text = prose(1, 2);
  for (let code = 0; code <= 0x10ffff; code++) {
    const character = String.fromCodePoint(code);
    const isPlain = character.isWellFormed() && !/\p{Cc}/u.test(character);
    assert.equal(line.safeParse(character).success, isPlain, code.toString(16));
    assert.equal(text.safeParse(character).success, isPlain || character === "\n" || character === "\t", code.toString(16));
  }
});

const moments: readonly (readonly [text: string, read: string | undefined])[] = [
  ["2026-01-01T00:00:00Z", "2026-01-01T00:00:00.000Z"],
  ["2026-01-01T00:00:00.123Z", "2026-01-01T00:00:00.123Z"],
  ["2026-01-01T00:00:00-16:00", "2026-01-01T16:00:00.000Z"],
  ["2026-01-01T00:00:00+23:59", "2025-12-31T00:01:00.000Z"],
  [`2026-01-01T00:00:00.${"9".repeat(300)}Z`, "2026-01-01T00:00:00.999Z"],
  ["0001-01-01T00:00:00Z", "0001-01-01T00:00:00.000Z"],
  ["9999-12-31T23:59:59.999Z", "9999-12-31T23:59:59.999Z"],
  ["0000-01-01T00:00:00Z", undefined],
  ["0000-12-31T23:59:59.999Z", undefined],
  ["0001-01-01T00:00:00+00:01", undefined],
  ["9999-12-31T23:59:59-00:01", undefined],
  ["10000-01-01T00:00:00Z", undefined],
  ["-000001-01-01T00:00:00Z", undefined],
  ["+010000-01-01T00:00:00Z", undefined],
  ["2026-02-30T00:00:00Z", undefined],
  ["2026-01-01T24:00:00Z", undefined],
  ["2026-01-01T00:00:60Z", undefined],
  ["2026-01-01T00:00:00+24:00", undefined],
  ["2026-01-01T00:00:00", undefined],
  ["2026-01-01", undefined],
  ["now", undefined],
  ["infinity", undefined],
  ["", undefined],
];
for (const [text, read] of moments)
  test(`${JSON.stringify(text.slice(0, 40))} is ${read === undefined ? "no moment" : read}`, () => {
    const parsed = timestamp.safeParse(text);
    assert.equal(parsed.success, read !== undefined);
    if (read !== undefined) assert.equal(parsed.data, read);
  });

for (const [text, read] of [
  ["7", 7],
  ["0", 0],
  ["1.0", 1],
  ["1e1", 10],
  ["", undefined],
  [" 7", undefined],
  ["7 ", undefined],
  ["+7", undefined],
  ["07", undefined],
  ["0x7", undefined],
  ["0b1", undefined],
  ["1_0", undefined],
  ["7.5", undefined],
  ["-1", undefined],
  ["11", undefined],
  ["Infinity", undefined],
  ["true", undefined],
] as const) {
  test(`${JSON.stringify(text)} in a query is ${read === undefined ? "no whole number up to 10" : `the number ${read}`}`, () =>
    assert.equal(queryInteger(0, 10).safeParse(text).data, read));
}
