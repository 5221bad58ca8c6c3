import assert from "node:assert/strict";
import { test } from "node:test";
import type { DecisionRecord } from "#contract/decisions.ts";
import { wayOutOf } from "./way-out.ts";

const record: DecisionRecord = {
  decision_id: "d_1",
  decided_at: "2026-11-21T10:00:00.000Z",
  decision: false,
  sentence: "Denied.",
  action: "tools/call",
  resource: { type: "tool", id: "people.demo.get_employee" },
  requestable: false,
  subject: { id: "person:ben" },
  agent: { id: "agent:hr-assistant" },
  edges: [{ kind: "DELEGATES_TO", from: "person:ben", to: "agent:hr-assistant", id: "delegation:ben-hr", present: true }],
};
const step = { text: "", who_can: [] };
const delegates = { kind: "DELEGATES_TO", from: "person:ben", to: "agent:hr-assistant" };

test("a missing delegation opens a draft for the person whose it would be, with the tool that was refused", () => {
  assert.deepEqual(wayOutOf({ ...step, kind: "add_edge", edge: delegates }, record, "person:ben"), {
    kind: "draft",
    agentId: "agent:hr-assistant",
    tool: "people.demo.get_employee",
  });
  assert.equal(wayOutOf({ ...step, kind: "add_edge", edge: delegates }, record, "person:ada"), undefined);
});

test("a paused or used-up delegation is opened itself", () => {
  for (const kind of ["reactivate_edge", "raise_limit"] as const)
    assert.deepEqual(wayOutOf({ ...step, kind }, record, "person:ada"), { kind: "delegation", id: "delegation:ben-hr" });
});

test("signing in again helps only the person who acted without an agent", () => {
  assert.equal(wayOutOf({ ...step, kind: "sign_in_again" }, record, "person:ben"), undefined);
  const { agent: _agent, ...own } = record;
  assert.deepEqual(wayOutOf({ ...step, kind: "sign_in_again" }, own, "person:ben"), { kind: "sign_in" });
  assert.equal(wayOutOf({ ...step, kind: "sign_in_again" }, own, "person:ada"), undefined);
});

test("what has no screen here opens nothing", () => {
  for (const kind of ["approval", "reapprove_definition"] as const)
    assert.equal(wayOutOf({ ...step, kind }, record, "person:ben"), undefined);
  assert.equal(wayOutOf({ ...step, kind: "add_edge", edge: { ...delegates, kind: "MEMBER_OF" } }, record, "person:ben"), undefined);
});
