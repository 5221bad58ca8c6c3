import assert from "node:assert/strict";
import { test } from "node:test";
import type { z } from "zod";
import type { Endpoint } from "#contract/endpoint.ts";
import { endpointTable } from "#contract/endpoints.ts";
import { Problem } from "#contract/problem.ts";
import { testDatabase } from "#testing/database.ts";
import { testIdentity } from "#testing/identity.ts";
import { graphModules, servedWorld, type CallMore, type Reply, type ServedWorld } from "#testing/membership.ts";

type AnyEndpoint = Endpoint<z.ZodType, z.ZodType, z.ZodType, z.ZodType>;
const endpoints: readonly AnyEndpoint[] = endpointTable.map(({ endpoint }) => endpoint).filter(({ service }) => service === "membership");
const nameOf = (endpoint: AnyEndpoint): string => `${endpoint.method} ${endpoint.path}`;

/** How each endpoint is asked about an id; every place where an id can stand. */
interface Question {
  readonly path: (id: string) => string;
  readonly body?: (id: string) => unknown;
  readonly headers?: Readonly<Record<string, string>>;
}
const e = encodeURIComponent;
const at = (path: (id: string) => string, more: Omit<Question, "path"> = {}): Question => ({ path, ...more });
const PIP = "/api/v1/pip/membership";
const NODES = "/api/v1/identity_nodes";
const DELEGATIONS = "/api/v1/delegations";
const LIMITS = "/api/v1/budget-limits";
const MCP = "/api/v1/mcp";
const AGENTS = "/api/v1/agent/agents";
const EDGE = "/api/v1/edges/{kind}/{src}/{dst}";
const key = (): Record<string, string> => ({ "idempotency-key": crypto.randomUUID() });
const reason = () => ({ reason: "looking around" });
const draft = (id: string) => ({ agent_id: id, capabilities: [], budget_usd: 0, max_steps: 1, purpose: "looking around" });
const ask = (more: Record<string, unknown>) => ({
  call_id: crypto.randomUUID(),
  user_id: "person:eve",
  agent_id: "agent:none",
  tool_id: "people.demo.list_employees",
  usd: 0,
  ...more,
});
const issuer = "https://issuer.example";
const LINKS = "/api/v1/identity-links";
const CREDENTIALS = "/api/v1/credentials";
const BINDINGS = "/api/v1/policy-bindings";
const RULES = "/api/v1/data-scope-rules";
const settle = () => ({ usd: 0, steps: 1, outcome: "ok" });
const nobody = "00000000-0000-4000-8000-000000000000";

const questions: Readonly<Record<string, readonly Question[]>> = {
  [`GET ${PIP}/capabilities`]: [
    at((id) => `${PIP}/capabilities?user_id=${e(id)}`),
    at((id) => `${PIP}/capabilities?user_id=person:eve&agent_id=${e(id)}`),
  ],
  [`GET ${PIP}/delegations`]: [
    at((id) => `${PIP}/delegations?user_id=${e(id)}`),
    at((id) => `${PIP}/delegations?user_id=person:eve&agent_id=${e(id)}`),
  ],
  [`GET ${PIP}/data-scope`]: [at((id) => `${PIP}/data-scope?subject_id=${e(id)}&resource_type=employee`)],
  [`GET ${PIP}/step-up`]: [at((id) => `${PIP}/step-up?subject_id=${e(id)}`)],
  [`GET ${PIP}/chain-eligibility`]: [
    at((id) => `${PIP}/chain-eligibility?user_id=${e(id)}&agent_id=agent:hr-assistant&tool_id=people.demo.get_employee`),
    at((id) => `${PIP}/chain-eligibility?user_id=person:eve&agent_id=${e(id)}&tool_id=people.demo.get_employee`),
    at((id) => `${PIP}/chain-eligibility?user_id=person:eve&agent_id=agent:hr-assistant&tool_id=${e(id)}`),
  ],
  [`POST ${PIP}/facts`]: [
    at(() => `${PIP}/facts`, {
      body: (id) => ({
        asks: [
          { subject_id: id, action: "view", resource: { type: "identities", external_id: id } },
          {
            subject_id: "person:eve",
            agent_ids: [id],
            action: "tools/call",
            resource: { type: "tool", external_id: id },
            delegation_id: id,
          },
          { subject_id: "person:eve", action: "view", resource: { type: "delegations", external_id: id } },
          { subject_id: "person:eve", action: "create", resource: { type: "delegations", external_id: id } },
        ],
      }),
    }),
  ],
  [`POST ${PIP}/candidates`]: [
    at(() => `${PIP}/candidates`, { body: (id) => ({ of: "subject", type: "identity", action: "view", tenant_id: id, limit: 100 }) }),
    at(() => `${PIP}/candidates`, { body: (id) => ({ of: "resource", type: "identities", action: "view", tenant_id: id, limit: 100 }) }),
    at(() => `${PIP}/candidates`, { body: (id) => ({ of: "resource", type: id, action: "view", limit: 100 }) }),
  ],
  [`POST ${PIP}/facts-if`]: [
    at(() => `${PIP}/facts-if`, {
      body: (id) => ({
        asks: [{ subject_id: id, action: "view", resource: { type: "identities", external_id: id } }],
        tenant_id: id,
        add: [],
        remove: [],
        reach: { subject_id: id },
      }),
    }),
    at(() => `${PIP}/facts-if`, {
      body: (id) => ({
        asks: [],
        tenant_id: "tenant:globex",
        add: [{ kind: "MEMBER_OF", from: "account:eve@globex", to: id }],
        remove: [{ kind: "MEMBER_OF", from: id, to: id }],
      }),
    }),
  ],
  [`GET ${LIMITS}`]: [at(() => LIMITS)],
  [`PUT ${LIMITS}`]: [
    at(() => LIMITS, { body: (id) => ({ scope: "user", node_id: id, period: "daily", limit_usd: 1 }) }),
    at(() => LIMITS, { body: (id) => ({ scope: "team", node_id: id, period: "daily", limit_usd: 1 }) }),
    at(() => LIMITS, { body: (id) => ({ scope: "tenant", node_id: id, period: "daily", limit_usd: 1 }) }),
    at(() => LIMITS, { body: (id) => ({ scope: "user", node_id: "person:eve", agent_id: id, period: "daily", limit_usd: 1 }) }),
  ],
  [`DELETE ${LIMITS}/{id}`]: [at((id) => `${LIMITS}/${e(id.slice(0, 64))}`)],
  "GET /api/v1/budgets/snapshot": [
    at((id) => `/api/v1/budgets/snapshot?user_id=${e(id)}&tenant_id=tenant:acme&scope=user`),
    at((id) => `/api/v1/budgets/snapshot?user_id=person:eve&tenant_id=${e(id)}&scope=tenant`),
  ],
  [`GET ${NODES}/search`]: [at((id) => `${NODES}/search?search=${e(id)}`), at((id) => `${NODES}/search?system=${e(id)}`)],
  [`GET ${NODES}/search/with-metadata`]: [at((id) => `${NODES}/search/with-metadata?search=${e(id)}`)],
  [`GET ${NODES}/count`]: [at((id) => `${NODES}/count?search=${e(id)}`)],
  [`GET ${NODES}/fulltext-search`]: [
    at((id) => `${NODES}/fulltext-search?node_type=AIAgent&q=${e(id)}`),
    at((id) => `${NODES}/fulltext-search?q=x&system=${e(id)}`),
  ],
  [`GET ${NODES}/systems`]: [at(() => `${NODES}/systems`)],
  [`GET ${NODES}/stats/types`]: [at(() => `${NODES}/stats/types`)],
  [`GET ${NODES}/{node_id}`]: [at((id) => `${NODES}/${e(id)}`)],
  [`GET ${NODES}/{node_id}/relationships`]: [at((id) => `${NODES}/${e(id)}/relationships`)],
  "GET /api/v1/shortest-path": [
    at((id) => `/api/v1/shortest-path?from=person:eve&to=${e(id)}`),
    at((id) => `/api/v1/shortest-path?from=${e(id)}&to=person:eve`),
  ],
  "GET /api/v1/graph/version": [at(() => "/api/v1/graph/version")],
  "GET /api/v1/graph/changes": [
    at((id) => `/api/v1/graph/changes?node_id=${e(id)}&limit=500`),
    at((id) => `/api/v1/graph/changes?actor=${e(id)}`),
  ],
  "PUT /api/v1/nodes/{id}": [
    at((id) => `/api/v1/nodes/${e(id)}`, { body: () => ({ kind: "Group", name: "x" }), headers: { "if-match": '"1"' } }),
  ],
  "PATCH /api/v1/nodes/{id}": [at((id) => `/api/v1/nodes/${e(id)}`, { body: () => ({ name: "x" }), headers: { "if-match": '"1"' } })],
  "DELETE /api/v1/nodes/{id}": [at((id) => `/api/v1/nodes/${e(id)}?cascade=true`, { headers: { "if-match": '"1"' } })],
  [`GET ${EDGE}`]: [
    at((id) => `/api/v1/edges/MEMBER_OF/${e(id)}/group:people-ops`),
    at((id) => `/api/v1/edges/MEMBER_OF/account:ben@acme/${e(id)}`),
  ],
  [`PUT ${EDGE}`]: [
    at((id) => `/api/v1/edges/MEMBER_OF/${e(id)}/group:globex-staff`, { body: () => ({}) }),
    at((id) => `/api/v1/edges/MEMBER_OF/account:eve@globex/${e(id)}`, { body: () => ({}) }),
    at((id) => `/api/v1/edges/MEMBER_OF/${e(id)}/group:globex-staff`, { body: () => ({}), headers: { "if-match": '"1"' } }),
  ],
  [`DELETE ${EDGE}`]: [
    at((id) => `/api/v1/edges/MEMBER_OF/${e(id)}/group:people-ops`),
    at((id) => `/api/v1/edges/MEMBER_OF/account:ben@acme/${e(id)}`),
  ],
  "POST /api/v1/graph/changes": [
    at(() => "/api/v1/graph/changes", {
      body: (id) => ({ changes: [{ op: "drop_node", id, cascade: true }], ...reason() }),
      headers: key(),
    }),
    at(() => "/api/v1/graph/changes", {
      body: (id) => ({ changes: [{ op: "put_edge", edge: { kind: "MEMBER_OF", src: "account:eve@globex", dst: id } }], ...reason() }),
      headers: key(),
    }),
  ],
  [`POST ${MCP}/services`]: [at(() => `${MCP}/services`, { body: (id) => ({ name: "walled", service_type: "mcp", owner_id: id }) })],
  [`GET ${MCP}/services`]: [at((id) => `${MCP}/services?search=${e(id)}`), at((id) => `${MCP}/services?provider=${e(id)}`)],
  [`GET ${MCP}/services/{service_id}`]: [at((id) => `${MCP}/services/${e(id)}`)],
  [`GET ${MCP}/services/by-name/{name}`]: [at((id) => `${MCP}/services/by-name/${e(id)}`)],
  [`DELETE ${MCP}/services/{service_id}`]: [at((id) => `${MCP}/services/${e(id)}?force=true`)],
  [`POST ${MCP}/services/{service_id}/tools`]: [at((id) => `${MCP}/services/${e(id)}/tools`, { body: () => ({ name: "x" }) })],
  [`GET ${MCP}/services/{service_id}/tools`]: [at((id) => `${MCP}/services/${e(id)}/tools`)],
  [`GET ${MCP}/tools/{tool_id}`]: [at((id) => `${MCP}/tools/${e(id)}`)],
  [`GET ${MCP}/tools/by-name/{tool_name}`]: [at((id) => `${MCP}/tools/by-name/${e(id)}`)],
  [`DELETE ${MCP}/tools/{tool_id}`]: [at((id) => `${MCP}/tools/${e(id)}`), at((id) => `${MCP}/tools/${e(id)}?purge=true`)],
  [`POST ${MCP}/tools/affected`]: [
    at(() => `${MCP}/tools/affected`, { body: (id) => ({ tools: [{ tool_id: id, definition_digest: null }] }) }),
  ],
  [`POST ${MCP}/tools/retire`]: [at(() => `${MCP}/tools/retire`, { body: (id) => ({ tool_ids: [id] }) })],
  [`POST ${MCP}/services/{service_id}/resources`]: [at((id) => `${MCP}/services/${e(id)}/resources`, { body: () => ({ uri: "x:1" }) })],
  [`POST ${MCP}/services/{service_id}/prompts`]: [at((id) => `${MCP}/services/${e(id)}/prompts`, { body: () => ({ name: "x" }) })],
  "PUT /api/v1/agent/agents/{agent_id}/control": [
    at((id) => `${AGENTS}/${e(id)}/control`, { body: () => ({ controller_id: "person:eve" }) }),
  ],
  "GET /api/v1/agent/agents/{agent_id}/controllers": [at((id) => `${AGENTS}/${e(id)}/controllers`)],
  "DELETE /api/v1/agent/agents/{agent_id}/control": [
    at((id) => `${AGENTS}/${e(id)}/control?force=true`),
    at((id) => `${AGENTS}/agent:none/control?controller_id=${e(id)}`),
  ],
  "POST /api/v1/resources/{resource_id}/owners": [
    at((id) => `/api/v1/resources/${e(id)}/owners`, { body: () => ({ owner_identity_id: "person:eve" }) }),
    at(() => "/api/v1/resources/people.demo/owners", { body: (id) => ({ owner_identity_id: id }) }),
  ],
  "GET /api/v1/resources/{resource_id}/owners": [at((id) => `/api/v1/resources/${e(id)}/owners`)],
  "POST /api/v1/rtrs/assign": [
    at(() => "/api/v1/rtrs/assign", { body: (id) => ({ actor_label: "Identity", actor_id: id, resource_id: "x:1", rtr: "x" }) }),
    at(() => "/api/v1/rtrs/assign", { body: (id) => ({ actor_label: "Person", actor_id: "person:eve", resource_id: id, rtr: "x" }) }),
    at(() => "/api/v1/rtrs/assign", { body: (id) => ({ actor_label: "Person", actor_id: "person:eve", resource_id: "x:1", rtr: id }) }),
  ],
  [`POST ${AGENTS}/{agent_id}/suspend`]: [at((id) => `${AGENTS}/${e(id)}/suspend`, { body: reason })],
  [`POST ${AGENTS}/{agent_id}/resume`]: [at((id) => `${AGENTS}/${e(id)}/resume`, { body: reason })],
  [`GET ${AGENTS}/{agent_id}/impact`]: [at((id) => `${AGENTS}/${e(id)}/impact`)],
  [`GET ${AGENTS}/{agent_id}/effective-tools`]: [
    at((id) => `${AGENTS}/${e(id)}/effective-tools`),
    at((id) => `${AGENTS}/agent:none/effective-tools?user_id=${e(id)}`),
  ],
  "DELETE /api/v1/resources/{resource_id}/owners/{owner_id}": [
    at((id) => `/api/v1/resources/${e(id)}/owners/person:eve`),
    at((id) => `/api/v1/resources/people.demo/owners/${e(id)}`),
  ],
  "GET /api/v1/rtrs/assignments": [
    at((id) => `/api/v1/rtrs/assignments?actor_id=${e(id)}`),
    at((id) => `/api/v1/rtrs/assignments?resource_id=${e(id)}`),
  ],
  "DELETE /api/v1/rtrs/assignments/{assignment_id}": [at((id) => `/api/v1/rtrs/assignments/${e(id)}`)],
  [`GET ${MCP}/services/{service_id}/resources`]: [at((id) => `${MCP}/services/${e(id)}/resources`)],
  [`GET ${MCP}/services/{service_id}/prompts`]: [at((id) => `${MCP}/services/${e(id)}/prompts`)],
  "GET /api/v1/node-label-counts": [at(() => "/api/v1/node-label-counts")],
  "GET /api/v1/relationship-type-counts": [at(() => "/api/v1/relationship-type-counts")],
  "GET /api/v1/orphan-node-counts": [at(() => "/api/v1/orphan-node-counts?sample=50")],
  "GET /api/v1/relationship-connections": [at((id) => `/api/v1/relationship-connections?start_id=${e(id)}`)],
  "GET /api/v1/related-nodes": [at((id) => `/api/v1/related-nodes?hops=4&id=${e(id)}`)],
  "GET /api/v1/diagnostics/index": [at(() => "/api/v1/diagnostics/index")],
  "POST /api/v1/imports": [
    at(() => "/api/v1/imports?reason=looking%20around", {
      body: (id) => `${JSON.stringify({ drop: { node: id } })}\n`,
      headers: { ...key(), "content-type": "application/x-ndjson" },
    }),
    at(() => "/api/v1/imports?reason=looking%20around", {
      body: (id) => `${JSON.stringify({ edge: { kind: "MEMBER_OF", src: "account:eve@globex", dst: id } })}\n`,
      headers: { ...key(), "content-type": "application/x-ndjson" },
    }),
    ...["skip", "fail"].map((mode) =>
      at(() => `/api/v1/imports?reason=looking%20around&on_conflict=${mode}`, {
        body: (id) => `${JSON.stringify({ edge: { kind: "MEMBER_OF", src: id, dst: "group:people-ops" } })}\n`,
        headers: { ...key(), "content-type": "application/x-ndjson" },
      }),
    ),
  ],
  "GET /api/v1/export": [at(() => "/api/v1/export?kinds=Location")],
  "GET /api/v1/health": [at(() => "/api/v1/health")],
  [`POST ${DELEGATIONS}`]: [
    at(() => DELEGATIONS, { body: draft, headers: key() }),
    at(() => DELEGATIONS, { body: (id) => ({ ...draft("agent:none"), parent_id: id }), headers: key() }),
  ],
  [`GET ${DELEGATIONS}`]: [
    at((id) => `${DELEGATIONS}?user_id=${e(id)}`),
    at((id) => `${DELEGATIONS}?whose=all&agent_id=${e(id)}`),
    at((id) => `${DELEGATIONS}?whose=all&parent_id=${e(id)}`),
  ],
  [`GET ${DELEGATIONS}/{id}`]: [at((id) => `${DELEGATIONS}/${e(id)}`)],
  [`PATCH ${DELEGATIONS}/{id}`]: [
    at((id) => `${DELEGATIONS}/${e(id)}`, { body: () => ({ purpose: "Another one" }), headers: { "if-match": '"1"' } }),
  ],
  [`POST ${DELEGATIONS}/{id}/revoke`]: [at((id) => `${DELEGATIONS}/${e(id)}/revoke`, { body: reason })],
  [`POST ${DELEGATIONS}/{id}/pause`]: [at((id) => `${DELEGATIONS}/${e(id)}/pause`, { body: reason })],
  [`POST ${DELEGATIONS}/{id}/resume`]: [at((id) => `${DELEGATIONS}/${e(id)}/resume`, { body: reason, headers: { "if-match": '"1"' } })],
  [`POST ${DELEGATIONS}/revoke-many`]: [
    at(() => `${DELEGATIONS}/revoke-many`, { body: (id) => ({ agent_id: id, mode: "revoke", ...reason() }), headers: key() }),
    at(() => `${DELEGATIONS}/revoke-many`, { body: (id) => ({ delegator_id: id, mode: "pause", ...reason() }), headers: key() }),
  ],
  [`POST ${DELEGATIONS}/what-if`]: [
    at(() => `${DELEGATIONS}/what-if`, { body: draft }),
    at(() => `${DELEGATIONS}/what-if`, { body: (id) => ({ revoke: id }) }),
    at(() => `${DELEGATIONS}/what-if`, { body: (id) => ({ id, patch: { max_steps: 1 } }) }),
  ],
  [`GET ${DELEGATIONS}/{id}/impact`]: [at((id) => `${DELEGATIONS}/${e(id)}/impact`)],
  [`GET ${DELEGATIONS}/{id}/usage`]: [at((id) => `${DELEGATIONS}/${e(id)}/usage`)],
  [`GET ${DELEGATIONS}/{id}/history`]: [at((id) => `${DELEGATIONS}/${e(id)}/history`)],
  [`POST ${DELEGATIONS}/reservations`]: [
    at(() => `${DELEGATIONS}/reservations`, { body: (id) => ask({ user_id: id, agent_id: "agent:hr-assistant" }) }),
    at(() => `${DELEGATIONS}/reservations`, { body: (id) => ask({ agent_id: id }) }),
    at(() => `${DELEGATIONS}/reservations`, {
      body: (id) => ask({ user_id: "person:ben", agent_id: "agent:hr-assistant", delegation_id: id }),
    }),
  ],
  [`GET ${DELEGATIONS}/reservations`]: [at((id) => `${DELEGATIONS}/reservations?call_id=${e(id)}`)],
  [`POST ${DELEGATIONS}/reservations/{id}/settle`]: [at((id) => `${DELEGATIONS}/reservations/${e(id)}/settle`, { body: settle })],
  [`POST ${DELEGATIONS}/reservations/{id}/release`]: [at((id) => `${DELEGATIONS}/reservations/${e(id)}/release`)],
  [`POST ${DELEGATIONS}/reservations/{id}/extend`]: [
    at((id) => `${DELEGATIONS}/reservations/${e(id)}/extend`, { body: () => ({ ttl_s: 60 }) }),
  ],
  "POST /api/v1/sign-ins": [at(() => "/api/v1/sign-ins", { body: (id) => ({ issuer, subject: id }) })],
  [`GET ${LINKS}`]: [at((id) => `${LINKS}?person_id=${e(id)}`), at((id) => `${LINKS}?subject=${e(id)}`)],
  [`POST ${LINKS}`]: [at(() => LINKS, { body: (id) => ({ issuer, subject: "somebody", person_id: id, ...reason() }) })],
  [`DELETE ${LINKS}/{link_id}`]: [at((id) => `${LINKS}/${e(id)}?reason=looking`)],
  [`GET ${CREDENTIALS}`]: [at((id) => `${CREDENTIALS}?client_id=${e(id)}`)],
  [`POST ${CREDENTIALS}`]: [at(() => CREDENTIALS, { body: (id) => ({ client_id: id, scopes: ["mcp.tools.invoke"], ...reason() }) })],
  [`POST ${CREDENTIALS}/{credential_id}/rotate`]: [at((id) => `${CREDENTIALS}/${e(id)}/rotate`, { body: reason })],
  [`DELETE ${CREDENTIALS}/{credential_id}`]: [at((id) => `${CREDENTIALS}/${e(id)}?reason=looking`)],
  "GET /api/v1/roles/holders": [
    at((id) => `/api/v1/roles/holders?holder_id=${e(id)}`),
    at((id) => `/api/v1/roles/holders?role_id=${e(id)}`),
  ],
  [`GET ${BINDINGS}`]: [
    at((id) => `${BINDINGS}?target_id=${e(id)}`),
    at((id) => `${BINDINGS}?effective=true&target_id=${e(id)}`),
    at((id) => `${BINDINGS}?policy_id=${e(id)}`),
  ],
  [`POST ${BINDINGS}`]: [
    at(() => BINDINGS, { body: (id) => ({ target_id: id, policy_id: "policy:none" }), headers: key() }),
    at(() => BINDINGS, { body: (id) => ({ target_id: "people.demo.get_employee", policy_id: id }), headers: key() }),
  ],
  [`GET ${BINDINGS}/{binding_id}`]: [at((id) => `${BINDINGS}/${e(id)}`)],
  [`PUT ${BINDINGS}/{binding_id}`]: [at((id) => `${BINDINGS}/${e(id)}`, { body: () => ({}), headers: { "if-match": "*" } })],
  [`DELETE ${BINDINGS}/{binding_id}`]: [at((id) => `${BINDINGS}/${e(id)}`, { headers: { "if-match": "*" } })],
  [`GET ${RULES}`]: [at(() => RULES)],
  [`GET ${RULES}/{resource_type}`]: [at((id) => `${RULES}/${e(id.slice(0, 64))}`)],
  [`PUT ${RULES}/{resource_type}`]: [
    at(() => `${RULES}/walled`, { body: (id) => ({ own_groups: [id] }), headers: { "if-none-match": "*" } }),
  ],
  [`DELETE ${RULES}/{resource_type}`]: [at((id) => `${RULES}/${e(id.slice(0, 64))}`, { headers: { "if-match": "*" } })],
  "GET /api/v1/scim-tokens": [at(() => "/api/v1/scim-tokens")],
  "POST /api/v1/scim-tokens": [at(() => "/api/v1/scim-tokens", { body: (id) => ({ name: id }) })],
  "DELETE /api/v1/scim-tokens/{token_id}": [at((id) => `/api/v1/scim-tokens/${e(id)}`)],
  [`GET ${DELEGATIONS}/spend`]: [at((id) => `${DELEGATIONS}/spend?user_id=${e(id)}`)],
};

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
  endpoint: AnyEndpoint,
  question: Question,
  id: string,
  more: CallMore = {},
): Promise<Reply> =>
  world.call(as, endpoint.method, question.path(id), {
    ...(question.body === undefined ? {} : { body: question.body(id) }),
    scopes,
    ...more,
    headers: { ...question.headers, ...more.headers },
  });

test("there is a question for every endpoint of the contract", () => {
  assert.deepEqual(endpoints.map(nameOf).toSorted(), Object.keys(questions).toSorted());
});

test("eve gets of every acme id exactly what she gets of an id that never was", async (t) => {
  const world = await servedWorld(t, await testDatabase(t, graphModules));
  const held = await world.call("service:crud", "POST", `${DELEGATIONS}/reservations`, {
    body: ask({ call_id: "acme-call", user_id: "person:ben", agent_id: "agent:hr-assistant", usd: 0.01 }),
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
  for (const endpoint of endpoints)
    for (const question of questions[nameOf(endpoint)] ?? []) {
      // Of the same shape as what it stands for: a delegation, a reservation, or any other id.
      const never = (id: string): string => (/^[0-9a-f-]{36}$/.test(id) ? nobody : `nobody:${"x".repeat(Math.max(1, id.length - 7))}`);
      for (const id of ids) {
        const own = {
          headers: {
            ...(endpoint.path.endsWith("revoke-many") ||
            endpoint.path.endsWith("graph/changes") ||
            endpoint.path.endsWith("imports") ||
            endpoint.path === DELEGATIONS
              ? key()
              : {}),
          },
        };
        const foreign = await send(world, "eve", endpoint, question, id, own);
        const absent = await send(world, "eve", endpoint, question, never(id), {
          headers: own.headers.hasOwnProperty("idempotency-key") ? key() : {},
        });
        assert.equal(shown(foreign, id), shown(absent, never(id)), `${nameOf(endpoint)} of ${id}`);
        assert.equal(
          JSON.stringify(foreign.body ?? null)
            .replaceAll(id, "")
            .includes("acme"),
          false,
          `${nameOf(endpoint)} of ${id} speaks of acme`,
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
  for (const endpoint of endpoints) {
    const [question] = questions[nameOf(endpoint)] ?? [];
    assert.ok(question);
    if (endpoint.auth === "none") continue;
    const name = nameOf(endpoint);
    const without = await send(world, undefined, endpoint, question, "person:ben");
    assert.deepEqual([name, without.status, without.headers.has("www-authenticate")], [name, 401, true]);
    const forged = await send(world, undefined, endpoint, question, "person:ben", { headers: { authorization: `Bearer ${foreignToken}` } });
    assert.deepEqual([name, forged.status], [name, 401]);
    const unscoped = await send(world, "ben", endpoint, question, "person:ben", { scopes: ["mcp.tools.invoke"] });
    assert.deepEqual([name, unscoped.status, unscoped.body.code], [name, 403, "insufficient_scope"]);
    assert.ok((endpoint.scope ?? []).length > 0, `${name} names its scope`);
  }
});

/** Of whom, or of what, an endpoint is asked where its decision is looked at: something that is there. */
const aboutWhom = ({ path }: { readonly path: string }): string =>
  path.includes("{id}") ? "delegation:cleo-rep" : path.startsWith(NODES) ? "person:cleo" : "agent:hr-assistant";

test("an endpoint that names a decision asks for it, and is refused when it is denied or cannot be had", async (t) => {
  const deny = await servedWorld(t, await testDatabase(t, graphModules), { rule: () => "not_granted" });
  for (const endpoint of endpoints.filter(({ decision }) => decision !== undefined)) {
    const [question] = questions[nameOf(endpoint)] ?? [];
    assert.ok(question);
    const before = deny.asked.length;
    const reply = await send(deny, "ben", endpoint, question, aboutWhom(endpoint));
    assert.deepEqual(
      [nameOf(endpoint), reply.status, reply.body.code, reply.body.reason],
      [nameOf(endpoint), 403, "access_denied", "not_granted"],
    );
    const pair = deny.asked.slice(before).map(({ type, action }) => `${type}/${action}`);
    assert.ok(endpoint.decision !== undefined && pair.includes(endpoint.decision), `${nameOf(endpoint)} asked ${pair.join()}`);
  }
});

test("without decisions nothing that needs one is done, and what decisions rest on still answers", async (t) => {
  const world = await servedWorld(t, await testDatabase(t, graphModules), {
    rule: () => {
      throw new Problem("decision_unavailable");
    },
  });
  for (const endpoint of endpoints) {
    const [question] = questions[nameOf(endpoint)] ?? [];
    assert.ok(question);
    const reply = await send(
      world,
      endpoint.decision === undefined ? "service:crud" : "ben",
      endpoint,
      question,
      endpoint.path.includes("reservations/") ? nobody : aboutWhom(endpoint),
    );
    if (endpoint.decision !== undefined)
      assert.deepEqual([nameOf(endpoint), reply.status, reply.body.code], [nameOf(endpoint), 503, "decision_unavailable"]);
    else assert.ok(reply.status < 500, nameOf(endpoint));
  }
});

test("a write of what is no part of the graph names the version of the graph too", async (t) => {
  const world = await servedWorld(t, await testDatabase(t, graphModules));
  const version = String((await world.reader.version()).version);
  const write = async (method: string, path: string, body?: object, headers: Record<string, string> = {}) => {
    const reply = await world.call("ada", method, path, { scopes, headers, ...(body === undefined ? {} : { body }) });
    assert.deepEqual(
      [method, path, reply.status < 300, reply.headers.get("x-graph-version")],
      [method, path, true, version],
      JSON.stringify(reply.body),
    );
    return reply.body;
  };
  await write("PUT", `${RULES}/invoice`, {}, { "if-none-match": "*" });
  await write("DELETE", `${RULES}/invoice`, undefined, { "if-match": "*" });
  const { credential_id } = await write("POST", CREDENTIALS, { client_id: "agent:reporter" });
  const next = await write("POST", `${CREDENTIALS}/${credential_id}/rotate`, {});
  await write("DELETE", `${CREDENTIALS}/${next.credential_id}`);
  const { link_id } = await write("POST", LINKS, { issuer, subject: "ian-1", person_id: "person:ben", reason: "He showed his passport" });
  await write("DELETE", `${LINKS}/${link_id}`);
  const { token_id } = await write("POST", "/api/v1/scim-tokens", { name: "Directory" });
  await write("DELETE", `/api/v1/scim-tokens/${token_id}`);
});
