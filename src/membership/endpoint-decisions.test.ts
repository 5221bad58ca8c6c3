import assert from "node:assert/strict";
import { test } from "node:test";
import { Problem } from "#contract/problem.ts";
import { testDatabase } from "#testing/database.ts";
import { testIdentity } from "#testing/identity.ts";
import { graphModules, servedWorld, type CallMore, type Reply, type ServedWorld } from "#testing/membership.ts";
import { requestOf, type Asked } from "#testing/probes/probe.ts";
import { probedEndpoints } from "#testing/probes/probes.ts";

type Row = (typeof probedEndpoints)[number];
const rows = probedEndpoints.filter(({ endpoint }) => endpoint.service === "membership");
const nameOf = ({ endpoint }: Row): string => `${endpoint.method} ${endpoint.path}`;

const NODES = "/api/v1/identity_nodes";
const DELEGATIONS = "/api/v1/delegations";
const nobody = "00000000-0000-4000-8000-000000000000";

const scopes = [
  "pip.read",
  "membership.read",
  "membership.write",
  "membership.registry",
  "membership.export",
  "membership.delegate",
  "membership.budget",
  "membership.sign_in",
];
const send = (
  world: ServedWorld,
  as: string | undefined,
  [{ endpoint }, question]: readonly [Row, Asked],
  id: string,
  more: CallMore = {},
): Promise<Reply> => {
  const { path, ...asked } = requestOf(endpoint, question, { id });
  return world.call(as, endpoint.method, path, { scopes, ...more, ...asked, headers: { ...asked.headers, ...more.headers } });
};
/** The first of its questions. */
const firstOf = (row: Row): readonly [Row, Asked] => {
  const question = row.probe.about?.[0];
  assert.ok(question, nameOf(row));
  return [row, question];
};

test("eve gets of every acme id exactly what she gets of an id that never was", async (t) => {
  const world = await servedWorld(t, await testDatabase(t, graphModules));
  const held = await world.call("service:crud", "POST", `${DELEGATIONS}/reservations`, {
    body: {
      call_id: "acme-call",
      user_id: "person:ben",
      agent_id: "agent:hr-assistant",
      tool_id: "people.demo.list_employees",
      usd: 0.01,
    },
  });
  const { body: made } = await world.call("ben", "POST", DELEGATIONS, {
    body: { agent_id: "agent:hr-assistant", capabilities: [], budget_usd: 0, max_steps: 1, purpose: "acme only" },
    headers: { "idempotency-key": "acme-key" },
  });
  // The two that she may have: of those made below none would be like the other.
  for (const name of ["one", "two"]) await world.call("eve", "POST", "/api/v1/scim-tokens", { body: { name }, scopes });
  const nodes = await world.sql<{ id: string }>(
    "select id from membership.node where tenant_id = 'tenant:acme' and kind in ('Person', 'Account', 'AIAgent', 'Group', 'Tenant', 'Resource')",
  );
  const ids = [
    ...nodes.map(({ id }) => id),
    "memory.demo.read_graph",
    "delegation:ben-hr",
    "delegation:cleo-rep",
    "delegation:ben-old",
    made.delegation_id as string,
    held.body.reservation_id as string,
    "acme-call",
  ];
  assert.ok(ids.length > 25);
  const shown = (reply: Reply, id: string): unknown => {
    const text = JSON.stringify([
      reply.status,
      reply.body,
      [...reply.headers].filter(([name]) => name !== "x-correlation-id" && name !== "etag" && name !== "date"),
    ]);
    return text
      .replaceAll(id, "ID")
      .replaceAll(/"correlation_id":"[^"]*"/g, "")
      .replaceAll(/d_[0-9]+/g, "d");
  };
  for (const row of rows)
    for (const question of row.probe.about ?? []) {
      // Of the same shape as what it stands for: a delegation, a reservation, or any other id.
      const never = (id: string): string => (/^[0-9a-f-]{36}$/.test(id) ? nobody : `nobody:${"x".repeat(Math.max(1, id.length - 7))}`);
      for (const id of ids) {
        const foreign = await send(world, "eve", [row, question], id);
        const absent = await send(world, "eve", [row, question], never(id));
        assert.equal(shown(foreign, id), shown(absent, never(id)), `${nameOf(row)} of ${id}`);
        assert.equal(
          JSON.stringify(foreign.body ?? null)
            .replaceAll(id, "")
            .includes("acme"),
          false,
          `${nameOf(row)} of ${id} speaks of acme`,
        );
      }
    }
  assert.deepEqual(
    await world.sql("select status from membership.delegation where id = 'delegation:ben-hr'"),
    [{ status: "active" }],
    "and nothing was done",
  );
});

test("every endpoint but health is served, and refuses a call without token, with a stranger's, or without scope", async (t) => {
  const world = await servedWorld(t, await testDatabase(t, graphModules));
  const stranger = testIdentity();
  const foreignToken = await stranger.tokenFor({ sub: "person:ben", tenant: "tenant:acme", scopes });
  for (const row of rows) {
    const question = firstOf(row);
    const { endpoint } = row;
    if (endpoint.auth === "none") continue;
    const name = nameOf(row);
    const without = await send(world, undefined, question, "person:ben");
    assert.deepEqual([name, without.status, without.headers.has("www-authenticate")], [name, 401, true]);
    const forged = await send(world, undefined, question, "person:ben", { headers: { authorization: `Bearer ${foreignToken}` } });
    assert.deepEqual([name, forged.status], [name, 401]);
    const unscoped = await send(world, "ben", question, "person:ben", { scopes: ["mcp.tools.invoke"] });
    assert.deepEqual([name, unscoped.status, unscoped.body.code], [name, 403, "insufficient_scope"]);
    assert.ok((endpoint.scope ?? []).length > 0, `${name} names its scope`);
  }
});

/** Of whom, or of what, an endpoint is asked where its decision is looked at: something that is there. */
const aboutWhom = ({ endpoint: { path }, probe }: Row): string =>
  probe.whom ?? (path.includes("{id}") ? "delegation:cleo-rep" : path.startsWith(NODES) ? "person:cleo" : "agent:hr-assistant");

test("an endpoint that names a decision asks for it, and is refused when it is denied or cannot be had", async (t) => {
  const deny = await servedWorld(t, await testDatabase(t, graphModules), { rule: () => "not_granted" });
  for (const row of rows.filter(({ endpoint }) => endpoint.decision !== undefined)) {
    const { endpoint } = row;
    const before = deny.asked.length;
    const reply = await send(deny, "ben", firstOf(row), aboutWhom(row));
    assert.deepEqual([nameOf(row), reply.status, reply.body.code, reply.body.reason], [nameOf(row), 403, "access_denied", "not_granted"]);
    const pair = deny.asked.slice(before).map(({ type, action }) => `${type}/${action}`);
    assert.ok(endpoint.decision !== undefined && pair.includes(endpoint.decision), `${nameOf(row)} asked ${pair.join()}`);
  }
});

test("without decisions nothing that needs one is done, and what decisions rest on still answers", async (t) => {
  const world = await servedWorld(t, await testDatabase(t, graphModules), {
    rule: () => {
      throw new Problem("decision_unavailable");
    },
  });
  for (const row of rows) {
    const { endpoint } = row;
    const as = endpoint.decision === undefined ? "service:crud" : "ben";
    const reply = await send(world, as, firstOf(row), endpoint.path.includes("reservations/") ? nobody : aboutWhom(row));
    if (endpoint.decision !== undefined)
      assert.deepEqual([nameOf(row), reply.status, reply.body.code], [nameOf(row), 503, "decision_unavailable"]);
    else assert.ok(reply.status < 500, nameOf(row));
  }
});
