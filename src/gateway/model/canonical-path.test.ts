import assert from "node:assert/strict";
import { test } from "node:test";
import { Problem } from "#contract/problem.ts";
import { canonicalise, guardMarks, type PathMark } from "./canonical-path.ts";

const refusedWith = (target: string): string => {
  try {
    canonicalise(target);
  } catch (error) {
    assert.ok(error instanceof Problem);
    return error.code;
  }
  return "served";
};

const canonical: readonly (readonly [raw: string, path: string, query: string, marks: readonly PathMark[]])[] = [
  ["/", "/", "", []],
  ["/a/b/", "/a/b/", "", []],
  ["/%61pi/t/x", "/api/t/x", "", []],
  ["/a%2db%5fc%7ed%3ae%40f", "/a-b_c~d:e@f", "", []],
  ["/a%20b%21", "/a%20b%21", "", []],
  ["/%c3%a4%e2%82%ac", "/%C3%A4%E2%82%AC", "", []],
  ["/a%2fb", "/a%2Fb", "", ["%2F"]],
  ["/a%25b%3Bc%3fd%23", "/a%25b%3Bc%3Fd%23", "", ["%25", "%3B", "%3F", "%23"]],
  ["/a;b=1", "/a;b=1", "", [";"]],
  ["/a?b=%2F..%2f&c=//../", "/a", "?b=%2F..%2f&c=//../", []],
  ["/a?", "/a", "?", []],
  ["/a??b", "/a", "??b", []],
  ["/api../x", "/api../x", "", []],
  ["/*", "/*", "", []],
  ["/...", "/...", "", []],
];

for (const [raw, path, query, marks] of canonical)
  test(`the target ${raw} has the form ${path}${query}`, () => {
    const form = canonicalise(raw);
    assert.equal(form.path, path);
    assert.equal(form.query, query);
    assert.deepEqual([...form.marks].toSorted(), [...marks].toSorted());
  });

const refused: readonly string[] = [
  "",
  "*",
  "a",
  "http://other/admin",
  "localhost:8080",
  "/public/../admin",
  "/public/./x",
  "/public/%2e%2e/admin",
  "/public/.%2E/x",
  "/a%2Eb",
  "/a%5Cb",
  "/a\\b",
  "/a%00b",
  "/a%1fb",
  "/a%7Fb",
  "/public/..;x=1/admin",
  "/public/..%3Bx=1/admin",
  "/public/.;x",
  "/public/;x",
  "/public/;/x",
  "/public/%3Bx",
  "/a%2F..%2Fb",
  "/a%2F.",
  "//admin/x",
  "/a//b",
  "/a//",
  "/admin/{id}",
  '/a"',
  "/a<b>",
  "/a^",
  "/a`",
  "/a|b",
  "/a[0]",
  "/public/\u00e9",
  "/public/%E9",
  "/%C0%AE",
  "/%ED%A0%80",
  "/%C3x%A4",
  "/a%",
  "/a%4",
  "/a%zz",
  "/a b",
  "/a\tb",
  "/a#b",
  "/a?b#c",
  "/a?b c",
  "/a?b=%0",
  "/a?b=%00",
  "/a?b=\u00e9",
];
for (const raw of refused)
  test(`the target ${JSON.stringify(raw)} is refused as ambiguous`, () => assert.equal(refusedWith(raw), "ambiguous_target"));

test("a target of 8,192 bytes is served and one more is too long", () => {
  assert.equal(refusedWith(`/${"a".repeat(8191)}`), "served");
  assert.equal(refusedWith(`/${"a".repeat(8192)}`), "target_too_long");
});

test("a mark passes only where the row lists it", () => {
  const target = canonicalise("/a%2Fb");
  guardMarks(target, ["%2F"]);
  assert.throws(() => guardMarks(target, ["%25"]), { code: "ambiguous_target" });
  assert.throws(() => guardMarks(canonicalise("/a;b"), []), { code: "ambiguous_target" });
});
