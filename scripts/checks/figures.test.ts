import assert from "node:assert/strict";
import { mkdtempSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { test } from "node:test";
import { measurePages } from "./page-figures.ts";
import { countExtremes, countWords, mutualFolders, readSource, type Source } from "./source-figures.ts";

for (const [text, counts] of [
  ["createDoorKeeper door_open front-door DOORS", { door: 4 }],
  ["indoors outdoor household roommate", {}],
  ["a row of house_key", {}],
  ["one house, two rooms", { house: 1, room: 1 }],
] as const)
  test(`private words of "${text}"`, () => assert.deepEqual(Object.fromEntries(countWords([text])), counts));

test("a constant that begins with a superlative counts, another name does not", () => {
  assert.equal(countExtremes(["MOST_ROWS", "LONGEST_NAME", "LEAST_ONE", "MAX_ROWS", "mostRows", "ALMOST_ALL"]), 3);
});

test("a file gives its names, comments, messages, imports, types and long parameter lists", (t) => {
  const folder = mkdtempSync(join(tmpdir(), "sallyport-figures-"));
  t.after(() => rmSync(folder, { recursive: true, force: true }));
  const path = join(folder, "a.ts");
  writeFileSync(
    path,
    `import { b } from "#store/b.ts";\nimport "./c.ts";\n// why\nexport interface CallParts { wire: "name" }\nexport const f = (one: b, two: b, three: b, four: b) => "two words" + \`in \${one} text\`;\n`,
  );
  const { names, comments, messages, imports, partsTypes, longParameterLists } = readSource(path);
  assert.ok(
    ["a.ts", "CallParts", "wire", "four"].every((name) => names.includes(name)),
    names.join(" "),
  );
  assert.deepEqual([comments, messages, imports], [[" why"], ["two words", "in ", " text"], ["src/store/b.ts", join(folder, "c.ts")]]);
  assert.deepEqual([partsTypes, longParameterLists], [1, 1]);
});

test("two folders that import each other are found, among siblings and with their module's root", () => {
  const source = (path: string, ...imports: string[]): Source => ({ ...({} as Source), path, imports });
  const found = mutualFolders([
    source("src/crud/mcp/a.ts", "src/crud/systems/b.ts", "src/crud/service.ts", "src/crud/config.ts"),
    source("src/crud/systems/b.ts", "src/crud/mcp/deep/a.ts", "src/crud/systems/c.ts"),
    source("src/crud/service.ts", "src/crud/mcp/a.ts", "src/crud/systems/b.ts", "src/crud/upstream/d.ts"),
    source("src/crud/upstream/d.ts", "src/crud/config.ts"),
    source("src/store/c.ts", "src/crud/mcp/a.ts"),
  ]);
  assert.deepEqual(found, { siblings: ["src/crud mcp systems"], roots: ["src/crud . mcp"] });
});

test("pages are measured by their lines outside tables and by their cells", () => {
  const word = "x".repeat(121);
  assert.deepEqual(measurePages([`${"y ".repeat(70)}\n${word}\n| ${word} | a |\n| \\| |`]), {
    longLines: 1,
    longCells: 1,
    longestCell: 121,
  });
});
