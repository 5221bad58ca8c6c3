import assert from "node:assert/strict";
import { test } from "node:test";
import type { DecisionRecord } from "#contract/decisions.ts";
import { chainOf } from "./chain.ts";

const record = (more: Partial<DecisionRecord>): DecisionRecord => ({
  decision_id: "d_1",
  decided_at: "2026-11-21T10:00:00.000Z",
  decision: false,
  sentence: "Denied.",
  action: "tools/call",
  resource: { type: "tool", id: "people.demo.get_employee" },
  requestable: false,
  subject: { id: "person:ben", name: "Ben" },
  ...more,
});

const edge = (kind: string, from: string, to: string, present: boolean, id?: string) => ({
  kind,
  from,
  to,
  present,
  ...(id === undefined ? {} : { id }),
});

const delegates = edge("DELEGATES_TO", "person:ben", "agent:hr-assistant", true, "delegation:ben-hr");
const covers = edge("HAS_CAPABILITY", "agent:hr-assistant", "people.demo.get_employee", true);
const requires = edge("REQUIRES", "people.demo.get_employee", "saas:people", true);
const delegated = [delegates, covers, requires];

test("an agent's call runs from person over agent, delegation and tool to the application", () => {
  const chain = chainOf(record({ decision: true, agent: { id: "agent:hr-assistant" }, edges: delegated }));
  assert.deepEqual(
    chain?.nodes.map((node) => [node.role, node.id]),
    [
      ["person", "person:ben"],
      ["agent", "agent:hr-assistant"],
      ["delegation", "delegation:ben-hr"],
      ["tool", "people.demo.get_employee"],
      ["app", "saas:people"],
    ],
  );
  assert.deepEqual(
    chain.links.map((link) => link.state),
    ["holds", "holds", "holds", "holds"],
  );
});

test("the missing edge is the broken link", () => {
  const edges = [delegates, { ...covers, present: false }, requires];
  const chain = chainOf(record({ agent: { id: "agent:hr-assistant" }, edges }));
  assert.deepEqual(
    chain?.links.map((link) => link.state),
    ["holds", "holds", "broken", "holds"],
  );
});

test("without a delegation there is none to draw, and the first link is broken", () => {
  const edges = [edge("DELEGATES_TO", "person:ben", "agent:reporter", false), covers];
  const chain = chainOf(record({ agent: { id: "agent:reporter" }, edges }));
  assert.deepEqual(
    chain?.nodes.map((node) => node.role),
    ["person", "agent", "tool"],
  );
  assert.equal(chain.links[0]?.state, "broken");
});

test("a revoked delegation breaks one link, not two", () => {
  const edges = [{ ...delegates, present: false }, covers];
  const chain = chainOf(record({ agent: { id: "agent:hr-assistant" }, edges, checks: [{ name: "delegation", outcome: "fail" }] }));
  assert.deepEqual(
    chain?.links.map((link) => link.state),
    ["broken", "unknown", "holds"],
  );
});

test("a used-up budget breaks the link behind a delegation whose edges are all there", () => {
  const chain = chainOf(record({ agent: { id: "agent:hr-assistant" }, edges: delegated, checks: [{ name: "budget", outcome: "fail" }] }));
  assert.deepEqual(
    chain?.links.map((link) => link.state),
    ["holds", "broken", "holds", "holds"],
  );
});

test("a person's own call goes straight to the tool; what was found on the way is named", () => {
  const edges = [
    edge("BELONGS_TO", "person:ben", "account:ben@acme", true),
    edge("GRANTS_ACCESS", "group:people-ops", "people.demo.get_employee", true),
  ];
  const permitted = chainOf(record({ decision: true, edges }));
  assert.deepEqual(permitted?.links, [{ state: "holds", kinds: ["BELONGS_TO", "GRANTS_ACCESS"] }]);
  assert.equal(chainOf(record({ edges: [] }))?.links[0]?.state, "broken");
});

test("who may not see the edges gets no chain", () => {
  assert.equal(chainOf(record({})), undefined);
});
