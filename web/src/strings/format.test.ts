import assert from "node:assert/strict";
import { test } from "node:test";
import { localeOf, parseMoney, parseWhole, visibleText } from "./format.ts";

for (const [text, value] of [
  ["0", 0],
  ["5", 5],
  [" 5.00 ", 5],
  ["0.000001", 0.000001],
  ["10000", 10_000],
] as const)
  test(`"${text}" is ${value} USD`, () => assert.equal(parseMoney(text), value));

for (const text of ["", " ", "-1", "+1", "1,5", "1.", ".5", "1e3", "0x1", "0.0000001", "1 000", "$5", "05", "NaN", "Infinity", "١"])
  test(`"${text}" is no amount`, () => assert.equal(parseMoney(text), undefined));

for (const [text, value] of [
  ["0", 0],
  [" 50 ", 50],
  ["1.0", undefined],
  ["-1", undefined],
  ["1e2", undefined],
  ["", undefined],
  ["99999999999999999999", undefined],
] as const)
  test(`"${text}" as a whole number is ${value}`, () => assert.equal(parseWhole(text), value));

test("characters that hide or turn the reading direction become visible", () => {
  assert.equal(visibleText("evil\u202egpj.exe"), "evil\u27e8U+202E\u27e9gpj.exe");
  assert.equal(visibleText("a\u0000b\u200bc"), "a\u27e8U+0000\u27e9b\u27e8U+200B\u27e9c");
  assert.equal(visibleText("line\n\tnext äß 日本"), "line\n\tnext äß 日本");
});
const rows: readonly { readonly languages: readonly string[]; readonly locale: string }[] = [
  { languages: ["de-CH"], locale: "de-CH" },
  { languages: ["en-US@posix"], locale: "en-US" },
  { languages: ["C"], locale: "en" },
  { languages: ["not a tag", "fr"], locale: "fr" },
  { languages: [""], locale: "en" },
  { languages: [], locale: "en" },
];

for (const { languages, locale } of rows)
  test(`a browser that speaks ${JSON.stringify(languages)} gets formats of ${locale}`, () => assert.equal(localeOf(languages), locale));
