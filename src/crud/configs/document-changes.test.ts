import assert from "node:assert/strict";
import { test } from "node:test";
import { documentChanges } from "./document-changes.ts";

for (const [what, before, after, changes] of [
  ["nothing", { a: [1, { b: null }] }, { a: [1, { b: null }] }, []],
  ["a member that came, one that went, one that changed", { a: 1, b: 2 }, { b: 3, c: null }, ["remove /a", "replace /b", "add /c"]],
  ["a list that is shorter", { a: [1, 2, 3] }, { a: [1, 4] }, ["replace /a/1", "remove /a/2"]],
  [
    "a list in the place of an object, and a value in that of null",
    { a: { 0: 1 }, b: null },
    { a: [1], b: {} },
    ["replace /a", "replace /b"],
  ],
  [
    "a name with a slash, and one that every object has",
    { "x/y": 1 },
    { "x/y": 2, __proto__x: 1, constructor: 1 },
    ["replace /x~1y", "add /__proto__x", "add /constructor"],
  ],
  ["the whole", [], {}, ["replace "]],
] as const)
  test(`two documents differ in ${what}`, () => {
    assert.deepEqual(
      [...documentChanges(before, after)].map(({ op, path }) => `${op} ${path}`),
      changes,
    );
  });

test("changes below a long name have its beginning in their paths", () => {
  const below = (value: number) => ({
    ["K".repeat(50_000)]: Object.fromEntries(Array.from({ length: 1000 }, (_none, at) => [`u${at}`, value])),
  });
  const changes = [...documentChanges(below(1), below(2))];
  assert.equal(changes[7]?.path, `/${"K".repeat(200)}…/u7`);
  assert.ok(JSON.stringify(changes).length < 1_000_000);
});
