import assert from "node:assert/strict";
import { test } from "node:test";
import type { DecisionRecord } from "#contract/decisions.ts";
import { isAskedForHere } from "./asked-for-here.ts";

const denied: DecisionRecord = {
  decision_id: "d_1",
  decided_at: "2026-03-02T12:00:00.000Z",
  decision: false,
  reason: "approval_required",
  sentence: "",
  action: "view",
  resource: { type: "pages", id: "operations" },
  requestable: true,
  subject: { id: "person:cleo" },
};

for (const [what, record, expected] of [
  ["one's own requestable denial", denied, true],
  ["a denial that does not say whose it is, which only its subject is shown so", { ...denied, subject: undefined }, true],
  ["somebody else's denial", { ...denied, subject: { id: "person:ben" } }, false],
  ["a denial that no approval lifts", { ...denied, requestable: false }, false],
  ["a permit", { ...denied, decision: true }, false],
  ["what an agent was denied", { ...denied, agent: { id: "agent:reporter" } }, false],
  ["a secret, whose id is not told", { ...denied, resource: { type: "secret", ref: "r" } }, false],
] as const)
  test(`${what} is ${expected ? "" : "not "}asked for on its page`, () =>
    assert.equal(isAskedForHere(record as DecisionRecord, "person:cleo"), expected));
