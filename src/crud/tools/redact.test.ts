import assert from "node:assert/strict";
import { test } from "node:test";
import { encode } from "#crud/systems/parameter-styles.ts";
import { atOnce } from "#http/yielding.ts";
import { createRedact } from "./redact.ts";

const cleanedOf = <T>(secrets: readonly string[], value: T): T => atOnce(createRedact(secrets)(value));

const inUnits = (text: string): string =>
  text
    .split("")
    .map((char) => `\\u${char.charCodeAt(0).toString(16).padStart(4, "0")}`)
    .join("");
const html = (text: string): string =>
  text.replaceAll("&", "&amp;").replaceAll('"', "&quot;").replaceAll("'", "&#39;").replaceAll("<", "&lt;");

const spellings: Readonly<Record<string, (secret: string) => string>> = {
  "as it is": (secret) => `Bearer ${secret}`,
  base64: (secret) => Buffer.from(secret).toString("base64"),
  base64url: (secret) => Buffer.from(secret).toString("base64url"),
  "base64 at offset 1": (secret) => Buffer.from(`x${secret}, and more`).toString("base64"),
  "base64 at offset 2": (secret) => Buffer.from(`xy${secret}, and more`).toString("base64"),
  "base64 in a query": (secret) => encodeURIComponent(Buffer.from(secret).toString("base64")),
  "URI component": (secret) => encodeURIComponent(secret),
  "as parameters are sent": encode,
  "percent form in lower case": (secret) => encode(secret).replaceAll(/%../g, (triple) => triple.toLowerCase()),
  "percent form twice": (secret) => encode(encode(secret)),
  "as forms are sent": (secret) => new URLSearchParams({ secret }).toString(),
  JSON: (secret) => JSON.stringify({ secret }),
  "JSON twice": (secret) => JSON.stringify(JSON.stringify({ secret })),
  "JSON thrice": (secret) => JSON.stringify(JSON.stringify(JSON.stringify({ secret }))),
  "JSON with escaped slashes": (secret) => JSON.stringify({ secret }).replaceAll("/", "\\/"),
  "units of UTF-16": inUnits,
  HTML: html,
  "HTML twice": (secret) => html(html(secret)),
  "HTML by number": (secret) =>
    secret
      .split("")
      .map((char) => `&#x${char.charCodeAt(0).toString(16)};`)
      .join(""),
  hexadecimal: (secret) => Buffer.from(secret).toString("hex"),
  "hexadecimal in capitals": (secret) => Buffer.from(secret).toString("hex").toUpperCase(),
};
const secrets = [
  'k/+ey "9ß',
  "p4ss!*()'x y~z",
  'a\\b\\\\c&<d>\n"e',
  "\\\\\\\\\\\\\\\\",
  "sk-live-0123456789abcdef",
  "pem+/ line\n".repeat(150),
];

for (const [name, spell] of Object.entries(spellings))
  test(`a credential is taken out of names and values: ${name}`, () => {
    for (const secret of secrets) {
      const echo = spell(secret);
      const cleaned = cleanedOf([secret], { list: [`before ${echo} behind`], [echo]: 1, n: 5, none: null });
      assert.match(cleaned.list[0] ?? "", /^before .*\[redacted\].* behind$/s, `${secret} as ${echo}`);
      assert.ok(Object.keys(cleaned).some((one) => one.includes("[redacted]")));
      assert.deepEqual([cleaned.n, cleaned.none], [5, null]);
      assert.ok(!JSON.stringify(cleaned).includes(echo));
    }
  });

test("a credential of digits is taken out where it comes back as a number", () => {
  const numbers = [1234567890123, JSON.parse("12345678901234567890"), 123456789012, 0];
  assert.deepEqual(cleanedOf(["1234567890123", "12345678901234567890"], numbers), ["[redacted]", "[redacted]", 123456789012, 0]);
});

test("nothing is touched without a credential, and short ones do not eat innocent text", () => {
  const value = { a: ["b"] };
  assert.equal(cleanedOf([], value), value);
  assert.deepEqual(cleanedOf(["a"], { a: "banana" }), { a: "banana" });
  const innocent = { text: "secret-s, c2VjcmV and 736563726574", list: [0, 123456] };
  assert.deepEqual(cleanedOf(["secret-a", "      ", "12345"], innocent), innocent);
});

test("a short credential is taken out where it stands alone, in each spelling, and out of no longer word", () => {
  for (const secret of ["1234!", "p+4/", "Zß9", "a:b"])
    for (const [name, spell] of Object.entries(spellings))
      if (!name.startsWith("base64 at offset")) {
        const echo = spell(secret);
        const cleaned = cleanedOf([secret], { list: [`before ${echo} behind`], [echo]: 1 });
        assert.match(cleaned.list[0] ?? "", /^before .*\[redacted\].* behind$/s, `${secret} as ${echo}, ${name}`);
        assert.ok(!JSON.stringify(cleaned).includes(echo));
      }
  assert.deepEqual(cleanedOf(["pass1", "1234"], ["key=pass1&pin=1234", "bypass1 pass12 x1234", 1234, 12345, "%20pass1\\npass1"]), [
    "key=[redacted]&pin=[redacted]",
    "bypass1 pass12 x1234",
    "[redacted]",
    12345,
    "%20[redacted]\\n[redacted]",
  ]);
  assert.deepEqual(cleanedOf(["     ", "ab"], { text: "ab     ab" }), { text: "ab     ab" });
});

test("text and credentials that are made to be slow to look through are not", () => {
  const slow = [
    `\\"\\'${"\\".repeat(20)}&#x`,
    "aaaaaaaaaaaaaaaaaaaaaaaa",
    "key ".repeat(1000),
    `${"\\".repeat(500)}x`,
    `${`${"a".repeat(511)}b`.repeat(30)}c`,
  ];
  const texts = ["\\", "a", "&amp;", "%25", "k", `${"\\".repeat(499)}y`].map((piece) => piece.repeat(250_000 / piece.length));
  for (const text of texts) assert.equal(typeof cleanedOf(slow, text), "string");
});

test("a credential is taken out wherever in a long text it stands, and others have their turn in between", () => {
  for (const spell of [String, encode, JSON.stringify, inUnits, html])
    for (const secret of secrets.slice(0, 5))
      for (let at = 8100; at < 8300; at += 7) {
        const echo = spell(secret);
        const text = `${"\\".repeat(at)}${echo} ${".".repeat(16_384 - echo.length)}${echo} ${"%".repeat(50_000)}`;
        const work = createRedact([secret])(text);
        let stops = 0;
        let step = work.next();
        for (; step.done !== true; step = work.next()) stops += 1;
        assert.ok(!step.value.includes(echo) && step.value.split("[redacted]").length > 2, `${secret} by ${spell.name} at ${at}`);
        assert.ok(stops >= Math.floor(text.length / 8192));
      }
});

test("a large answer is cleaned piece by piece", () => {
  const rows = Array.from({ length: 1000 }, (_, at) => ({ at, key: `key ${at} secret-a` }));
  const work = createRedact(["secret-a"])({ rows });
  let pieces = 1;
  let step = work.next();
  for (; step.done !== true; step = work.next()) pieces += 1;
  assert.ok(pieces > 10);
  assert.deepEqual(step.value, { rows: rows.map(({ at }) => ({ at, key: `key ${at} [redacted]` })) });
});
