import assert from "node:assert/strict";
import { test } from "node:test";
import { Problem } from "#contract/problem.ts";
import { sentJson } from "#contract/exact-numbers.ts";
import { strictJsonSteps } from "./strict-json.ts";

const MEBIBYTE = 1_048_576;
const limits = { depth: 64, members: 50_000, keepsDigits: true };
/** The value, and between how many stops it was made. */
const read = (text: string | Uint8Array): { readonly value: unknown; readonly stops: number } => {
  const steps = strictJsonSteps(text, limits);
  for (let stops = 0; ; stops++) {
    const { done, value } = steps.next();
    if (done === true) return { value, stops };
  }
};
const rows = (count: number, name: string) => Array.from({ length: count }, (_none, id) => ({ id, name, tags: ["a", { b: null }] }));

const large: readonly (readonly [what: string, text: string])[] = [
  ["one text", JSON.stringify({ a: "x".repeat(4 * MEBIBYTE), b: 1 })],
  ["a text that is all", JSON.stringify("é漢😀".repeat(MEBIBYTE))],
  ["a text of escapes", `{"a":"${'\\u6f22\\n\\\\\\"'.repeat(MEBIBYTE / 4)}","b":["${"\\\\".repeat(MEBIBYTE)}"]}`],
  ["a text of halves of pairs", `["${"\\ud83d\\ude00".repeat(MEBIBYTE / 8)}"]`],
  ["rows", JSON.stringify({ items: rows(4000, "漢".repeat(300)), next: null })],
  [
    "rows in rows",
    JSON.stringify(
      Array.from({ length: 4 }, () => ({ a: { b: rows(1000, "y".repeat(300)) }, c: [[], {}] })),
      null,
      2,
    ),
  ],
  [
    "numbers",
    `{"list":[${Array.from({ length: 40_000 }, (_none, at) => `${at}.50, 9007199254740993`)
      .join(", ")
      .slice(0, 400_000)}1]}`,
  ],
  ["names", JSON.stringify(Object.fromEntries(Array.from({ length: 9000 }, (_none, at) => [`${"n".repeat(99)}${at}`, [at]])))],
  ["a prototype's name", `{"__proto__":"${"x".repeat(MEBIBYTE)}","a":{"__proto__":1}}`],
  ["blanks", ` \n{"a" : ${" ".repeat(MEBIBYTE - 99)}[ ] , "b" : "${"b".repeat(100_000)}" } \t`],
];
for (const [what, text] of large)
  test(`a large body is read in pieces, and is what it is as a whole: ${what}`, () => {
    const { value, stops } = read(Buffer.from(text));
    assert.equal(
      sentJson(value),
      sentJson(
        JSON.parse(text, (_name, item: unknown, context?: { readonly source?: string }) =>
          context?.source === "9007199254740993" ? (JSON as unknown as { rawJSON(digits: string): unknown }).rawJSON(context.source) : item,
        ),
      ),
    );
    assert.ok(stops >= text.length / (4 * 65_536), `${stops} stops`);
  });

const filler = `"${"x".repeat(400_000)}"`;
const many = `${Array.from({ length: 9000 }, () => `"${"y".repeat(50)}"`).join()}`;
for (const text of [
  `[${filler}`,
  `${filler}]`,
  `[${filler}}`,
  `[${filler},]`,
  `[,${filler}]`,
  `[${filler},,1]`,
  `[${filler} 1]`,
  `[1 ${filler}]`,
  `[${filler}${filler}]`,
  `{${filler}}`,
  `{"a"${filler}}`,
  `{"a":${filler},}`,
  `{"a":1 "b":${filler}}`,
  `{a:${filler}}`,
  `{"a":"b":${filler}}`,
  `${filler},1`,
  `${filler} ${filler}`,
  `[${filler}] 1`,
  `1 [${filler}]`,
  `[${many},]`,
  `[${many} ${many}]`,
  `[${many}}`,
  `[[${many}],]`,
  `{"a":[${many}] 1}`,
  `{"a":[${many}],"b"}`,
  `[${many},01]`,
  `["\\x${"x".repeat(400_000)}"]`,
  `["\n${"x".repeat(400_000)}"]`,
  `{"a":[${many}],"b":[${many}}]`,
  `[{"a":${filler}]`,
  `"${"x".repeat(400_000)}\\"`,
])
  test(`what is no JSON is refused, however large: ${text.replaceAll(/[xy]{9,}|(?:"y+",?){9,}/g, "…").slice(0, 60)}`, () => {
    assert.throws(() => JSON.parse(text), SyntaxError);
    assert.throws(
      () => read(text),
      (error) => error instanceof Problem && error.code === "body_unreadable",
    );
  });

for (const [what, text] of [
  ["half a pair in a long text", `["${"x".repeat(400_000)}\\ud83d"]`],
  ["half a pair in a member", `[{"a":"\\ud83d"},${filler}]`],
  ["half a pair in a name", `{"\\ud83d":${filler}}`],
  ["a number without end", `[${"1".repeat(2 * MEBIBYTE)}]`],
  ["blanks without end", `[${" ".repeat(2 * MEBIBYTE)}]`],
  ["a name without end", `{"${"n".repeat(2 * MEBIBYTE)}":1}`],
] as const)
  test(`refused in a large body: ${what}`, () =>
    assert.throws(
      () => read(text),
      (error) => error instanceof Problem && error.code === "body_unreadable",
    ));

const blanks = " ".repeat(500_000);
for (const [what, text] of [
  ["behind blanks", `{${blanks}"a":1${'""'.repeat(20_000)}}`],
  ["behind a long text and blanks", `{"a":"${"x".repeat(70_000)}"${blanks}${'""'.repeat(20_000)}}`],
  ["behind blanks of a list", `[{},${blanks}${'""'.repeat(20_000)}]`],
  ["behind a name and blanks", `{"a"${blanks}:${'""'.repeat(20_000)}}`],
] as const)
  test(`many texts without a comma cost by the text, not by what stands before each: ${what}`, () => {
    const { user } = process.threadCpuUsage();
    assert.throws(
      () => read(text),
      (error) => error instanceof Problem && error.code === "body_unreadable",
    );
    // Milliseconds; each of them once more over the blanks would take ten seconds.
    assert.ok((process.threadCpuUsage().user - user) / 1000 < 2000);
  });
