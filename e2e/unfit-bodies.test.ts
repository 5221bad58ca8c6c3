import assert from "node:assert/strict";
import { test } from "node:test";
import { endpointTable, type EndpointRow } from "#contract/endpoints.ts";
import type { ServiceName } from "#contract/endpoint.ts";
import { agent, crudInstance } from "#testing/crud-instance.ts";
import { testDatabase } from "#testing/database.ts";
import { sharedDatabase, testGateway } from "#testing/gateway.ts";
import { graphModules, servedWorld } from "#testing/membership.ts";
import { pdpWorld } from "#testing/pdp.ts";
import { testSecrets } from "#testing/secrets.ts";

const gatewayDatabase = sharedDatabase();

/** JSON that parses and has no canonical form: nobody can digest, record or send it on as it was. */
const unfit: readonly (readonly [what: string, json: string])[] = [
  ["half a surrogate pair", '"\\ud800"'],
  ["the other half", '"a\\udfff"'],
  ["half a pair in a name", '{"\\ud800":1}'],
  ["a number beyond a double", "1e999"],
  ["one beyond it by its digits", "9".repeat(400)],
  ["a negative one", "[[-1e999]]"],
  ["an integer that no double holds", "9007199254740993"],
  ["a decimal that no double holds", '{"x":0.1234567890123456789}'],
];
/** PostgreSQL's text has no NUL: bad input like any other, if not fine. */
const nul: readonly [what: string, json: string] = ["NUL", '"a\\u0000b"'];

/** Members that take more than one line of plain text, with what stands around them; the rest of the table gets a member of no name. */
const places: Readonly<Record<string, readonly ((json: string) => string)[]>> = {
  createDelegation: [
    (json) => `{"agent_id":"agent:hr-assistant","capabilities":[${json}],"budget_usd":1,"max_steps":1,"purpose":"For a test"}`,
    (json) => `{"agent_id":"agent:hr-assistant","capabilities":null,"budget_usd":${json},"max_steps":1,"purpose":"For a test"}`,
    (json) => `{"agent_id":"agent:hr-assistant","capabilities":null,"budget_usd":1,"max_steps":1,"purpose":${json}}`,
  ],
  revokeMany: [(json) => `{"agent_id":"agent:hr-assistant","mode":"revoke","reason":${json}}`],
  putBudgetLimit: [(json) => `{"scope":"tenant","period":"daily","limit_usd":${json},"reason":${json}}`],
  reserve: [(json) => `{"call_id":${json},"user_id":"person:ben","agent_id":"agent:hr-assistant","tool_id":${json},"usd":${json}}`],
  askFactsIf: [
    (json) =>
      `{"asks":[],"tenant_id":"tenant:acme","add":[{"kind":"MEMBER_OF","from":"account:ben@acme","to":"group:analysts","props":{"x":${json}}}],"remove":[]}`,
  ],
  whatIf: [
    (json) =>
      `{"subject_id":"person:ben","changes":{"edges":{"add":[{"kind":"MEMBER_OF","from":"account:ben@acme","to":"group:analysts","props":{"x":${json}}}]}}}`,
  ],
  createRollout: [
    (json) => `{"files":{"policies/extra.cedar":${json}},"message":"For a test"}`,
    (json) => `{"files":{},"message":${json}}`,
  ],
  validatePolicies: [(json) => `{"files":{"policies/extra.cedar":${json}}}`],
  testPolicies: [(json) => `{"cases":[{"name":"one","given":{"subject":"person:ben","facts":${json}},"ask":${json},"expect":${json}}]}`],
  startReplay: [(json) => `{"version":"v1","filter":{"subject":${json}},"limit":1}`],
  toolRpc: [
    (json) => `{"jsonrpc":"2.0","id":1,"method":"tools/call","params":{"name":"people.demo.get_employee","arguments":{"id":${json}}}}`,
    (json) => `{"jsonrpc":"2.0","id":1,"method":"tools/call","params":{"name":${json},"arguments":{}}}`,
    (json) => `{"jsonrpc":"2.0","id":${json},"method":"tools/call","params":{"name":"people.demo.get_employee","arguments":{"id":"e1"}}}`,
    (json) =>
      `{"jsonrpc":"2.0","id":1,"method":"tools/call","params":{"name":"people.demo.get_employee","arguments":{"id":"e1"},"idempotencyKey":${json},"_meta":{"x":${json}}}}`,
    (json) => `{"jsonrpc":"2.0","id":1,"method":"tools/list","params":{"cursor":${json},"limit":${json}}}`,
    (json) => `{"jsonrpc":"2.0","id":1,"method":${json}}`,
  ],
  writeSecret: [(json) => `{"uri":"yaml://secret/acme#k","value":${json}}`, (json) => `{"uri":${json},"value":"v"}`],
  explainRoute: [(json) => `{"method":"POST","path":"/api/crud/forms","body":{"x":${json}}}`],
  ingestMetrics: [(json) => `{"events":[{"event":"page_view","x":${json}}]}`],
};

const rows = (service: ServiceName): readonly EndpointRow[] =>
  endpointTable.filter(({ endpoint }) => endpoint.service === service && endpoint.body !== undefined && endpoint.method !== "GET");
const bodiesOf = ({ name }: EndpointRow, json: string): readonly string[] => [
  `{"any":${json}}`,
  json,
  ...(places[name] ?? []).map((place) => place(json)),
];
const pathOf = ({ endpoint }: EndpointRow): string =>
  endpoint.path
    .replace("{version}", "v1+0123456789ab")
    .replace("decisions/{id}", "decisions/d_01KB0000000000000000000001")
    .replaceAll(/\{[^}]+\}/g, "00000000-0000-4000-8000-000000000000");

type Post = (row: EndpointRow, path: string, body: string) => Promise<{ readonly status: number; readonly text: string }>;
const read = async (response: Response) => ({ status: response.status, text: await response.text() });
const keyed = { "idempotency-key": "k1", "if-match": '"1"' };

/** Every endpoint of a service that takes a body answers what it was sent as bad input; afterwards it still serves. */
const walk = async (service: ServiceName, post: Post, code: (row: EndpointRow) => string | undefined): Promise<void> => {
  const table = rows(service);
  assert.ok(table.length > 0);
  for (const row of table)
    for (const [what, json] of [...unfit, nul])
      for (const body of bodiesOf(row, json)) {
        const { status, text } = await post(row, pathOf(row), body);
        const about = `${row.name}: ${what} in ${body.slice(0, 200)}: ${status} ${text}`;
        assert.ok(status < 500, about);
        const wanted = code(row);
        if (what === nul[0] || wanted === undefined) continue;
        assert.deepEqual([status, (JSON.parse(text) as { code: string }).code], [400, wanted], about);
      }
};

test("membership refuses a body that nobody can digest where it is read", async (t) => {
  const world = await servedWorld(t, await testDatabase(t, graphModules));
  const post: Post = async ({ endpoint }, path, body) => {
    const scopes = [...(endpoint.scope ?? [])];
    const reply = await world.call(
      scopes.some((scope) => scope !== "membership.read" && !/delegate|write/.test(scope)) ? "service:crud" : "ben",
      endpoint.method,
      path,
      {
        body,
        headers: keyed,
        scopes,
      },
    );
    return { status: reply.status, text: JSON.stringify(reply.body) ?? "" };
  };
  // Schemas of tools keep every digit.
  await walk("membership", post, ({ name }) => (name === "putMcpTools" ? undefined : "body_unreadable"));
  assert.equal((await world.call("ben", "GET", "/api/v1/delegations")).status, 200);
});

test("the decision point refuses it as bad input of its protocol", async (t) => {
  const world = await pdpWorld(t);
  const token = await world.identity.tokenFor({
    sub: "person:ada",
    tenant: "tenant:acme",
    scopes: ["authzen.pep", "authzen.search"],
    acr: "strong",
  });
  const post: Post = async (_row, path, body) => read(await world.ask(path, token, body, keyed));
  await walk("pdp", post, () => "invalid_request");
  assert.equal((await world.ask("/access/v1/decisions", token)).status, 200);
});

test("the tool server answers it as JSON-RPC, and calls nothing with it", async (t) => {
  const instance = await crudInstance(t);
  const post: Post = async ({ endpoint }, path, body) =>
    read(await instance.request(path, { method: endpoint.method, raw: body, headers: { "content-type": "application/json" }, as: agent }));
  await walk("crud", post, () => undefined);
  // What stands beside the arguments may be ignored; the arguments may not.
  const atFirst = instance.people.requests;
  for (const [what, json] of unfit) {
    const call = places["toolRpc"]?.[0]?.(json) ?? "";
    for (const path of ["/mcp/jsonrpc", "/mcp"]) {
      const headers = {
        "content-type": "application/json",
        accept: "application/json, text/event-stream",
        "mcp-protocol-version": "2025-11-25",
      };
      const { status, text } = await read(await instance.request(path, { method: "POST", raw: call, headers, as: agent }));
      assert.ok(status < 500 && /invalid_arguments/.test(text), `${path}: ${what}: ${status} ${text}`);
    }
  }
  assert.equal(instance.people.requests, atFirst);
});

test("secrets refuse it, and keep a number of any size", async (t) => {
  const world = await testSecrets(t);
  const ada = { sub: "person:ada", tenant: "tenant:acme", scopes: ["secrets.write", "secrets.read"] };
  const post: Post = async ({ endpoint }, path, raw) => read(await world.send(ada, endpoint.method, path, { raw }));
  await walk("secrets", post, () => undefined);
});

test("the gateway's own endpoints refuse it where it is read", async (t) => {
  const made = await testGateway(t, { database: await gatewayDatabase() });
  const ada = await made.signIn("person:ada");
  const post: Post = async ({ endpoint }, path, body) =>
    read(
      await made.fetch(path, { method: endpoint.method, headers: { ...ada.headers, "content-type": "application/json", ...keyed }, body }),
    );
  await walk("gateway", post, ({ name }) => (name === "ingestMetrics" || name === "explainRoute" ? "body_unreadable" : undefined));
});
