import assert from "node:assert/strict";
import { test } from "node:test";
import fc from "fast-check";
import { compileGlobs } from "./globs.ts";

for (const [patterns, name, expected] of [
  [[], "a", false],
  [["*"], "", true],
  [["read_*"], "read_graph", true],
  [["read_*"], "unread_graph", false],
  [["*_raw", "b"], "b", true],
  [["ab*ba"], "aba", false],
  [["ab*ba"], "abba", true],
  [["*b*ab"], "ab", false],
  [["a.c", "[abc]", "a+"], "abc", false],
  [["a.c"], "a.c", true],
  [["a*c"], "a\nc", true],
  [["__proto__"], "constructor", false],
] as const)
  test(`${JSON.stringify(patterns)} ${expected ? "matches" : "does not match"} ${JSON.stringify(name)}`, () => {
    assert.equal(compileGlobs(patterns)(name), expected);
  });

test("names match as by a regular expression in which a star is any text", () => {
  const texts = (letters: string, maxLength: number) =>
    fc.array(fc.constantFrom(...letters.split("")), { maxLength }).map((all) => all.join(""));
  fc.assert(
    fc.property(fc.array(texts("ab*", 7), { maxLength: 4 }), texts("ab", 9), (patterns, name) => {
      const expected = patterns.some((pattern) => new RegExp(`^${pattern.replaceAll("*", ".*")}$`, "s").test(name));
      assert.equal(compileGlobs(patterns)(name), expected);
    }),
    { numRuns: 2000 },
  );
});
