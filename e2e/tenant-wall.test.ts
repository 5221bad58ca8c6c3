import assert from "node:assert/strict";
import { randomUUID } from "node:crypto";
import { before, describe, test } from "node:test";
import { seedEmployees } from "#demo/employees.ts";
import { endpointTable, type EndpointRow } from "#contract/endpoints.ts";
import type { ServiceName } from "#contract/endpoint.ts";
import { connectMcp, resultOf, toolNames } from "./mcp-client.ts";
import { sharedInstance } from "./shared-instance.ts";
import type { TestInstance } from "./test-instance.ts";
import { fetchToken } from "./tokens.ts";

const offsets: Readonly<Record<ServiceName, number>> = { gateway: 0, pdp: 2, crud: 3, membership: 4, secrets: 5 };

/** Ids of Acme, and beside each one of the same form that never was: the two must be answered alike. */
const acme = {
  person: ["person:ben", "person:bxn"],
  agent: ["agent:hr-assistant", "agent:hr-assistxnt"],
  group: ["group:people-ops", "group:people-xps"],
  account: ["account:ben@acme", "account:bxn@acme"],
  delegation: ["delegation:ben-hr", "delegation:bxn-hr"],
  tenant: ["tenant:acme", "tenant:acmx"],
  tool: ["memory.demo.read_graph", "memory.demo.read_grxph"],
  secret: ["yaml://secret/acme/only#key", "yaml://secret/acmx/only#key"],
} as const;

/** What belongs to Acme alone and must not be in any answer to eve, unless she sent it herself. */
const marks = [
  "Ben Baker",
  "Cleo Chen",
  "Ada Admin",
  "Dan Diaz",
  "person:ben",
  "person:cleo",
  "person:ada",
  "agent:hr-assistant",
  "agent:reporter",
  "group:people-ops",
  "delegation:ben-hr",
  "delegation:cleo-rep",
  "tenant:acme",
  "memory.demo",
];

type Fill = (name: string) => string | undefined;

const byName: Readonly<Record<string, keyof typeof acme>> = {
  user_id: "person",
  subject_id: "person",
  delegator_id: "person",
  from: "person",
  to: "group",
  node_id: "person",
  agent_id: "agent",
  tool_id: "tool",
  tool: "tool",
  id: "delegation",
  uri: "secret",
  view: "tool",
  subject: "person",
  agent: "agent",
};

const bodyOf = (row: EndpointRow, which: 0 | 1): unknown => {
  switch (row.name) {
    case "createDelegation":
    case "whatIfDelegation":
      return { agent_id: acme.agent[which], capabilities: null, budget_usd: 1, max_steps: 1, purpose: "Looking over the wall" };
    case "revokeMany":
      return { agent_id: acme.agent[which], mode: "revoke", reason: "Looking over the wall" };
    case "revokeDelegation":
    case "pauseDelegation":
    case "resumeDelegation":
      return { reason: "Looking over the wall" };
    case "writeSecret":
      return { uri: acme.secret[which], value: "x" };
    case "toolRpc":
    case "viewToolRpc":
      return { jsonrpc: "2.0", id: "1", method: "tools/call", params: { name: acme.tool[which], arguments: {} } };
    case "evaluate":
      return {
        subject: { type: "identity", id: acme.person[which] },
        action: { name: "view" },
        resource: { type: "delegations", id: acme.delegation[which] },
      };
    case "evaluateMany":
      return {
        evaluations: [
          {
            subject: { type: "identity", id: acme.person[which] },
            action: { name: "view" },
            resource: { type: "identities", id: acme.person[which] },
          },
        ],
      };
    case "askFacts":
      return {
        asks: [{ subject_id: acme.person[which], action: "view", resource: { type: "identities", external_id: acme.person[which] } }],
      };
    case "reserve":
      return {
        call_id: randomUUID(),
        user_id: acme.person[which],
        agent_id: acme.agent[which],
        tool_id: "people.demo.list_employees",
        usd: 0,
      };
    case "settle":
      return { usd: 0, steps: 1, outcome: "ok" };
    default:
      return {};
  }
};

const fill =
  (which: 0 | 1): Fill =>
  (name) => {
    const kind = byName[name];
    return kind === undefined ? undefined : acme[kind][which];
  };

const shapeOf = (schema: unknown): readonly string[] => Object.keys((schema as { shape?: object } | undefined)?.shape ?? {});

describe("eve of Globex meets a wall", () => {
  let instance: TestInstance;
  let eve: string;
  before(async () => {
    instance = await sharedInstance();
    eve = await fetchToken(instance.port, { user: "eve" });
  });

  const ask = async (row: EndpointRow, which: 0 | 1): Promise<{ readonly status: number; readonly body: string }> => {
    const { endpoint } = row;
    const value = fill(which);
    const path = endpoint.path.replace(/\{([^}]+)\}/g, (_whole, name: string) => encodeURIComponent(value(name) ?? acme.person[which]));
    const query = new URLSearchParams();
    for (const name of shapeOf(endpoint.query)) {
      const given = value(name);
      // Times of the decision list share their names with the ends of a path.
      if (given !== undefined && !(row.name === "listDecisions" && (name === "from" || name === "to")) && !(row.name === "delegationUsage"))
        query.set(name, given);
    }
    if (row.name === "dataScope") query.set("resource_type", "employee");
    if (row.name === "spend") for (const name of ["from", "to"]) query.delete(name);
    const response = await fetch(
      `http://localhost:${instance.port + offsets[endpoint.service]}${path}${query.size > 0 ? `?${query.toString()}` : ""}`,
      {
        method: endpoint.method,
        headers: {
          authorization: `Bearer ${eve}`,
          "x-purpose": "looking over the wall",
          "idempotency-key": randomUUID(),
          ...(endpoint.body === undefined ? {} : { "content-type": "application/json" }),
        },
        ...(endpoint.body === undefined ? {} : { body: JSON.stringify(bodyOf(row, which)) }),
        redirect: "manual",
      },
    );
    return { status: response.status, body: await response.text() };
  };

  /** What differs from answer to answer by its nature. */
  const still = (body: string): string =>
    body
      .replace(/"correlation_id":"[^"]*"/g, '"correlation_id":""')
      .replace(/"staleness_ms":\d+/g, '"staleness_ms":0')
      .replace(/"(decision_id|call_id|audit_id)":"[^"]*"/g, '"$1":""')
      .replace(/d_[0-9A-HJKMNP-TV-Z]{26}(\.\d+)?/g, "d_");

  for (const row of endpointTable) {
    const { endpoint } = row;
    if (endpoint.service === "gateway") continue;
    test(`${endpoint.service} ${endpoint.method} ${endpoint.path} (${row.name})`, async () => {
      const [real, invented] = [await ask(row, 0), await ask(row, 1)];
      assert.equal(real.status, invented.status);
      for (const mark of marks) {
        const echoed = Object.values(acme).some(([sent]) => sent === mark || sent.startsWith(`${mark}.`));
        if (!echoed) assert.ok(!real.body.includes(mark), `${mark} in ${real.body.slice(0, 500)}`);
      }
      let expected = still(invented.body);
      for (const [sent, changed] of Object.values(acme)) expected = expected.replaceAll(changed, sent);
      assert.equal(still(real.body), expected);
    });
  }

  test("her lists hold Globex alone", async () => {
    for (const path of [
      "/api/v1/identity_nodes/search?limit=500",
      "/api/v1/identity_nodes/search/with-metadata?limit=500",
      "/api/v1/identity_nodes/stats/types",
      "/api/v1/delegations",
    ]) {
      const response = await fetch(`http://localhost:${instance.port + 4}${path}`, { headers: { authorization: `Bearer ${eve}` } });
      const body = await response.text();
      for (const mark of marks) assert.ok(!body.includes(mark), `${mark} in ${path}`);
    }
  });

  test("her tools are few, and their rows are Globex's", async () => {
    const acmeNames = seedEmployees()
      .filter((employee) => employee.tenant === "tenant:acme")
      .map((employee) => employee.name);
    const client = await connectMcp(instance.origin, eve, "legacy");
    assert.deepEqual(await toolNames(client), ["people.demo.list_employees", "sallyport.local.search_identities", "system.health"]);
    const listed = resultOf(await client.callTool({ name: "people.demo.list_employees", arguments: { limit: 200 } }));
    assert.equal(listed.isError, false, listed.text);
    assert.match(listed.text, /tenant:globex/);
    for (const mark of [...marks, ...acmeNames]) assert.ok(!listed.text.includes(mark), mark);
    const found = resultOf(await client.callTool({ name: "sallyport.local.search_identities", arguments: {} }));
    assert.match(found.text, /person:eve/);
    for (const mark of marks) assert.ok(!found.text.includes(mark), mark);
    await client.close();
  });
});
