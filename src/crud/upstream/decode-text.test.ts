import assert from "node:assert/strict";
import { test } from "node:test";
import { Problem } from "#contract/problem.ts";
import { atOnce } from "#http/yielding.ts";
import { decodeText } from "./decode-text.ts";

const latin = Buffer.from("Müller", "latin1");
const wide = Buffer.from("Müller", "utf16le");
const big = Buffer.from(wide).swap16();
const xml = (encoding: string, more: BufferEncoding) => Buffer.from(`<?xml version="1.0" encoding="${encoding}"?><a>ü</a>`, more);

for (const [what, type, bytes, text] of [
  ["UTF-8 without a charset", "text/plain", Buffer.from("Müller"), "Müller"],
  ["UTF-8 with its mark", "text/plain", Buffer.from("\ufeffMüller"), "Müller"],
  ["ISO-8859-1", "text/plain; charset=iso-8859-1", latin, "Müller"],
  ["quoted, in capitals, after another parameter", 'text/plain; format=flowed ;Charset="ISO-8859-1"', latin, "Müller"],
  ["windows-1252", "text/html;charset=windows-1252", Buffer.of(0x80), "€"],
  ["ISO-8859-15", "text/csv;charset=iso-8859-15", Buffer.of(0xa4), "€"],
  ["Shift_JIS", "text/plain; charset=Shift_JIS", Buffer.of(0x83, 0x65), "テ"],
  ["UTF-16 without a mark", "text/plain; charset=utf-16", wide, "Müller"],
  ["UTF-16, big end first", "text/plain; charset=utf-16be", big, "Müller"],
  ["a mark that says otherwise than the type", "text/plain; charset=utf-16", Buffer.concat([Buffer.of(0xfe, 0xff), big]), "Müller"],
  ["a mark alone", "text/plain", Buffer.concat([Buffer.of(0xff, 0xfe), wide]), "Müller"],
  ["XML that declares it", "application/xml", xml("ISO-8859-1", "latin1"), xml("ISO-8859-1", "utf8").toString()],
  ["XML whose type says otherwise", "text/xml; charset=utf-8", xml("ISO-8859-1", "utf8"), xml("ISO-8859-1", "utf8").toString()],
] as const)
  test(`text is read by its charset: ${what}`, () => {
    assert.equal(atOnce(decodeText(bytes, type)), text);
  });

for (const [what, type, bytes, detail] of [
  ["ISO-8859-1 that says nothing", "text/plain", latin, "The answer is not text of its charset, utf-8."],
  ["ISO-8859-1 that says UTF-8", "text/plain; charset=utf-8", latin, "The answer is not text of its charset, utf-8."],
  ["half a character at the end", "text/plain", Buffer.of(0x4d, 0xc3), "The answer is not text of its charset, utf-8."],
  ["half a pair of UTF-16", "text/plain; charset=utf-16le", Buffer.of(0x00, 0xd8), "The answer is not text of its charset, utf-16le."],
  ["a charset that is not known", "text/plain; charset=utf-7", latin, "The answer's charset, utf-7, is not known."],
] as const)
  test(`text that cannot be read is refused, not guessed: ${what}`, () => {
    assert.throws(
      () => atOnce(decodeText(bytes, type)),
      (error) => error instanceof Problem && error.code === "upstream_bad_response" && error.options.detail === detail,
    );
  });

test("a large text is read in pieces, and a character may lie across two", () => {
  const text = `a${"ü".repeat(500_000)}`;
  const work = decodeText(Buffer.from(text), "text/plain");
  let pieces = 0;
  for (;;) {
    const step = work.next();
    if (step.done === true) {
      assert.equal(step.value, text);
      break;
    }
    pieces++;
  }
  assert.equal(pieces, 4);
});
