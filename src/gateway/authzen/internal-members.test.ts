import assert from "node:assert/strict";
import { test, type TestContext } from "node:test";
import { sharedDatabase, testGateway } from "#testing/gateway.ts";
import { sharedPdpWorld } from "#testing/pdp.ts";

const database = sharedDatabase();
const shared = sharedPdpWorld();

const SINGLE = "/access/v1/evaluation";
const BATCH = "/access/v1/evaluations";
const subject = { type: "identity", id: "person:dan", properties: { tenant: "tenant:acme" } };
const action = { name: "view" };
const resource = { type: "pages", id: "operations" };
const whole = { subject, action, resource };

/** What Sallyport believes of its own services, with a value that would be believed. */
const vouched: Readonly<Record<string, unknown>> = {
  could: true,
  background: true,
  agent: "agent:hr-assistant",
  approval: { id: "approval:1" },
  tool: { id: "people.demo.get_employee", decision_id: "d_1" },
  facts: {},
  showing: true,
  use: true,
  client: { client_id: "x" },
  claimed: { owner: "person:dan" },
  scopes: ["mcp.tools.invoke"],
  delegation: "delegation:ben-hr",
  arguments_digest: "x",
  definition_digest: "x",
  shown_call: { arguments: {}, masked: [] },
  view: "all",
  route: "x",
  caller_kind: "workload",
  version: 1,
  searched_by: "person:ada",
};

type Answer = {
  readonly code?: string;
  readonly decision?: boolean;
  readonly context?: { readonly decision_id?: string };
  readonly errors?: readonly { readonly path: string }[];
  readonly evaluations?: readonly Answer[];
};

/** Where in a request a context may stand, and how the refusal names it. */
const places: readonly (readonly [what: string, url: string, body: (context: object) => object, path: string])[] = [
  ["a single question", SINGLE, (context) => ({ ...whole, context }), ""],
  ["a batch without items", BATCH, (context) => ({ ...whole, context }), ""],
  ["a batch with none", BATCH, (context) => ({ ...whole, context, evaluations: [] }), ""],
  ["the default of a batch", BATCH, (context) => ({ ...whole, context, evaluations: [{}] }), ""],
  ["a default that no item uses", BATCH, (context) => ({ context, evaluations: [{ ...whole, context: {} }] }), ""],
  ["the second item", BATCH, (context) => ({ ...whole, evaluations: [{}, { context }] }), "/evaluations/1"],
  ["an item that is wrong otherwise", BATCH, (context) => ({ evaluations: [{ context }] }), "/evaluations/0"],
  ["a search of subjects", "/access/v1/search/subject", (context) => ({ subject: { type: "identity" }, action, resource, context }), ""],
  ["a search of resources", "/access/v1/search/resource", (context) => ({ subject, action, resource: { type: "pages" }, context }), ""],
  ["a search of actions", "/access/v1/search/action", (context) => ({ subject, resource, context }), ""],
];

const open = async (t: TestContext) => {
  const point = await shared();
  const made = await testGateway(t, {
    database: await database(),
    identity: point.identity,
    peers: { pdp: (request) => point.service.fetch(request) },
  });
  const token = await made.identity.tokenFor({
    sub: "service:pep",
    tenant: "*",
    scopes: ["authzen.pep", "authzen.search"],
    clientId: "service:pep",
  });
  const pep = { "content-type": "application/json", authorization: `Bearer ${token}` };
  const post = async (url: string, headers: Readonly<Record<string, string>>, body: object) => {
    const response = await made.fetch(url, { method: "POST", headers, body: JSON.stringify(body) });
    return { status: response.status, body: (await response.json()) as Answer };
  };
  const direct = async (url: string, body: object) => {
    const response = await point.ask(url, token, body);
    return { status: response.status, body: (await response.json()) as Answer };
  };
  return { point, made, pep, post, direct };
};

for (const [what, url, body, path] of places)
  test(`what only Sallyport may say is refused from an enforcement point at both endpoints: ${what}`, async (t) => {
    const { post, pep, direct } = await open(t);
    for (const [name, value] of Object.entries(vouched)) {
      const sent = body({ [name]: value });
      for (const answer of [await post(url, pep, sent), await direct(url, sent)])
        assert.deepEqual(
          [answer.status, answer.body.code, answer.body.errors?.map((issue) => issue.path)],
          [400, "reserved_context_member", [`${path}/context/${name}`]],
          name,
        );
    }
    const fine = body({ ip: "192.0.2.1", method: "GET", tenant: "x", supported_obligations: [], ui: { app: "x" }, time: "now" });
    for (const answer of [await post(url, pep, fine), await direct(url, fine)])
      assert.equal(answer.status, 200, "of its own request it may tell");
  });

test("all that is refused is named at once, and at most fifty of it", async (t) => {
  const { post, pep, direct } = await open(t);
  const two = { ...whole, context: { could: true }, evaluations: [{ context: { agent: "x", facts: {} } }] };
  const many = { evaluations: Array.from({ length: 40 }, () => ({ ...whole, context: { could: true, agent: "x" } })) };
  for (const ask of [(body: object) => post(BATCH, pep, body), (body: object) => direct(BATCH, body)]) {
    const paths = (await ask(two)).body.errors?.map(({ path }) => path);
    assert.deepEqual(paths, ["/context/could", "/evaluations/0/context/agent", "/evaluations/0/context/facts"]);
    assert.equal((await ask(many)).body.errors?.length, 50);
  }
});

test("what a person says in Sallyport's words changes nothing: the denial of a token's question stands, and is listed as a refusal", async (t) => {
  const { point, made, post } = await open(t);
  const bearer = await made.identity.tokenFor({ sub: "person:dan", tenant: "tenant:acme", scopes: [] });
  const headers = { authorization: `Bearer ${bearer}`, "content-type": "application/json" };
  const { status, body } = await post(SINGLE, headers, { action, resource, context: vouched });
  assert.deepEqual([status, body.decision], [200, false]);
  const ada = await point.personToken("ada", { acr: "strong" });
  const found = await point.ask(`/access/v1/decisions/${body.context?.decision_id ?? ""}`, ada);
  const { inputs } = (await found.json()) as { inputs?: { could?: boolean } };
  assert.equal(inputs?.could, false);
  const list = await point.ask("/access/v1/decisions?subject=person:dan&decision=false", ada);
  const { decisions } = (await list.json()) as { decisions: { decision_id: string }[] };
  assert.equal(decisions[0]?.decision_id, body.context?.decision_id);
});
