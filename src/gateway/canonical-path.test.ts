import assert from "node:assert/strict";
import { test } from "node:test";
import fc from "fast-check";
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

/** Targets made of the pieces that attacks are made of, so that a good share of them is served. */
const pieces = fc.constantFrom(
  ..."/ // /. /.. . .. ; %2e %2E %2f %2F %5c %25 %252e %3b %3f %23 %61 %7e %20 %c3%a4 %e9 %00 %7f \\ ? # a b api admin x=1 : @ * ~ _ - ! ' ( ) & = + $ , { | ".split(
    " ",
  ),
);
const targets = fc.oneof(
  fc.array(pieces, { maxLength: 12 }).map((parts) => `/${parts.join("")}`),
  fc.webUrl({ withQueryParameters: true }).map((url) => {
    const { pathname, search } = new URL(url);
    return pathname + search;
  }),
  fc.string({ unit: "binary-ascii", maxLength: 40 }).map((text) => `/${text}`),
);
const formOf = (target: string): ReturnType<typeof canonicalise> | undefined => {
  try {
    return canonicalise(target);
  } catch (error) {
    assert.ok(error instanceof Problem);
    return undefined;
  }
};

test("the form of a form is itself", () => {
  fc.assert(
    fc.property(targets, (target) => {
      const form = formOf(target);
      if (form === undefined) return;
      assert.deepEqual(canonicalise(form.path + form.query), form);
    }),
    { numRuns: 5000 },
  );
});

test("no form has a dot segment or an empty segment inside, however often it is decoded by one more server", () => {
  fc.assert(
    fc.property(targets, (target) => {
      const form = formOf(target);
      if (form === undefined) return;
      const read = (path: string) => path.slice(1).split(/[/\\]/);
      for (const path of form.marks.has("%25") ? [form.path] : [form.path, decodeURIComponent(form.path)]) {
        const segments = read(path).map((segment) => segment.split(";")[0]);
        assert.ok(!segments.includes(".") && !segments.includes(".."), path);
      }
      assert.ok(!read(form.path).slice(0, -1).includes(""), form.path);
    }),
    { numRuns: 5000 },
  );
});

test("a form is what a WHATWG URL sees: nothing is resolved, decoded or encoded again", () => {
  fc.assert(
    fc.property(targets, (target) => {
      const form = formOf(target);
      if (form === undefined) return;
      const seen = new URL(`http://house.internal${form.path}`);
      assert.equal(seen.pathname, form.path);
      const raw = new URL(target.split("?")[0] as string, "http://house.internal");
      assert.equal(raw.host, "house.internal");
      assert.equal(decodeURIComponent(raw.pathname), decodeURIComponent(form.path), "the same resource as the raw target");
    }),
    { numRuns: 5000 },
  );
});

test("a good share of the generated targets is served, so the properties above say something", () => {
  const sample = fc.sample(targets, 2000);
  assert.ok(sample.filter((target) => formOf(target) !== undefined).length > 200);
});
