import assert from "node:assert/strict";
import { test } from "node:test";
import { readYaml } from "./yaml-document.ts";
import { readYamlSlices } from "./yaml-slices.ts";

const limits = { mebibytes: 1, depth: 100, aliases: 100, rounds: true };
const many = (line: (at: number) => string, count: number): string => Array.from({ length: count }, (_none, at) => line(at)).join("");
const FILLER = "x".repeat(80);
/** A map of more than 256 KiB at this indent: it is read in slices. */
const large = (indent = "", prefix = "k"): string => many((at) => `${indent}${prefix}${at}: ${FILLER}\n`, 4000);
const body = large("  ");

const readable: readonly (readonly [what: string, text: string])[] = [
  ["names at the left", large()],
  ["a map of a name", `a: 1\nb:\n${body}c: [1, 2]\n`],
  ["maps of maps", `a:\n  b:\n${large("    ")}  c: 1\nd: 2\n`],
  ["names in quotes, with blanks, slashes and colons", `"a b":\n${body}'c':\n${large(" ", "/v1/{name}:cancel ")}`],
  ["a byte more at the front", `---\n# first\na:\n${body}`],
  ["line ends of another system", `a: 1\nb:\n${body}`.replaceAll("\n", "\r\n")],
  ["comments and empty lines at any column", `# a\n\na:\n# b\n${body}\n     # c\n${large("  ", "l")}# d\n`],
  ["a list at the column of its name", `a:\n- 1\n- b: 2\nc:\n${body}`],
  ["a large list at the column of its name", `a:\n${many((at) => `- ${FILLER}${at}\n`, 4000)}b: 1\n`],
  ["a large list as all there is", many((at) => `- ${FILLER}${at}\n`, 4000)],
  ["texts that look like names", `a: |\n  b:\n   c: 1\nd: >-\n    e: 2\n\n    f: 3\ng:\n${body}`],
  ["a text whose empty lines count", `a: |+\n  b\n\n\nc:\n${body}`],
  ["a quoted text over lines that ends as a name does", `a: "x:\n  y: z"\nb:\n${body}`],
  ["a bracket over lines", `a: {b: 1,\n  c: 2}\nd:\n${body}`],
  ["brackets closed at the column of their names", `a: {\n  b: 1\n}\nc: [\n  1\n]\nd:\n${body}`],
  ["names that a reader alone can tell", `? a\n: 1\nb c : 2\nd:\n${body}`],
  ["a merge key", `<<: {a: 1}\nb:\n${body}`],
  ["an anchor and its alias far away", `a: &a [1]\nb:\n${body}c: *a\n`],
  ["numbers for names, and nothing for values", `200:\n${large("  ", "2")}201:\n"202": ~\n`],
  ["a name without anything but comments below", `a:\n${many(() => `  # ${FILLER}\n`, 4000)}b: 1\n`],
];
for (const [what, text] of readable)
  test(`a text in slices says what it says as a whole: ${what}`, () => {
    const whole = readYaml(text, "x", limits);
    const sliced = readYamlSlices(text, "x", limits);
    assert.ok("value" in sliced, JSON.stringify(sliced));
    assert.deepEqual(sliced.value, whole.document?.value, JSON.stringify(whole.issues));
  });

const refused: readonly (readonly [what: string, text: string, says: RegExp])[] = [
  ["a name twice in one slice", `a:\n${body}  k3999: 1\n`, /unique/],
  ["a name twice in two slices", `a: 1\nb:\n${body}a: 2\n`, /unique/],
  ["a name twice in two slices of a map", `a: 1\nb:\n  k1: 1\n${body}`, /unique/],
  ["the prototype", `a: 1\nb:\n${body}  __proto__: 1\n`, /__proto__/],
  ["the prototype as a map's name", `a: 1\n__proto__:\n${body}`, /__proto__/],
  ["a second document", `a:\n${body}---\nb: 1\n`, /documents/],
  ["a tag", `a:\n${body}b: !!int 1\n`, /tags/],
  ["a bracket that stays open", `a:\n${body}b: [1\nc: 2\n`, /./],
  ["a quote that stays open", `a:\n${body}b: "1\nc: 2\n`, /./],
  ["an alias of nothing", `a:\n${body}b: *a\n`, /alias/],
  ["a map behind a value", `a: 1\nb: 2\n${body}`, /./],
];
for (const [what, text, says] of refused)
  test(`a text in slices is refused as it is as a whole: ${what}`, () => {
    const whole = readYaml(text, "x", limits);
    const sliced = readYamlSlices(text, "x", limits);
    assert.ok("issues" in sliced && whole.issues.length > 0, what);
    assert.deepEqual(sliced.issues, whole.issues);
    assert.match(sliced.issues[0]?.message ?? "", says);
    // Of one that is too large to be read at once.
    const part = readYamlSlices(text, "x", { ...limits, mebibytes: 0.3 });
    assert.ok("issues" in part, what);
    const lines = text.split("\n").length;
    assert.ok(part.issues.every(({ line = 0 }) => line >= 1 && line <= lines));
  });

test("an issue of a text that is read in slices has its line in the whole text", () => {
  const sliced = readYamlSlices(`a: 1\nb:\n${body}  c: ]\n`, "x", { ...limits, mebibytes: 0.3 });
  assert.ok("issues" in sliced);
  assert.deepEqual([sliced.issues[0]?.line, sliced.issues[0]?.code], [4003, "yaml"]);
});

test("what is read at once is bounded, and larger texts are read where they have names", () => {
  const more = many((at) => `a${at}:\n${body}`, 4);
  assert.ok(more.length > 1_048_576);
  const read = readYamlSlices(more, "x", limits);
  assert.ok("value" in read && Object.keys(read.value as object).length === 4);
  for (const text of [`a: 1\nb: [${"1, ".repeat(400_000)}]\n`, `a: &a 1\n${more}`, `a: 1\nb: |\n${many(() => `  ${FILLER}\n`, 14_000)}`]) {
    const found = readYamlSlices(text, "x", limits);
    assert.ok("issues" in found);
    assert.deepEqual([found.issues[0]?.code, (found.issues[0]?.line ?? 9) <= 2], ["yaml_part_too_large", true]);
  }
});
