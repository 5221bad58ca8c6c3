import assert from "node:assert/strict";
import { test } from "node:test";
import { decidingPeer, recordingPeer, sharedDatabase, testGateway } from "#testing/gateway.ts";

const routes = `version: 1
services:
  crud: { base_urls: ["\${CRUD_SERVICE_URL}"], audience: "\${CRUD_AUDIENCE}" }
routes:
  - { id: open, path: /api/open, target_service: crud, preserve_path: true, methods: [GET], auth: none, authz: none }
  - { id: pair.session, path: /api/pair, target_service: crud, preserve_path: true, methods: [GET, POST, OPTIONS], auth: session, authz: none }
  - { id: pair.bearer, path: /api/pair, target_service: crud, preserve_path: true, methods: [GET, POST, OPTIONS], auth: bearer, authz: none, cors_origins: ["https://app.example"] }
  - { id: page, path: "/api/pages/{id}", target_service: crud, upstream_path: "/pages/{id}", methods: [GET], auth: session, authz: pdp, authz_map: { GET: { resource: pages, action: view, id_from: "{id}" } } }
  - id: salary
    path: "/api/employees/{id}/salary"
    target_service: crud
    preserve_path: true
    methods: [POST]
    auth: session
    authz: pdp
    authz_map: { POST: { resource: employee, action: update_salary, props: { employee: "{id}", salary: "$.salary" } } }
  - id: routes.explain
    path: /api/v1/routes/explain
    target_service: internal
    methods: [POST]
    auth: session
    authz: pdp
    authz_map: { POST: { resource: gateway.routes, action: explain, props: { target: "$.target" } } }
`;

const database = sharedDatabase();

const world = async (t: Parameters<typeof testGateway>[0], decide: Parameters<typeof decidingPeer>[0] = () => true) => {
  const crud = recordingPeer();
  const pdp = decidingPeer(decide);
  const made = await testGateway(t, { database: await database(), routes, peers: { crud: crud.peer, pdp: pdp.peer } });
  const token = await made.identity.tokenFor({ sub: "person:ben", tenant: "tenant:acme", scopes: ["membership.read"] });
  return { crud, pdp, made, bearer: { authorization: `Bearer ${token}` } };
};

test("of a session and a bearer row of one path the credential chooses", async (t) => {
  const { crud, made, bearer } = await world(t);
  const { cookie, headers } = await made.signIn("person:ben");
  const status = async (sent: Readonly<Record<string, string>>, method = "GET") => {
    const response = await made.fetch("/api/pair", { method, headers: sent, ...(method === "POST" ? { body: "{}" } : {}) });
    return {
      status: response.status,
      body: (await response.json()) as { code?: string },
      challenge: response.headers.get("www-authenticate"),
    };
  };
  assert.equal((await status(cookie)).status, 200);
  assert.equal((await status(bearer)).status, 200);
  assert.deepEqual((await status({ ...cookie, ...bearer })).body.code, "ambiguous_credentials");
  assert.equal((await status({})).status, 401);
  assert.equal((await status({ authorization: "Basic eDp5" })).status, 401);
  assert.match((await status({ authorization: "Bearer nonsense" })).challenge ?? "", /^Bearer error="invalid_token"/);
  assert.equal((await status({ ...bearer, "content-type": "application/json" }, "POST")).status, 200, "a token needs no CSRF headers");
  assert.equal((await status({ ...cookie, "content-type": "application/json" }, "POST")).body.code, "csrf_failed");
  assert.equal((await status(headers, "POST")).status, 200);
  assert.ok(crud.seen.every((seen) => seen.headers.get("x-user-id") === "person:ben"));
});

test("a token's own identity goes on: agent, scopes, assurance; and never wider", async (t) => {
  const { crud, made } = await world(t);
  const token = await made.identity.tokenFor({
    sub: "person:ben",
    tenant: "tenant:acme",
    scopes: ["membership.read"],
    agent: "agent:hr-assistant",
    acr: "strong",
    authTime: 1_700_000_000,
  });
  const response = await made.fetch("/api/pair", { headers: { authorization: `Bearer ${token}` } });
  assert.equal(response.status, 200);
  const [seen] = crud.seen;
  assert.equal(seen?.headers.get("x-agent-id"), "agent:hr-assistant");
  assert.notEqual(seen?.headers.get("authorization"), `Bearer ${token}`, "the client's own token stays here");
  const caller = await made.identity.verifierFor("http://localhost:8083")(
    new Request("http://x", { headers: { authorization: seen?.headers.get("authorization") ?? "" } }),
  );
  assert.deepEqual(
    {
      sub: caller.sub,
      agent: caller.agent,
      acr: caller.acr,
      authTime: caller.authTime,
      scopes: [...caller.scopes],
      isInternalService: caller.isInternalService,
    },
    {
      sub: "person:ben",
      agent: "agent:hr-assistant",
      acr: "strong",
      authTime: 1_700_000_000,
      scopes: ["membership.read"],
      isInternalService: false,
    },
  );
  const foreign = await made.identity.tokenFor({ sub: "person:ben", tenant: "tenant:acme", scopes: [] }, "http://localhost:8083");
  assert.equal(
    (await made.fetch("/api/pair", { headers: { authorization: `Bearer ${foreign}` } })).status,
    401,
    "a token for another audience",
  );
});

test("methods: HEAD comes with GET, OPTIONS is answered here, others are 405 without trying another row", async (t) => {
  const { crud, made } = await world(t);
  const head = await made.fetch("/api/open", { method: "HEAD" });
  assert.equal(head.status, 200);
  const options = await made.fetch("/api/pair", { method: "OPTIONS" });
  assert.deepEqual([options.status, options.headers.get("allow")], [204, "GET, POST, OPTIONS, HEAD"]);
  const refused = await made.fetch("/api/open", { method: "POST", body: "{}" });
  assert.deepEqual([refused.status, refused.headers.get("allow")], [405, "GET, HEAD"]);
  assert.deepEqual(
    crud.seen.map((seen) => seen.method),
    ["HEAD"],
  );
  assert.equal((await made.fetch("/api/nothing")).status, 404);
});

test("CORS opens bearer rows to listed origins alone, and to no cookie", async (t) => {
  const { made, bearer } = await world(t);
  const preflight = await made.fetch("/api/pair", { method: "OPTIONS", headers: { origin: "https://app.example" } });
  assert.equal(preflight.headers.get("access-control-allow-origin"), "https://app.example");
  assert.equal(preflight.headers.get("access-control-allow-credentials"), null);
  const answer = await made.fetch("/api/pair", { headers: { ...bearer, origin: "https://app.example" } });
  assert.deepEqual([answer.headers.get("access-control-allow-origin"), answer.headers.get("vary")], ["https://app.example", "Origin"]);
  const other = await made.fetch("/api/pair", { headers: { ...bearer, origin: "https://evil.example" } });
  assert.equal(other.headers.get("access-control-allow-origin"), null);
  const { cookie } = await made.signIn("person:ben");
  const session = await made.fetch("/api/pair", { headers: { ...cookie, origin: "https://app.example" } });
  assert.equal(session.headers.get("access-control-allow-origin"), null);
});

test("a permit lets a request through with exactly the question of its row", async (t) => {
  const { crud, pdp, made } = await world(t);
  const { cookie } = await made.signIn("person:ben", { acr: "strong", amr: ["pwd", "otp"], authTime: 1_700_000_000 });
  assert.equal((await made.fetch("/api/pages/a%20b%3Ac", { headers: cookie })).status, 200);
  assert.equal(crud.seen[0]?.path, "/pages/a%20b:c");
  const asked = JSON.parse(pdp.seen[0]?.body ?? "") as {
    subject: unknown;
    action: unknown;
    resource: unknown;
    context: Record<string, unknown>;
  };
  assert.deepEqual(asked.subject, {
    type: "identity",
    id: "person:ben",
    properties: { tenant: "tenant:acme", acr: "strong", amr: ["pwd", "otp"], auth_time: 1_700_000_000 },
  });
  assert.deepEqual(asked.action, { name: "view" });
  assert.deepEqual(asked.resource, { type: "pages", id: "a b:c", properties: {} });
  assert.deepEqual([asked.context["route"], asked.context["method"], asked.context["claimed"]], ["page", "GET", undefined]);
});

test("a denial is 403 with decision and reason, and stands in the audit log", async (t) => {
  const { crud, made } = await world(t, () => "not_granted");
  const { cookie, record } = await made.signIn("person:ben");
  const response = await made.fetch("/api/pages/7", { headers: cookie });
  const body = (await response.json()) as { code: string; reason: string; decision_id: string };
  assert.deepEqual([response.status, body.code, body.reason], [403, "access_denied", "not_granted"]);
  assert.equal(response.headers.get("x-decision-id"), body.decision_id);
  assert.deepEqual(crud.seen, []);
  await made.events.integrator.integrate();
  const rows = await made.database.run<{ outcome: string; code: string; session_ref: string; decision_id: string }>(
    { name: "test.audit", text: "select outcome, code, session_ref, decision_id from events.audit_entry where decision_id = $1" },
    [body.decision_id],
  );
  assert.deepEqual(rows, [{ outcome: "denied", code: "not_granted", session_ref: record.ref, decision_id: body.decision_id }]);
});

test("want of assurance is 401 with the challenge and the way to step up", async (t) => {
  const { made } = await world(t, () => "step_up_required");
  const { cookie } = await made.signIn("person:ben");
  const response = await made.fetch("/api/pages/7", { headers: cookie });
  const body = (await response.json()) as { code: string; step_up: unknown };
  assert.deepEqual([response.status, body.code], [401, "step_up_required"]);
  assert.deepEqual(body.step_up, {
    acr_value: "strong",
    max_age_seconds: 300,
    url: "http://localhost:8080/auth/login?acr_values=strong&max_age=300",
  });
  assert.match(
    response.headers.get("www-authenticate") ?? "",
    /error="insufficient_user_authentication", acr_values="strong", max_age=300/,
  );
});

for (const [what, answer] of [
  ["says nothing usable", () => Response.json({ decision: "true" })],
  ["answers HTML", () => new Response("<html>", { headers: { "content-type": "text/html" } })],
  ["is overloaded", () => new Response("{}", { status: 429 })],
  ["fails", () => new Response("{}", { status: 500 })],
  ["is away", () => Promise.reject(new Error("connect ECONNREFUSED"))],
] as const)
  test(`a decision point that ${what} opens nothing: 503`, async (t) => {
    const { crud, pdp, made } = await world(t);
    pdp.answer = answer;
    const { cookie } = await made.signIn("person:ben");
    const response = await made.fetch("/api/pages/7", { headers: cookie });
    assert.deepEqual([response.status, ((await response.json()) as { code: string }).code], [503, "decision_unavailable"]);
    assert.ok(response.headers.get("retry-after"));
    assert.deepEqual(crud.seen, []);
  });

test("what the gateway answers itself reads the same bytes that the decision was made on", async (t) => {
  const { made, pdp } = await world(t);
  const { headers } = await made.signIn("person:ben");
  const body = JSON.stringify({ method: "GET", target: "/api/form/7" });
  const response = await made.fetch("/api/v1/routes/explain", { method: "POST", headers, body });
  assert.equal(response.status, 200);
  assert.deepEqual(((await response.json()) as { canonical: unknown }).canonical, { path: "/api/form/7", query: "", marks: [] });
  const asked = JSON.parse(pdp.seen[0]?.body ?? "") as { context: { claimed: unknown } };
  assert.deepEqual(asked.context.claimed, { target: "/api/form/7" });
});

test("values of a body are claimed, and the bytes that were read are the bytes that go on", async (t) => {
  const { crud, pdp, made } = await world(t);
  const { headers } = await made.signIn("person:ben");
  const body = '{ "salary": 1.50e5,\n "note": "\\u00e4" }';
  const response = await made.fetch("/api/employees/e7/salary", { method: "POST", headers, body });
  assert.equal(response.status, 200, await response.text());
  assert.equal(crud.seen[0]?.body, body);
  const asked = JSON.parse(pdp.seen[0]?.body ?? "") as { resource: { properties: unknown }; context: { claimed: unknown } };
  assert.deepEqual(asked.resource.properties, { employee: "e7" });
  assert.deepEqual(asked.context.claimed, { salary: 150_000 });
});

for (const [what, body, status, code] of [
  ["lacks the value", "{}", 422, "unprocessable"],
  ["repeats a member", '{"salary":1,"salary":2}', 400, "duplicate_member"],
  ["is no JSON", "{salary:1}", 400, "body_unreadable"],
  ["is larger than is read for a decision", `{"salary":1,"pad":"${"x".repeat(70_000)}"}`, 413, "body_too_large"],
] as const)
  test(`a body that ${what} is refused before any decision`, async (t) => {
    const { crud, pdp, made } = await world(t);
    const { headers } = await made.signIn("person:ben");
    const response = await made.fetch("/api/employees/e7/salary", { method: "POST", headers, body });
    assert.deepEqual([response.status, ((await response.json()) as { code: string }).code], [status, code]);
    assert.deepEqual([crud.seen, pdp.seen], [[], []]);
  });

test("an id that resolves to * is refused", async (t) => {
  const { pdp, made } = await world(t);
  const { cookie } = await made.signIn("person:ben");
  const response = await made.fetch("/api/pages/*", { headers: cookie });
  assert.deepEqual([response.status, ((await response.json()) as { code: string }).code], [400, "reserved_resource_id"]);
  assert.deepEqual(pdp.seen, []);
});

test("what calls itself a plugin is refused while none is registered", async (t) => {
  const { crud, made } = await world(t);
  const { cookie } = await made.signIn("person:ben");
  assert.equal((await made.fetch("/api/pair", { headers: { ...cookie, "x-plugin-id": "acme.hello" } })).status, 403);
  assert.deepEqual(crud.seen, []);
});

test("a page load without a session leads to sign-in; one from another site first gets the strict cookie a chance", async (t) => {
  const { made } = await world(t);
  const own = await made.fetch("/api/pages/7?x=1", { headers: { "sec-fetch-mode": "navigate", "sec-fetch-site": "none" } });
  assert.deepEqual([own.status, own.headers.get("location")], [302, "/auth/login?return_to=%2Fapi%2Fpages%2F7%3Fx%3D1"]);
  const long = await made.fetch(`/api/pages/7?x=${"x".repeat(2048)}`, {
    headers: { "sec-fetch-mode": "navigate", "sec-fetch-site": "none" },
  });
  assert.deepEqual(
    [long.status, long.headers.get("location")],
    [302, "/auth/login"],
    "a way back that is too long is no end of the way in",
  );
  const foreign = await made.fetch("/api/pages/7", { headers: { "sec-fetch-mode": "navigate", "sec-fetch-site": "cross-site" } });
  assert.equal(foreign.status, 200);
  assert.match(await foreign.text(), /http-equiv="refresh" content="0"/);
  assert.doesNotMatch(foreign.headers.get("content-security-policy") ?? "", /sandbox/);
  const script = await made.fetch("/api/pages/7", { headers: { "sec-fetch-mode": "cors" } });
  assert.equal(script.status, 401);
  assert.equal(((await script.json()) as { login_url: string }).login_url, "/auth/login");
});

test("two cookies of our name are none, and both are cleared", async (t) => {
  const { made } = await world(t);
  const { cookie } = await made.signIn("person:ben");
  const response = await made.fetch("/api/pair", { headers: { cookie: `${cookie.cookie}; ${cookie.cookie}` } });
  assert.equal(response.status, 401);
  assert.match(response.headers.get("set-cookie") ?? "", /^sallyport_dev_sid_8080=; .*Max-Age=0$/);
});

test("secret values stay out of browsers where reveal is off; tokens are not browsers", async (t) => {
  const secrets = recordingPeer();
  const made = await testGateway(t, {
    database: await database(),
    peers: { secrets: secrets.peer },
    settings: { UI_SECRET_REVEAL: "false" },
  });
  const { cookie, headers } = await made.signIn("person:ben");
  for (const path of ["/api/secrets?uri=yaml://secret/a", "/api/secrets/value?uri=yaml://secret/a", "/api/%73ecrets/value"]) {
    const response = await made.fetch(path, { headers: cookie });
    assert.deepEqual([response.status, ((await response.json()) as { code: string }).code], [403, "reveal_disabled"], path);
  }
  assert.deepEqual(secrets.seen, []);
  assert.equal((await made.fetch("/api/secrets", { method: "POST", headers, body: "{}" })).status, 200);
});

test("services behind the table's prefixes are reached, and what is for services alone is not there", async (t) => {
  const crud = recordingPeer();
  const membership = recordingPeer();
  const made = await testGateway(t, { database: await database(), peers: { crud: crud.peer, membership: membership.peer } });
  const { cookie } = await made.signIn("person:ben");
  for (const path of ["/api/membership/pip/membership/capabilities", "/api/membership/%70ip/x", "/api/crud/events/config"])
    assert.equal((await made.fetch(path, { headers: cookie })).status, 404, path);
  assert.equal((await made.fetch("/api/membership/delegations?status=active", { headers: cookie })).status, 200);
  assert.equal((await made.fetch("/api/crud/mcp/tools/list", { headers: cookie })).status, 200);
  assert.equal((await made.fetch("/api/configs/ui", { headers: cookie })).status, 200);
  assert.deepEqual(
    [...membership.seen, ...crud.seen].map((seen) => `${seen.path}${seen.query}`),
    ["/api/v1/delegations?status=active", "/mcp/tools/list", "/configs/ui"],
  );
});

test("the tool endpoints take agents and our own clients, and no stranger", async (t) => {
  const crud = recordingPeer();
  const made = await testGateway(t, { database: await database(), peers: { crud: crud.peer } });
  const call = async (path: string, token: string) => {
    const response = await made.fetch(path, {
      method: "POST",
      headers: { authorization: `Bearer ${token}`, "content-type": "application/json" },
      body: "{}",
    });
    return {
      status: response.status,
      code: ((await response.json()) as { code?: string }).code,
      challenge: response.headers.get("www-authenticate"),
    };
  };
  const person = { sub: "person:ben", tenant: "tenant:acme", scopes: ["mcp.tools.discovery"] } as const;
  const mcp = "http://localhost:8080/mcp";
  assert.equal((await call("/mcp", await made.identity.tokenFor({ ...person, agent: "agent:hr-assistant" }, mcp))).status, 200);
  assert.equal((await call("/mcp", await made.identity.tokenFor({ ...person, clientId: "sallyport-web" }, mcp))).status, 200);
  assert.equal((await call("/mcp", await made.identity.tokenFor({ ...person, clientId: "stranger" }, mcp))).code, "unknown_client");
  assert.equal(
    (await call("/api/crud/mcp/jsonrpc", await made.identity.tokenFor({ ...person, clientId: "stranger" }, mcp))).code,
    "unknown_client",
  );
  assert.equal((await call("/mcp/people", await made.identity.tokenFor({ ...person, agent: "agent:a" }, `${mcp}/people`))).status, 200);
  assert.equal(
    (await call("/mcp/other", await made.identity.tokenFor({ ...person, agent: "agent:a" }, `${mcp}/people`))).status,
    401,
    "a token for one view",
  );
  const without = await call("/mcp", "x");
  const scopeless = await made.identity.tokenFor({ ...person, scopes: ["membership.read"], agent: "agent:a" }, mcp);
  assert.deepEqual(await call("/mcp", scopeless).then(({ status, code }) => [status, code]), [403, "insufficient_scope"]);
  assert.match(without.challenge ?? "", /scope="mcp.tools.discovery mcp.tools.invoke"/);
  assert.match(without.challenge ?? "", /resource_metadata="http:\/\/localhost:8080\/.well-known\/oauth-protected-resource\/mcp"/);
  const metadata = (await (await made.fetch("/.well-known/oauth-protected-resource/mcp")).json()) as {
    resource: string;
    authorization_servers: string[];
  };
  assert.deepEqual([metadata.resource, metadata.authorization_servers], [mcp, ["http://localhost:8081"]]);
});
