import assert from "node:assert/strict";
import { test } from "node:test";
import { formatMoment } from "../../strings/format.ts";
import { changeOf } from "./change-of.ts";

test("only what differs is told, in the page's words, with the value before and after", () => {
  const end = "2026-03-01T10:00:00Z";
  assert.deepEqual(
    changeOf(
      { status: "active", hold: null, max_steps: 50, budget_usd: 5, capabilities: ["a"], expires_at: null, purpose: "x" },
      { status: "paused", hold: "manual", max_steps: 50, budget_usd: 7.5, capabilities: ["a", "b"], expires_at: end, purpose: "x" },
    ),
    [
      "Status: Active \u2192 Paused",
      "On hold: - \u2192 paused by hand",
      "Budget in USD: $5.00 \u2192 $7.50",
      "Tools: a \u2192 a, b",
      `Ends: never \u2192 ${formatMoment(end)}`,
    ],
  );
  assert.deepEqual(changeOf({ capabilities: null, status: "active" }, { capabilities: [], status: "revoked", end_reason: "done" }), [
    "Tools: all that the agent has \u2192 -",
    "Status: Active \u2192 Revoked",
    "Why it ended: - \u2192 done",
  ]);
});

test("a member that the page has no word for keeps its name, a value none of the known its text", () => {
  assert.deepEqual(changeOf({ more: { a: 1 }, status: "active" }, { more: { a: 2 }, status: "constructor" }), [
    'more: {"a":1} \u2192 {"a":2}',
    "Status: Active \u2192 constructor",
  ]);
});

test("a creation tells what is there now; what is no object tells nothing", () => {
  assert.deepEqual(changeOf(null, { status: "active", agent_id: "agent:x", expires_at: null }), ["Status: Active"]);
  assert.deepEqual(changeOf(undefined, undefined), []);
  assert.deepEqual(changeOf({ version: 1 }, { version: 2 }), []);
});
