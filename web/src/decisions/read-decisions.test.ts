import assert from "node:assert/strict";
import { test } from "node:test";
import { readBatch, readDecision, type Reading } from "./read-decisions.ts";

const cases: readonly (readonly [unknown, Reading])[] = [
  [{ decision: true }, "allowed"],
  [{ allowed: true }, "allowed"],
  [{ allow: true, decision: true }, "allowed"],
  [{ decision: false }, "denied"],
  [{ decision: false, context: { reason: "not_granted" } }, "denied"],
  [{ decision: true, allow: false }, "unusable"],
  [{ decision: "true" }, "unusable"],
  [{ decision: 1 }, "unusable"],
  [{ decision: null }, "unusable"],
  [{ decision: true, allowed: "yes" }, "unusable"],
  [{ decision: true, context: { error: { status: 400, message: "x" } } }, "unusable"],
  [{ decision: true, error: "x" }, "unusable"],
  [{}, "unusable"],
  [null, "unusable"],
  [true, "unusable"],
  ["allowed", "unusable"],
  [[{ decision: true }], "unusable"],
  [{ decision: true, key: "other" }, "unusable"],
  [{ decision: true, key: "a" }, "allowed"],
];

for (const [item, reading] of cases) test(`${JSON.stringify(item)} is ${reading}`, () => assert.equal(readDecision(item, "a"), reading));

test("a batch is read in order, or by key", () => {
  assert.deepEqual(readBatch({ evaluations: [{ decision: true }, { decision: false }] }, ["a", "b"]), ["allowed", "denied"]);
  assert.deepEqual(readBatch({ evaluations: { b: { decision: true }, a: { decision: false } } }, ["a", "b"]), ["denied", "allowed"]);
  assert.deepEqual(readBatch({ decisions: [{ allow: true }] }, ["a"]), ["allowed"]);
  assert.deepEqual(readBatch({ results: { a: { allowed: true } } }, ["a"]), ["allowed"]);
});

test("what is missing in a short answer is not allowed", () => {
  assert.deepEqual(readBatch({ evaluations: [{ decision: true }] }, ["a", "b"]), ["allowed", "unusable"]);
  assert.deepEqual(readBatch({ evaluations: { a: { decision: true } } }, ["a", "b"]), ["allowed", "unusable"]);
  assert.deepEqual(readBatch({ evaluations: {} }, ["constructor", "__proto__"]), ["unusable", "unusable"]);
});

for (const body of [undefined, null, "<html>", 7, {}, [], { evaluations: [] }, { evaluations: "yes" }, { decision: true }])
  test(`nothing is allowed by ${JSON.stringify(body)}`, () => assert.deepEqual(readBatch(body, ["a", "b"]), ["unusable", "unusable"]));

test("an answer longer than the question answers nothing", () => {
  assert.deepEqual(readBatch({ evaluations: [{ decision: true }, { decision: true }] }, ["a"]), ["unusable"]);
});

test("results in another order than the keys they name are not used", () => {
  const evaluations = [
    { decision: true, key: "b" },
    { decision: false, key: "a" },
  ];
  assert.deepEqual(readBatch({ evaluations }, ["a", "b"]), ["unusable", "unusable"]);
});
