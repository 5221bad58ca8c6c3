import assert from "node:assert/strict";
import { test } from "node:test";
import type { EvaluationReply } from "#contract/authzen.ts";
import { statement } from "#store/database.ts";
import { pdpWorld } from "#testing/pdp.ts";

const calls = statement<{ readonly items: readonly { readonly type: string; readonly action: string; readonly decision: boolean }[] }>(
  "test.calls",
  "select items from pdp.call order by call_id, part",
);
const ben = { type: "identity", id: "person:ben", properties: { tenant: "tenant:acme" } };
const nobody = { type: "identity", id: "person:nobody", properties: { tenant: "tenant:acme" } };
const scopes = ["mcp.tools.discovery"];
const list = { name: "tools/list" };
const entry = { resource: { type: "mcp_server", id: "http://localhost:8080/mcp" }, action: list, context: { scopes } };
const tools = ["people.demo.list_employees", "people.demo.get_employee", "no.such.tool"].map((id) => ({
  resource: { type: "tool", id },
  action: list,
  context: { scopes, could: true },
}));
const inBackground = <T extends { readonly context: object }>(ask: T) => ({ ...ask, context: { ...ask.context, background: true } });

for (const [name, subject, evaluations, decisions, recorded] of [
  ["a list leaves the one record that it was asked for", ben, [entry, ...tools], [true, true, true, false], [["mcp_server", true]]],
  ["more of the same list leaves none", ben, tools, [true, true, false], []],
  ["what is compared in the background leaves none", ben, [inBackground(entry), ...tools], [true, true, true, false], []],
  ["that it may no more be entered is on record", nobody, [inBackground(entry)], [false], [["mcp_server", false]]],
] as const) {
  test(`${name}: ${evaluations.length} questions`, async (t) => {
    const world = await pdpWorld(t);
    const before = world.entries.length;
    const body = { subject, evaluations };
    const response = await world.ask("/access/v1/evaluations", await world.serviceToken("crud"), body);
    assert.equal(response.status, 200, await response.clone().text());
    const reply = (await response.json()) as { readonly evaluations: readonly EvaluationReply[] };
    assert.deepEqual(
      reply.evaluations.map((one) => one.decision),
      decisions,
    );
    assert.ok(reply.evaluations.every((one) => one.context?.decision_id !== undefined));
    const rows = await world.database.run(calls);
    assert.deepEqual(
      rows.flatMap(({ items }) => items.map((item) => [item.type, item.decision])),
      recorded,
    );
    assert.equal(world.entries.length - before, recorded.length, "of the audit log too");
  });
}

test("what somebody does is recorded although it is said to be in the background, and nobody else may say so", async (t) => {
  const world = await pdpWorld(t);
  const asked = { subject: ben, resource: { type: "pages", id: "people" }, action: { name: "view" }, context: { background: true } };
  const instance = await world.serviceToken("gateway");
  assert.equal((await world.ask("/access/v1/evaluation", instance, { ...asked, subject: nobody })).status, 200);
  assert.equal((await world.database.run(calls)).length, 1, "a denial");
  assert.equal((await world.ask("/access/v1/evaluation", instance, asked)).status, 200);
  assert.equal((await world.database.run(calls)).length, 1, "nothing was done");
  const pep = await world.identity.tokenFor({ sub: "service:pep", tenant: "tenant:acme", scopes: ["authzen.pep"] });
  const refused = await world.ask("/access/v1/evaluation", pep, asked);
  assert.deepEqual([refused.status, ((await refused.json()) as { code: string }).code], [400, "reserved_context_member"]);
});
