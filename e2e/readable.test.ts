import assert from "node:assert/strict";
import { before, describe, test } from "node:test";
import type { EvaluationReply } from "#contract/authzen.ts";
import { endpointTable, type EndpointRow } from "#contract/endpoints.ts";
import { portOffsets } from "#app/addresses.ts";
import { sampleOf, samples, schemaOf, type Json } from "#testing/contract-samples.ts";
import { sharedInFile } from "#testing/shared.ts";
import { signInPerson } from "./sign-in.ts";
import { startTestInstance } from "./test-instance.ts";
import { fetchToken } from "./tokens.ts";

type Headers = Readonly<Record<string, string>>;
type Parameters = Readonly<Record<string, string>>;

const openapi = JSON.stringify({
  openapi: "3.1.0",
  info: { title: "Things", version: "1" },
  servers: [{ url: "https://things.example.com" }],
  paths: { "/things": { get: { operationId: "list_things", responses: { 200: { description: "Things." } } } } },
});

const instance = sharedInFile(async (t) => {
  const started = await startTestInstance();
  t.after(() => started.stop());
  const { port, origin } = started;
  const bearer = async (user: string, acr?: "strong"): Promise<Headers> => ({
    authorization: `Bearer ${await fetchToken(port, { user, ...(acr === undefined ? {} : { acr }) })}`,
  });
  const [ada, ben, cleo] = await Promise.all([bearer("ada", "strong"), bearer("ben"), bearer("cleo")]);
  return { port, ada, ben, cleo, session: (await signInPerson(origin, "ada")).headers };
});
type Instance = Awaited<ReturnType<typeof instance>>;

const send = async (
  { port, ada }: Instance,
  service: keyof typeof portOffsets,
  path: string,
  more: { readonly as?: Headers; readonly method?: string; readonly body?: unknown; readonly text?: string } = {},
) => {
  const body = more.text ?? (more.body === undefined ? undefined : JSON.stringify(more.body));
  const response = await fetch(`http://localhost:${port + portOffsets[service]}${path}`, {
    method: more.method ?? (body === undefined ? "GET" : "POST"),
    headers: { "content-type": "application/json", "idempotency-key": crypto.randomUUID(), ...(more.as ?? ada) },
    ...(body === undefined ? {} : { body }),
  });
  const text = await response.text();
  assert.ok(response.ok, `${path}: ${response.status} ${text}`);
  // oxlint-disable-next-line typescript/no-explicit-any -- a test looks into what it expects
  return JSON.parse(text) as any;
};

/** Makes, or looks up, what there is to be read. */
const makeOne: Readonly<Record<string, (at: Instance) => Promise<string>>> = {
  accessRequest: async (at) => {
    const question = {
      subject: { type: "identity", id: "person:cleo" },
      action: { name: "view" },
      resource: { type: "pages", id: "operations" },
    };
    const { context } = (await send(at, "gateway", "/access/v1/evaluation", { as: at.cleo, body: question })) as EvaluationReply;
    const { expires_at, binding_token } = context?.access_request ?? {};
    const denial = { evaluation_id: context?.evaluation_id, expires_at, binding_token };
    return (await send(at, "gateway", "/access/v1/requests", { as: at.cleo, body: { ...question, denial } })).task.id;
  },
  binding: async (at) => {
    const node = { id: "policy:read", kind: "Policy", name: "policy:read", props: { rev: "1", uri: "cedar:read" } };
    await send(at, "membership", "/api/v1/graph/changes", { body: { changes: [{ op: "put_node", node }], reason: "For a test" } });
    const body = { target_id: "memory.demo.read_graph", policy_id: node.id };
    return (await send(at, "membership", "/api/v1/policy-bindings", { body })).id;
  },
  decision: async (at) => (await send(at, "pdp", "/access/v1/decisions?whose=own")).decisions[0].decision_id,
  importId: async (at) => (await send(at, "crud", "/config/imports/openapi?provider=things&instance=read", { text: openapi })).import_id,
  killSwitch: async (at) =>
    (await send(at, "crud", "/config/kill-switches/view:people", { method: "PUT", body: { reason: "For a test" } })).scope,
  policy: async (at) => (await send(at, "pdp", "/access/v1/policies")).policies[0].id,
  replay: async (at) => {
    const { version } = await send(at, "pdp", "/access/v1/policies");
    return (await send(at, "pdp", "/access/v1/policies/replay", { body: { version, filter: {}, limit: 1 } })).replay_id;
  },
  service: async (at) => (await send(at, "membership", "/api/v1/mcp/services")).services[0].id,
  version: async (at) => (await send(at, "pdp", "/access/v1/policies")).version,
};

type Asked = {
  readonly as?: "ada" | "ben" | "cleo";
  readonly query?: Parameters;
  readonly params?: Parameters;
  readonly one?: readonly [string, keyof typeof makeOne];
};
const system: Asked = { params: { name: "people.demo", version: "1" } };
const delegation: Asked = { as: "ben", params: { id: "delegation:ben-hr" } };
const agent: Asked = { params: { agent_id: "agent:hr-assistant" }, query: { user_id: "person:ben" } };
const node: Asked = { params: { node_id: "person:ben" }, query: { id: "person:ben", start_id: "person:ben" } };
const tool: Asked = { params: { tool: "memory.demo.read_graph", tool_id: "memory.demo.read_graph", tool_name: "memory.demo.read_graph" } };
const registered: Asked = { one: ["service_id", "service"] };
const rollout: Asked = { one: ["version", "version"] };

/** What an endpoint is asked for, where the least that it takes is nothing that is there. */
const rows: Readonly<Record<string, Asked>> = {
  getAccessRequest: { as: "cleo", one: ["id", "accessRequest"] },
  diffSystem: { ...system, query: { from: "1", to: "1" } },
  diffToolsDocument: { query: { from: "1", to: "1" } },
  readSystem: system,
  systemVersion: system,
  systemVersions: system,
  toolsDocumentVersion: { params: { version: "1" } },
  importedOperations: { one: ["id", "importId"] },
  readKillSwitch: { one: ["scope", "killSwitch"] },
  getDataScopeRule: { params: { resource_type: "employee" } },
  getDecision: { one: ["id", "decision"] },
  readDefinition: tool,
  delegationHistory: delegation,
  delegationImpact: delegation,
  delegationUsage: delegation,
  getDelegation: delegation,
  relatedNodes: node,
  relationshipConnections: node,
  readEventSchema: { params: { type: "config.published.v1" } },
  agentImpact: agent,
  effectiveTools: agent,
  listControllers: agent,
  listOwners: { params: { resource_id: "resource:acme.secret.people.demo" } },
  getGraphEdge: { params: { kind: "MEMBER_OF", src: "account:ben@acme", dst: "group:people-ops" } },
  getNode: node,
  getRelationships: node,
  shortestPath: { query: { from: "person:ben", to: "group:people-ops" } },
  readPolicy: { one: ["id", "policy"] },
  getPolicyBinding: { one: ["binding_id", "binding"] },
  getMcpService: registered,
  getMcpServiceByName: { one: ["name", "service"] },
  getMcpTool: tool,
  getMcpToolByName: tool,
  listMcpPrompts: registered,
  listMcpResources: registered,
  listMcpTools: registered,
  readReplay: { one: ["id", "replay"] },
  readRollout: rollout,
  rolloutDifferences: rollout,
  rolloutMatrix: rollout,
  explainTool: { query: { tool: "system.health" } },
  listViewTools: { params: { view: "workflows" } },
};

/** Read by nobody of the demo. */
const unread: Readonly<Record<string, string>> = {
  budgetSnapshot: "asked by the decision point alone, with its own key",
  findReservation: "asked by the tool server alone, with its own key",
  spend: "asked by the gateway alone, with its own key",
  describeSecret: "the demo's secrets lie in a file, which keeps no versions",
  listSecretVersions: "the demo's secrets lie in a file, which keeps no versions",
};

const read = async (at: Instance, { name, endpoint }: EndpointRow): Promise<readonly string[]> => {
  const { as, query = {}, params = {}, one } = rows[name] ?? {};
  const made = one === undefined ? {} : { [one[0]]: (await makeOne[one[1]]?.(at)) ?? "" };
  const least = endpoint.query === undefined ? {} : ((samples[name] ?? sampleOf(schemaOf(endpoint.query), "")) as Json);
  const known = new Set(Object.keys(endpoint.query === undefined ? {} : (schemaOf(endpoint.query).properties ?? {})));
  const asked = new URLSearchParams(
    Object.entries({ ...least, ...query }).flatMap(([key, value]) => (known.has(key) ? [[key, String(value)]] : [])),
  );
  const path = endpoint.path.replaceAll(/\{([^}]+)\}/g, (_all, param: string) => encodeURIComponent({ ...params, ...made }[param] ?? "x"));
  const answers: string[] = [];
  for (const headers of as === undefined ? [at.ada, at.ben, at.session] : [at[as]]) {
    const response = await fetch(
      `http://localhost:${at.port + portOffsets[endpoint.service]}${path}${asked.size === 0 ? "" : `?${asked.toString()}`}`,
      { headers },
    );
    if (response.status === 200) {
      await response.body?.cancel();
      return [];
    }
    answers.push(`${response.status} ${(await response.text()).slice(0, 300)}`);
  }
  return answers;
};

describe("everything that is served to be read is read by somebody in the demo", () => {
  let at: Instance;
  before(async () => {
    at = await instance();
  });
  const reads = endpointTable.filter(({ endpoint }) => endpoint.method === "GET");
  for (const row of reads.filter(({ name }) => unread[name] === undefined))
    test(`GET ${row.endpoint.path} (${row.name})`, async () => {
      assert.deepEqual(await read(at, row), [], `nobody is answered: say in the table what ${row.name} is asked for`);
    });

  test("what nobody reads is named with its reason, and is there", () => {
    const names = new Set(reads.map(({ name }) => name));
    assert.deepEqual(
      [...Object.keys(rows), ...Object.keys(unread)].filter((name) => !names.has(name)),
      [],
    );
  });
});
