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
const step = { text: "", who_can: ["person:ben"] };
const delegates = { kind: "DELEGATES_TO", from: "person:ben", to: "agent:hr-assistant" };

test("a missing delegation opens a draft for the person whose it would be, with the tool that was refused", () => {
  assert.deepEqual(wayOutOf({ ...step, kind: "add_edge", edge: delegates }, record, "person:ben"), {
    kind: "draft",
    agentId: "agent:hr-assistant",
    tool: "people.demo.get_employee",
  });
});

test("a delegation is given once what it wants is there", () => {
  assert.deepEqual(wayOutOf({ ...step, kind: "add_edge", edge: delegates }, record, "person:ben", false), { kind: "later" });
  assert.equal(wayOutOf({ ...step, kind: "add_edge", edge: delegates }, record, "person:ada", false), undefined);
});

test("a paused delegation is resumed where it is; one that is used up is given anew, for no page raises its limits", () => {
  const delegation = { id: "delegation:ben-hr", agentId: "agent:hr-assistant" };
  assert.deepEqual(wayOutOf({ ...step, kind: "reactivate_edge" }, record, "person:ben"), { kind: "resume", ...delegation });
  assert.deepEqual(wayOutOf({ ...step, kind: "raise_limit" }, record, "person:ben"), {
    kind: "renew",
    ...delegation,
    tool: "people.demo.get_employee",
  });
});

test("what somebody else has to do leads nowhere, whatever it is", () => {
  const steps = [
    { ...step, kind: "add_edge", edge: delegates },
    { ...step, kind: "reactivate_edge" },
    { ...step, kind: "raise_limit" },
    { ...step, kind: "sign_in_again" },
    { ...step, kind: "reapprove_definition" },
    { ...step, kind: "add_edge", edge: { ...delegates, kind: "MEMBER_OF" } },
  ] as const;
  for (const one of steps) assert.equal(wayOutOf(one, record, "person:ada"), undefined, one.kind);
});

test("signing in again helps only the person who acted without an agent", () => {
  assert.equal(wayOutOf({ ...step, kind: "sign_in_again" }, record, "person:ben"), undefined);
  const { agent: _agent, ...own } = record;
  assert.deepEqual(wayOutOf({ ...step, kind: "sign_in_again" }, own, "person:ben"), { kind: "sign_in" });
});

test("an approval is asked for by who was refused, not by who gives it", () => {
  const { agent: _agent, ...own } = { ...record, requestable: true };
  const approval = { ...step, kind: "approval" as const, who_can: ["group:admins"] };
  assert.deepEqual(wayOutOf(approval, own, "person:ben"), { kind: "ask" });
  for (const [one, viewer] of [
    [own, "person:ada"],
    [{ ...own, requestable: false }, "person:ben"],
    [{ ...record, requestable: true }, "person:ben"],
  ] as const)
    assert.equal(wayOutOf(approval, one, viewer), undefined);
});

test("what is theirs to do and has no page is said to be done elsewhere", () => {
  assert.deepEqual(wayOutOf({ ...step, kind: "reapprove_definition" }, record, "person:ben"), { kind: "elsewhere" });
  assert.deepEqual(wayOutOf({ ...step, kind: "add_edge", edge: { ...delegates, kind: "HAS_CAPABILITY" } }, record, "person:ben"), {
    kind: "elsewhere",
  });
  assert.deepEqual(wayOutOf({ ...step, kind: "raise_limit" }, { ...record, edges: [] }, "person:ben"), { kind: "elsewhere" });
});
