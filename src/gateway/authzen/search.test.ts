import assert from "node:assert/strict";
import { test, type TestContext } from "node:test";
import { recordingPeer, sharedDatabase, testGateway } from "#testing/gateway.ts";
import { pdpWorld } from "#testing/pdp.ts";

const database = sharedDatabase();
type Body = Record<string, unknown> & { results?: { id?: string; name?: string }[]; page?: { next_token: string }; code?: string };
const kinds = ["subject", "resource", "action"] as const;
type Kind = (typeof kinds)[number];

const asks = {
  subject: { subject: { type: "identity" }, action: { name: "view" }, resource: { type: "pages", id: "people" } },
  resource: { action: { name: "view" }, resource: { type: "pages" } },
  action: { resource: { type: "pages", id: "people" } },
} as const;

/** The gateway in front of the real decision point over the demo world. */
const real = async (t: TestContext) => {
  const point = await pdpWorld(t);
  const made = await testGateway(t, {
    database: await database(),
    identity: point.identity,
    peers: { pdp: (request) => point.service.fetch(request) },
  });
  const post = async (path: string, headers: Readonly<Record<string, string>>, body: unknown) => {
    const sent = { method: "POST", headers: { "content-type": "application/json", ...headers }, body: JSON.stringify(body) };
    const response = await made.fetch(path, sent);
    return { status: response.status, headers: response.headers, body: (await response.json()) as Body };
  };
  const found = (body: Body) => body.results?.map((result) => result.id ?? result.name);
  const session = async (login: string) =>
    (await made.signIn(`person:${login}`, login === "eve" ? { tenant: "tenant:globex" } : {})).headers;
  const bearer = async (sub: string, scopes: readonly string[], tenant = "tenant:acme") => ({
    authorization: `Bearer ${await made.identity.tokenFor({ sub, tenant, scopes, ...(sub.startsWith("service:") ? { clientId: sub } : {}) })}`,
  });
  return { made, point, post, found, session, bearer };
};

test("the request's id comes back on every answer of an AuthZEN path, whichever part answered", async (t) => {
  const made = await testGateway(t, { database: await database(), peers: { pdp: recordingPeer().peer } });
  const { headers } = await made.signIn("person:ben");
  const cases: readonly (readonly [path: string, init: RequestInit, echoed: boolean])[] = [
    ["/access/v1/evaluation", { method: "POST" }, true],
    ["/access/v1/search/subject", { method: "POST", headers: { authorization: "Bearer x" } }, true],
    ["/access/v1/search/action", { method: "POST", headers, body: "{" }, true],
    ["/access/v1/evaluation", { method: "PATCH", headers }, true],
    ["/access/v1/decisions", { headers }, true],
    ["/api/pdp/search/action", { method: "POST", headers: { cookie: headers["cookie"] ?? "" } }, true],
    ["/.well-known/authzen-configuration", {}, true],
    ["/auth/session", { headers }, false],
  ];
  for (const [path, init, echoed] of cases) {
    const sent = new Headers(init.headers);
    sent.set("x-request-id", "r 4");
    const response = await made.fetch(path, { ...init, headers: sent });
    assert.equal(response.headers.get("x-request-id"), echoed ? "r 4" : null, `${path} ${response.status}`);
  }
});

test("a session searches for itself alone, whatever subject it names, under both names of the paths", async (t) => {
  const { post, found, session, made } = await real(t);
  const [ben, dan] = [await session("ben"), await session("dan")];
  const ada = { subject: { type: "identity", id: "person:ada", properties: { tenant: "tenant:acme" } } };
  for (const prefix of ["/access/v1", "/api/pdp"]) {
    const resources = await post(`${prefix}/search/resource`, ben, { ...asks.resource, ...ada });
    assert.deepEqual([resources.status, found(resources.body)], [200, ["my-work", "people"]]);
    assert.deepEqual(Object.keys(resources.body), ["results"]);
    assert.equal(resources.headers.get("cache-control"), "no-store");
    const actions = await post(`${prefix}/search/action`, ben, { ...asks.action, ...ada });
    assert.deepEqual(actions.body.results, [{ name: "view" }, { name: "view_all" }]);
    assert.deepEqual(found((await post(`${prefix}/search/resource`, dan, { ...asks.resource, ...ada })).body), []);
  }
  assert.equal(await made.counted("bff_security_events_total", { event_type: "authz_subject_override" }), 6);
});

test("who else may do it is shown to who may see all decisions, and never beyond the tenant", async (t) => {
  const { post, found, session, bearer } = await real(t);
  const path = "/access/v1/search/subject";
  const ben = await post(path, await session("ben"), asks.subject);
  assert.deepEqual([ben.status, ben.body.code], [403, "access_denied"]);
  const ada = await post(path, await session("ada"), asks.subject);
  assert.deepEqual(found(ada.body), [
    "account:ada@acme",
    "account:ben@acme",
    "account:cleo@acme",
    "person:ada",
    "person:ben",
    "person:cleo",
  ]);
  const plain = await post(path, await bearer("person:ben", ["openid"]), asks.subject);
  assert.deepEqual([plain.status, plain.body.code], [403, "access_denied"]);
  const scoped = await post(path, await bearer("service:auditor", ["authzen.search"], "tenant:globex"), {
    ...asks.subject,
    subject: { type: "identity", properties: { tenant: "tenant:acme" } },
    action: { name: "view_all" },
    resource: { type: "pages" },
  });
  assert.deepEqual(found(scoped.body), ["account:eve@globex", "person:eve"], "the tenant is the token's, whatever is claimed");
});

test("an agent's search is what it may do for its person, not what the person may", async (t) => {
  const { post, found, made } = await real(t);
  const token = await made.identity.tokenFor({
    sub: "person:ben",
    tenant: "tenant:acme",
    scopes: ["mcp.tools.invoke"],
    agent: "agent:hr-assistant",
  });
  const pages = await post("/access/v1/search/resource", { authorization: `Bearer ${token}` }, asks.resource);
  assert.deepEqual([pages.status, found(pages.body)], [200, []]);
});

test("an enforcement point passes through in its own name: its scopes, its tenant, its bytes", async (t) => {
  const { post, found, bearer } = await real(t);
  const both = await bearer("service:pep", ["authzen.pep", "authzen.search"], "*");
  const ben = { subject: { type: "identity", id: "person:ben", properties: { tenant: "tenant:acme" } } };
  assert.equal(found((await post("/access/v1/search/subject", both, asks.subject)).body)?.length, 6);
  assert.deepEqual(found((await post("/access/v1/search/resource", both, { ...asks.resource, ...ben })).body), ["my-work", "people"]);
  const without = await post("/access/v1/search/resource", both, asks.resource);
  assert.deepEqual([without.status, without.body.code], [400, "invalid_request"]);
  const narrow = await bearer("service:pep", ["authzen.pep"], "*");
  const refused = await post("/access/v1/search/subject", narrow, asks.subject);
  assert.deepEqual([refused.status, refused.body.code], [403, "insufficient_scope"]);
  const reserved = await post("/access/v1/search/resource", both, { ...asks.resource, ...ben, context: { agent: "agent:x" } });
  assert.deepEqual([reserved.status, reserved.body.code], [400, "reserved_context_member"]);
  const globex = await bearer("service:pep", ["authzen.pep", "authzen.search"], "tenant:globex");
  assert.deepEqual(found((await post("/access/v1/search/resource", globex, { ...asks.resource, ...ben })).body), []);
});

test("pages go on under one session and no other", async (t) => {
  const { post, found, session } = await real(t);
  const [ada, ben] = [await session("ada"), await session("ben")];
  const question = { action: { name: "view" }, resource: { type: "identities" } };
  const path = "/access/v1/search/resource";
  const all = found((await post(path, ada, question)).body) ?? [];
  const seen: unknown[] = [];
  let page: object = { limit: 7 };
  let token = "";
  for (let round = 0; round < 20; round += 1) {
    const { body, status } = await post(path, ada, { ...question, page });
    assert.equal(status, 200, JSON.stringify(body));
    seen.push(...(found(body) ?? []));
    if (body.page?.next_token === "") break;
    token = body.page?.next_token ?? "";
    page = { token };
  }
  assert.deepEqual(seen, all);
  for (const [who, sent] of [
    [ben, { token }],
    [ada, { token, limit: 8 }],
    [ada, { token: `${token.slice(0, -3)}AAA` }],
  ] as const) {
    const { status, body } = await post(path, who, { ...question, page: sent });
    assert.deepEqual([status, body.code], [400, "invalid_page_token"]);
  }
});

const refusals: readonly (readonly [kind: Kind, body: unknown, status: number, code: string])[] = [
  ["subject", { ...asks.subject, subject: {} }, 400, "invalid_request"],
  ["subject", { ...asks.subject, action: undefined }, 400, "invalid_request"],
  ["subject", { ...asks.subject, resource: { type: "pages" } }, 400, "invalid_request"],
  ["subject", { ...asks.subject, resource: { type: "pages", id: "*" } }, 400, "reserved_resource_id"],
  ["resource", { resource: { type: "pages" } }, 400, "invalid_request"],
  ["resource", { ...asks.resource, resource: { type: "a b" } }, 400, "invalid_request"],
  ["resource", { ...asks.resource, page: { limit: 1001 } }, 400, "invalid_request"],
  ["resource", { ...asks.resource, context: { pad: "x".repeat(16_400) } }, 400, "invalid_request"],
  ["action", { resource: { type: "pages" } }, 400, "invalid_request"],
  ["action", { resource: { type: "pages", id: "a\u0007" } }, 400, "invalid_request"],
  ["action", [], 400, "invalid_request"],
];
test("bad searches are refused before anything is asked", async (t) => {
  const pdp = recordingPeer();
  const made = await testGateway(t, { database: await database(), peers: { pdp: pdp.peer } });
  const { headers } = await made.signIn("person:ada");
  const send = (kind: Kind, body: string, more: Readonly<Record<string, string>> = {}) =>
    made.fetch(`/access/v1/search/${kind}`, { method: "POST", headers: { ...headers, ...more }, body });
  for (const [kind, body, status, code] of refusals) {
    const response = await send(kind, JSON.stringify(body), { "x-request-id": "r 9" });
    assert.deepEqual([response.status, ((await response.json()) as Body).code], [status, code], JSON.stringify(body).slice(0, 80));
    assert.equal(response.headers.get("x-request-id"), "r 9");
  }
  assert.equal((await send("action", '{"resource":{"type":"pages","type":"x","id":"1"}}')).status, 400);
  assert.equal((await send("action", `{"resource":${'{"a":'.repeat(40)}1${"}".repeat(40)}}`)).status, 400);
  assert.equal((await send("action", JSON.stringify({ ...asks.action, pad: "x".repeat(262_144) }))).status, 413);
  assert.equal((await send("action", "{}", { "content-type": "text/plain" })).status, 415);
  assert.equal((await send("action", "{}", { authorization: "Bearer x" })).status, 400);
  const unproven = Object.fromEntries(Object.entries(headers).filter(([name]) => name === "cookie"));
  const withoutCsrf = await made.fetch("/access/v1/search/action", {
    method: "POST",
    headers: { ...unproven, "content-type": "application/json" },
    body: JSON.stringify(asks.action),
  });
  assert.equal(withoutCsrf.status, 403);
  for (const kind of kinds) {
    assert.equal((await made.fetch(`/access/v1/search/${kind}`, { method: "POST", body: "{}" })).status, 401);
    assert.equal((await made.fetch(`/access/v1/search/${kind}`, { method: "OPTIONS" })).status, 204);
  }
  assert.deepEqual(pdp.seen, []);
});

const page = { type: "pages", id: "people" };
const hostile: readonly (readonly [what: string, answer: () => Response | Promise<Response>, status: number, code: string])[] = [
  ["no results", () => Response.json({}), 502, "pdp_bad_answer"],
  ["results that are none", () => Response.json({ results: { a: page } }), 502, "pdp_bad_answer"],
  ["a result without id", () => Response.json({ results: [{ type: "pages" }] }), 502, "pdp_bad_answer"],
  ["a result of another type", () => Response.json({ results: [{ type: "secret", id: "x" }] }), 502, "pdp_bad_answer"],
  ["a number as id", () => Response.json({ results: [{ type: "pages", id: 7 }] }), 502, "pdp_bad_answer"],
  ["more than a page", () => Response.json({ results: [page, page, page] }), 502, "pdp_bad_answer"],
  ["a page without token", () => Response.json({ results: [page], page: {} }), 502, "pdp_bad_answer"],
  ["HTML", () => new Response("<html>", { headers: { "content-type": "text/html" } }), 502, "pdp_bad_answer"],
  ["5 MiB", () => Response.json({ results: [page], pad: "x".repeat(5 * 1_048_576) }), 502, "pdp_bad_answer"],
  ["429", () => new Response("{}", { status: 429 }), 503, "pdp_unavailable"],
  ["500", () => new Response("{}", { status: 500 }), 503, "pdp_unavailable"],
  ["no connection", () => Promise.reject(new Error("ECONNREFUSED")), 503, "pdp_unavailable"],
];
test("a decision point that cannot be trusted finds nothing", async (t) => {
  const pdp = recordingPeer();
  const made = await testGateway(t, { database: await database(), peers: { pdp: pdp.peer } });
  const { headers } = await made.signIn("person:ben");
  const body = JSON.stringify({ ...asks.resource, page: { limit: 2 } });
  for (const [what, answer, status, code] of hostile) {
    pdp.answer = answer;
    const response = await made.fetch("/access/v1/search/resource", { method: "POST", headers, body });
    assert.deepEqual([response.status, ((await response.json()) as Body).code], [status, code], what);
  }
});
