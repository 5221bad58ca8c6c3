import assert from "node:assert/strict";
import { test } from "node:test";
import { z } from "zod";
import { longNames } from "./long-names.ts";
import { nearestWord } from "./nearest-word.ts";
import { shapeIssues } from "./shape-issues.ts";
import { packYaml, readYaml, unpackYaml, type YamlDocument } from "./yaml-document.ts";

const documentOf = (value: unknown): YamlDocument => {
  const { document } = readYaml(JSON.stringify(value), "f.yaml");
  assert.ok(document !== undefined);
  return document;
};
const members = (count: number, value: unknown): Record<string, unknown> =>
  Object.fromEntries(Array.from({ length: count }, (_none, at) => [`u${at}`, value]));
const LONG = "K".repeat(100_000);

test("places of members below a long name take as much as the document, and are found again", () => {
  const document = documentOf({ a: { [LONG]: members(9000, 1) }, b: [{ c: 1 }] });
  const packed = packYaml(document);
  assert.ok(packed.places.length < 1_000_000, `${packed.places.length} characters of places`);
  const there = unpackYaml(packed);
  for (const path of [["a"], ["a", LONG, "u7"], ["a", LONG, "toString"], ["b", 0, "c"], ["b", 1], ["constructor"]])
    assert.deepEqual([there.placeOf(path), there.keyPlaceOf(path)], [document.placeOf(path), document.keyPlaceOf(path)]);
  assert.ok(there.placeOf(["a", LONG, "u7"]).column > there.placeOf(["a", LONG]).column);
});

test("issues below a long name have its beginning, and there are a thousand at most", () => {
  const shape = z.strictObject({ operations: z.record(z.string(), z.strictObject({ title: z.string().optional() })) });
  const document = documentOf({ operations: { [LONG]: members(9000, 1) } });
  const { error } = shape.safeParse(document.value);
  assert.ok(error !== undefined);
  const issues = shapeIssues(document, error, { shape });
  assert.equal(issues.length, 1000);
  assert.equal(issues[7]?.path, `/operations/${"K".repeat(200)}…/u7`);
  assert.ok(JSON.stringify(issues).length < 1_000_000);
});

test("an issue below many names has a path of two thousand characters, and a message of one thousand", () => {
  const { path, message } = documentOf({}).issue(
    Array.from({ length: 40 }, () => LONG),
    LONG,
  );
  assert.deepEqual([path.length, message.length], [2001, 1001]);
});

test("a name that is too long is one issue, whatever lies below it", () => {
  const document = documentOf({ a: { [LONG]: { [LONG]: 1 }, ["b".repeat(256)]: 1 }, c: [{ ["d".repeat(257)]: null }] });
  assert.deepEqual(
    longNames(document, document.value, 50).map(({ path, code }) => [path, code]),
    [
      [`/a/${"K".repeat(200)}…`, "too_long"],
      [`/c/0/${"d".repeat(200)}…`, "too_long"],
    ],
  );
  assert.equal(longNames(document, document.value, 1).length, 1);
});

test("words that cannot be alike are not compared letter by letter", () => {
  assert.equal(nearestWord("K".repeat(200_000), ["K".repeat(200_001), "title"]), undefined);
  assert.equal(nearestWord("titel", ["title", "x".repeat(200_000)]), "title");
});
