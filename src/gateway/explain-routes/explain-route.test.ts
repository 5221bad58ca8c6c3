import assert from "node:assert/strict";
import { test, type TestContext } from "node:test";
import type { Explanation } from "#contract/routes.ts";
import { decidingPeer, rawExchange, recordingPeer, sharedDatabase, testGateway } from "#testing/gateway.ts";

const service = "target_service: crud";
const routes = `version: 1
services:
  crud: { base_urls: ["\${CRUD_SERVICE_URL}"], audience: "\${CRUD_AUDIENCE}" }
routes:
  - { id: open, path: "/api/open/*", ${service}, upstream_path: "/o/{path}", methods: [GET, DELETE], auth: none, authz: none }
  - { id: marked, path: "/api/marked/{id}", ${service}, upstream_path: "/m/{id}", methods: [GET], auth: none, authz: none, allow_encoded: ["%2F"] }
  - { id: form, path: "/api/forms/{id}", ${service}, upstream_path: "/forms/{id}", methods: [GET, OPTIONS], auth: session, authz: pdp, authz_map: { GET: { resource: forms, action: view, id_from: "{id}", props: { route: "{route}" } } } }
  - { id: form.wide, path: "/api/forms/*", ${service}, preserve_path: true, methods: [GET, POST], auth: session, authz: none }
  - id: salary
    path: "/api/employees/{id}/salary"
    ${service}
    preserve_path: true
    methods: [POST]
    auth: session
    authz: pdp
    authz_map:
      POST: { resource: employee, action: update_salary, id_from: "{id}", props: { employee: "{id}", salary: "$.salary" } }
  - { id: unmapped, path: /api/unmapped, ${service}, preserve_path: true, methods: [GET], auth: session, authz: pdp }
  - { id: legacy, path: "/api/legacy/{id}", ${service}, preserve_path: true, methods: [GET], auth: session, authz: pdp }
  - { id: derived, path: "/api/crud/config/{id}", ${service}, preserve_path: true, methods: [GET], auth: session, authz: pdp }
  - { id: pair.session, path: /api/pair, ${service}, preserve_path: true, methods: [GET], auth: session, authz: none }
  - { id: pair.bearer, path: /api/pair, ${service}, preserve_path: true, methods: [GET], auth: bearer, authz: none }
  - { id: scoped, path: /api/scoped, ${service}, preserve_path: true, methods: [GET], auth: bearer, authz: none, bearer: { scopes: [metrics.read] } }
  - { id: mcp.all, path: /mcp, ${service}, preserve_path: true, methods: [POST], auth: bearer, authz: none, streaming: true }
  - { id: secrets.value, path: /api/secrets, ${service}, preserve_path: true, methods: [GET], auth: session, authz: none }
  - { id: wiki.open, path: "/public/*", hosts: ["127.0.0.1:8080"], methods: [GET], auth: none, authz: none }
  - { id: wiki.page, path: "/wiki/{id}", hosts: ["127.0.0.1:8080"], methods: [GET, POST], auth: session, authz: pdp, csrf: origin, authz_map: { GET: { resource: pages, action: view, id_from: "{id}" }, POST: { resource: pages, action: view, id_from: "{id}" } } }
  - { id: wiki.rest, path: "/wiki/*", hosts: ["127.0.0.1:8080"], methods: [GET], auth: session, authz: none, allow_encoded: ["%2F"] }
  - { id: wiki.unmapped, path: /unmapped, hosts: ["127.0.0.1:8080"], methods: [GET], auth: session, authz: pdp }
  - { id: routes.explain, path: /api/v1/routes/explain, target_service: internal, methods: [POST], auth: session, authz: pdp, authz_map: { POST: { resource: gateway.routes, action: explain } } }
  - { id: routes.explain.bearer, path: /api/v1/routes/explain, target_service: internal, methods: [POST], auth: bearer, authz: pdp, authz_map: { POST: { resource: gateway.routes, action: explain } } }
`;
const pdpConfig = `endpoint_map:
  "/api/legacy/{id}": { GET: { resource: pages, action: view, id_from: "{id}" } }
derived_defaults: { enabled: true }
validation_strict: false
`;

const database = sharedDatabase();

/** Ben may all but a few; ada explains, and only she sees others' decisions; the point is away for one form. */
const world = async (t: TestContext) => {
  const crud = recordingPeer();
  const pdp = decidingPeer((type, action, subject) => {
    if (type === "gateway.routes" || type === "decisions")
      return subject === "person:ada" || (subject === "person:cleo" && type !== "decisions");
    if (action === "update_salary") return "step_up_required";
    return subject !== "person:dan";
  });
  const { answer } = pdp;
  pdp.answer = (request) =>
    (pdp.seen.at(-1)?.body ?? "").includes('"id":"broken"') ? new Response("{}", { status: 500 }) : answer(request);
  const made = await testGateway(t, {
    database: await database(),
    routes,
    pdpConfig,
    peers: { crud: crud.peer, pdp: pdp.peer },
    settings: { UI_SECRET_REVEAL: "false", TRUSTED_PROXIES: "127.0.0.1" },
  });
  const { port } = await made.gateway.listen({ port: 0, hosts: ["127.0.0.1"] });
  const ada = await made.signIn("person:ada");
  const explain = async (ask: object, by: Readonly<Record<string, string>> = ada.headers) => {
    const response = await made.fetch("/api/v1/routes/explain", { method: "POST", headers: by, body: JSON.stringify(ask) });
    return { status: response.status, body: (await response.json()) as Explanation & { code?: string } };
  };
  return { crud, pdp, made, port, explain };
};
type World = Awaited<ReturnType<typeof world>>;

interface Case {
  readonly what: string;
  readonly method?: string;
  readonly target: string;
  readonly user?: string;
  /** Of a forward-auth row: its proxy asks. */
  readonly host?: string;
  readonly credential?: "session" | "bearer" | "both" | "none";
  readonly body?: unknown;
  readonly scopes?: readonly string[];
  readonly clientId?: string;
  readonly row?: string;
  readonly status: number;
  readonly code?: string;
  readonly source?: string;
}

const cases: readonly Case[] = [
  { what: "a hit that the decision point permits", target: "/api/forms/7?x=%41", row: "form", status: 200, source: "authz_map" },
  { what: "HEAD, which takes GET's mapping", method: "HEAD", target: "/api/forms/7", row: "form", status: 200, source: "authz_map" },
  { what: "a target that is not in its canonical form yet", target: "/api/%66orms/a%20b", row: "form", status: 200, source: "authz_map" },
  { what: "a denial", target: "/api/forms/7", user: "person:dan", row: "form", status: 403, code: "access_denied", source: "authz_map" },
  { what: "a decision that cannot be had", target: "/api/forms/broken", row: "form", status: 503, code: "decision_unavailable" },
  { what: "an id that is reserved", target: "/api/forms/*", row: "form", status: 400, code: "reserved_resource_id" },
  { what: "no credential", target: "/api/forms/7", credential: "none", row: "form", status: 401, code: "unauthenticated" },
  { what: "a token on a session row", target: "/api/forms/7", credential: "bearer", row: "form", status: 401, code: "unauthenticated" },
  {
    what: "a method of the wider row, which is not asked",
    method: "POST",
    target: "/api/forms/7",
    body: {},
    status: 405,
    code: "method_not_allowed",
  },
  { what: "the wider row", method: "POST", target: "/api/forms/7/rows", body: { a: 1 }, row: "form.wide", status: 200 },
  { what: "OPTIONS, answered here", method: "OPTIONS", target: "/api/forms/7", status: 204 },
  { what: "a method that nobody serves", method: "TRACE", target: "/api/forms/7", status: 405, code: "method_not_allowed" },
  { what: "a body on GET", method: "GET", target: "/api/forms/7", body: {}, status: 400, code: "body_not_allowed" },
  {
    what: "a body on DELETE without delete_body",
    method: "DELETE",
    target: "/api/open/x",
    body: {},
    row: "open",
    status: 400,
    code: "body_not_allowed",
  },
  {
    what: "want of assurance, with a claim",
    method: "POST",
    target: "/api/employees/e7/salary",
    body: { salary: 1 },
    row: "salary",
    status: 401,
    code: "step_up_required",
  },
  {
    what: "a claim that the body lacks",
    method: "POST",
    target: "/api/employees/e7/salary",
    body: {},
    row: "salary",
    status: 422,
    code: "unprocessable",
  },
  { what: "no mapping", target: "/api/unmapped", row: "unmapped", status: 403, code: "no_mapping" },
  { what: "a mapping of the decision point's file", target: "/api/legacy/9", row: "legacy", status: 200, source: "endpoint_map" },
  { what: "a derived mapping", target: "/api/crud/config/9", row: "derived", status: 200, source: "derived" },
  { what: "the session half of a pair", target: "/api/pair", row: "pair.session", status: 200 },
  { what: "the bearer half of a pair", target: "/api/pair", credential: "bearer", row: "pair.bearer", status: 200 },
  { what: "neither half of a pair", target: "/api/pair", credential: "none", row: "pair.session", status: 401, code: "unauthenticated" },
  { what: "both halves of a pair at once", target: "/api/pair", credential: "both", status: 400, code: "ambiguous_credentials" },
  { what: "both credentials where one row is", target: "/api/forms/7", credential: "both", row: "form", status: 200, source: "authz_map" },
  { what: "both credentials where none counts", target: "/api/open/x", credential: "both", row: "open", status: 200 },
  {
    what: "a token without the row's scope",
    target: "/api/scoped",
    credential: "bearer",
    scopes: ["membership.read"],
    row: "scoped",
    status: 403,
    code: "insufficient_scope",
  },
  {
    what: "a token with the row's scope",
    target: "/api/scoped",
    credential: "bearer",
    scopes: ["metrics.read"],
    row: "scoped",
    status: 200,
  },
  {
    what: "a stranger at the tool endpoint",
    method: "POST",
    target: "/mcp",
    credential: "bearer",
    clientId: "stranger",
    body: {},
    row: "mcp.all",
    status: 403,
    code: "unknown_client",
  },
  { what: "a secret's value with reveal off", target: "/api/secrets", row: "secrets.value", status: 403, code: "reveal_disabled" },
  { what: "an open row", target: "/api/open/a/b", credential: "none", row: "open", status: 200 },
  { what: "a mark that the row lists", target: "/api/marked/a%2fb", row: "marked", status: 200 },
  { what: "a mark that the row does not list", target: "/api/marked/a%3Bb", row: "marked", status: 400, code: "ambiguous_target" },
  { what: "a mark where no row is", target: "/api/nowhere/a%2fb", status: 400, code: "ambiguous_target" },
  { what: "a dot segment", target: "/api/open/../forms/7", status: 400, code: "ambiguous_target" },
  { what: "an encoded dot segment", target: "/api/open/%2e%2e/x", status: 400, code: "ambiguous_target" },
  { what: "an empty segment", target: "//api/open/x", status: 400, code: "ambiguous_target" },
  { what: "an absolute target", target: "http://other/api/open/x", status: 400, code: "ambiguous_target" },
  { what: "a target too long", target: `/api/open/${"x".repeat(9000)}`, status: 414, code: "target_too_long" },
  { what: "no row", target: "/api/nowhere", status: 404, code: "not_found" },
  { what: "a path in other letters", target: "/API/open/x", status: 404, code: "not_found" },
  {
    what: "one of the gateway's own paths by a wrong method",
    method: "POST",
    target: "/auth/login",
    body: {},
    row: "auth.login",
    status: 405,
    code: "method_not_allowed",
  },
];

const WIKI = "127.0.0.1:8080";

/** Rows of another application: live, its proxy asks `/auth/verify`. */
const forwardCases: readonly Case[] = [
  { what: "a page that the decision point permits", target: "/wiki/7?x=%41", row: "wiki.page", status: 200, source: "authz_map" },
  { what: "its HEAD", method: "HEAD", target: "/wiki/7", row: "wiki.page", status: 200, source: "authz_map" },
  { what: "a form of that site's own page", method: "POST", target: "/wiki/7", body: { a: 1 }, row: "wiki.page", status: 200 },
  { what: "a target that is not in its canonical form yet", target: "/%77iki/a%20b", row: "wiki.page", status: 200 },
  { what: "a denial", target: "/wiki/7", user: "person:dan", row: "wiki.page", status: 403, code: "access_denied" },
  { what: "a decision that cannot be had", target: "/wiki/broken", row: "wiki.page", status: 503, code: "decision_unavailable" },
  { what: "an id that is reserved", target: "/wiki/*", row: "wiki.page", status: 400, code: "reserved_resource_id" },
  { what: "no credential", target: "/wiki/7", credential: "none", row: "wiki.page", status: 401, code: "unauthenticated" },
  { what: "a token", target: "/wiki/7", credential: "bearer", row: "wiki.page", status: 401, code: "unauthenticated" },
  { what: "both credentials", target: "/wiki/7", credential: "both", row: "wiki.page", status: 200 },
  { what: "the wider row", target: "/wiki/a/b", row: "wiki.rest", status: 200 },
  { what: "a mark that the row lists", target: "/wiki/a/b%2fc", row: "wiki.rest", status: 200 },
  { what: "a mark that the row does not list", target: "/public/a%2Fb", row: "wiki.open", status: 400, code: "ambiguous_target" },
  { what: "an open row", target: "/public/x", credential: "none", row: "wiki.open", status: 200 },
  { what: "no mapping", target: "/unmapped", row: "wiki.unmapped", status: 403, code: "no_mapping" },
  { what: "a method that its row does not list", method: "DELETE", target: "/wiki/7", status: 403, code: "access_denied" },
  { what: "a method that nobody serves", method: "TRACE", target: "/wiki/7", status: 403, code: "access_denied" },
  { what: "no row", target: "/elsewhere", status: 403, code: "access_denied" },
  { what: "a row of the gateway's own", target: "/api/forms/7", status: 403, code: "access_denied" },
  { what: "a dot segment", target: "/public/../wiki/7", status: 400, code: "ambiguous_target" },
  { what: "a host that is not protected", host: "wiki.example", target: "/wiki/7", status: 403, code: "access_denied" },
].map((one) => ({ host: WIKI, ...one, what: `${one.what}, at another application` }) as Case);

const live = async ({ made, port, crud, pdp }: World, one: Case) => {
  const subject = one.user ?? "person:ben";
  const credential = one.credential ?? "session";
  const body = one.body === undefined ? undefined : JSON.stringify(one.body);
  const sent: Record<string, string> =
    body === undefined ? {} : { "content-type": "application/json", "content-length": String(body.length) };
  if (credential === "session" || credential === "both")
    Object.assign(sent, (await made.signIn(subject)).headers, body === undefined ? { "content-type": undefined } : {});
  if (credential === "bearer" || credential === "both") {
    const token = await made.identity.tokenFor({
      sub: subject,
      tenant: "tenant:acme",
      scopes: one.scopes ?? [],
      ...(one.clientId === undefined ? {} : { clientId: one.clientId }),
    });
    sent["authorization"] = `Bearer ${token}`;
  }
  let [method, target] = [one.method ?? "GET", one.target];
  if (one.host !== undefined) {
    const said = { "x-forwarded-method": method, "x-forwarded-uri": target, "x-forwarded-host": one.host };
    Object.assign(sent, said, { origin: `http://${one.host}`, "content-length": undefined, "content-type": undefined });
    [method, target] = ["GET", "/auth/verify"];
  }
  const lines = Object.entries(sent).flatMap(([name, value]) => (value === undefined ? [] : [`${name}: ${value}\r\n`]));
  crud.seen.length = 0;
  pdp.seen.length = 0;
  const content = one.host === undefined ? (body ?? "") : "";
  const bytes = `${method} ${target} HTTP/1.1\r\nHost: localhost:8080\r\n${lines.join("")}\r\n${content}`;
  const [answer] = (await rawExchange(port, bytes)).answers;
  assert.ok(answer !== undefined, "there is an answer");
  const problem = answer.status >= 400 && answer.body !== "" ? (JSON.parse(answer.body) as { code: string; reason?: string }) : undefined;
  const [asked] = pdp.seen;
  return {
    answer,
    problem,
    upstream: crud.seen[0],
    asked: asked === undefined ? undefined : (JSON.parse(asked.body) as Record<string, unknown>),
  };
};

/** The question without what names this one request. */
const question = (asked: Record<string, unknown> | undefined): unknown => {
  if (asked === undefined) return undefined;
  const { correlation_id: _correlation, scopes: _scopes, ...context } = asked["context"] as Record<string, unknown>;
  const subject = structuredClone(asked["subject"]) as { properties: Record<string, unknown> };
  delete subject.properties["auth_time"];
  return { ...asked, subject, context };
};

for (const one of [...cases, ...forwardCases])
  test(`a dry run says what the live request meets: ${one.what}`, async (t) => {
    const made = await world(t);
    const met = await live(made, one);
    assert.deepEqual([met.answer.status, met.problem?.code], [one.status, one.code]);
    made.crud.seen.length = 0;
    const { status, body } = await made.explain({
      method: one.method ?? "GET",
      target: one.target,
      ...(one.host === undefined ? {} : { host: one.host }),
      credential: one.credential ?? "session",
      subject: {
        id: one.user ?? "person:ben",
        ...(one.scopes === undefined ? {} : { scopes: one.scopes }),
        ...(one.clientId === undefined ? {} : { client_id: one.clientId }),
      },
      ...(one.body === undefined ? {} : { body: one.body }),
    });
    assert.equal(status, 200, JSON.stringify(body));
    assert.deepEqual(made.crud.seen, [], "nothing is sent");
    const { answer } = body;
    if (met.upstream === undefined) {
      assert.deepEqual(
        [answer.status, answer.code, answer["reason"], answer["allow"]],
        [met.answer.status, met.problem?.code, met.problem?.reason, met.answer.headers.get("allow")],
      );
      if (one.status >= 400) assert.equal(body.steps.at(-1)?.result, "refuse", JSON.stringify(body.steps));
      if (answer.status === 401) assert.equal(answer["www_authenticate"], met.answer.headers.get("www-authenticate"));
    } else {
      assert.equal(answer.outcome, "forwarded");
      assert.equal(body.upstream?.path, `${met.upstream.path}${met.upstream.query}`);
      assert.ok(body.steps.every((step) => step.result !== "refuse"));
    }
    assert.deepEqual(question(body.authzen_request), question(met.asked));
    assert.equal(body.row?.id, one.row);
    if (one.source !== undefined) assert.equal(body.mapping?.source, one.source);
  });

test("row and mapping are named with file and line, and the rows that lost with the reason", async (t) => {
  const { explain } = await world(t);
  const line = (text: string) => routes.split("\n").findIndex((one) => one.includes(text)) + 1;
  const { body } = await explain({ method: "POST", target: "/api/employees/e7/salary", body: { salary: 5 } });
  assert.match(String(body.row?.file), /routes\.yaml$/);
  assert.deepEqual([body.row?.line, body.mapping?.line], [line("id: salary"), line("POST: { resource: employee")]);
  assert.deepEqual(body.captures, { id: "e7" });
  assert.deepEqual(body.mapping?.props, { employee: "{id}", salary: "$.salary" });
  const external = await explain({ method: "GET", target: "/api/legacy/9" });
  assert.match(String(external.body.mapping?.file), /pdp\.yaml$/);
  assert.equal(external.body.mapping?.line, 2);
  const form = await explain({ method: "GET", target: "/api/forms/7" });
  assert.deepEqual(
    form.body.candidates.map(({ id, chosen, why }) => [id, chosen, why]),
    [
      ["form", true, "the most specific pattern, and it takes the method"],
      ["form.wide", false, "/api/forms/{id} is more specific"],
    ],
  );
  const pair = await explain({ method: "GET", target: "/api/pair", credential: "bearer" });
  assert.deepEqual(
    pair.body.candidates.map(({ id, chosen, why }) => [id, chosen, why]),
    [
      ["pair.session", false, "the other credential chooses it"],
      ["pair.bearer", true, "the most specific pattern, and it takes the method"],
    ],
  );
  const refused = await explain({ method: "POST", target: "/api/forms/7" });
  assert.deepEqual(refused.body.candidates.map(({ id, why }) => [id, why])[0], ["form", "does not take POST"]);
  assert.deepEqual(
    form.body.steps.map(({ step }) => step),
    "frame canonical_form match method credential encoded_marks recognise csrf reveal decide upstream".split(" "),
  );
});

test("the rows of another application are named by themselves, with those that lost", async (t) => {
  const { explain } = await world(t);
  const { body } = await explain({ method: "GET", target: "/wiki/7", host: WIKI });
  assert.deepEqual([body.row?.kind, body.row?.auth, body.captures["id"]], ["forward_auth", "session", "7"]);
  assert.equal(body.row?.line, routes.split("\n").findIndex((one) => one.includes("id: wiki.page")) + 1);
  assert.deepEqual(
    body.candidates.map(({ id, chosen }) => [id, chosen]),
    [
      ["wiki.page", true],
      ["wiki.rest", false],
    ],
  );
  assert.deepEqual(
    body.steps.map(({ step }) => step),
    "frame canonical_form match encoded_marks recognise csrf decide".split(" "),
  );
  const own = await explain({ method: "GET", target: "/wiki/7" });
  assert.deepEqual([own.body.answer.code, own.body.candidates], ["not_found", []], "the gateway itself serves none of them");
});

test("an agent is explained as the bearer that it would be, with its person", async (t) => {
  const { explain } = await world(t);
  const { body } = await explain({
    method: "GET",
    target: "/api/pair",
    subject: { id: "person:ben", agent: "agent:hr-assistant", acr: "strong", auth_time: 1_700_000_000 },
  });
  assert.deepEqual([body.row?.id, body.upstream?.["credential"]], ["pair.bearer", "house_token"]);
});

test("a dry run counts nothing, records no denial and forwards nothing", async (t) => {
  const { explain, made, crud } = await world(t);
  const counts = async () =>
    (await made.metrics.text()).split("\n").filter((row) => row.startsWith("bff_authz_requests_total{") && !row.includes("gateway.routes"));
  const denials = async () => {
    await made.events.integrator.integrate();
    const count = { name: "test.denials", text: "select count(*)::int as denied from events.audit_entry where outcome = 'denied'" };
    return (await made.database.run<{ denied: number }>(count, []))[0]?.denied;
  };
  const dan = await made.signIn("person:dan");
  assert.equal((await made.fetch("/api/forms/7", { headers: dan.cookie })).status, 403);
  const before = [await counts(), await denials()];
  const { body } = await explain({ method: "GET", target: "/api/forms/7", subject: { id: "person:dan" } });
  assert.equal(body.answer.code, "access_denied");
  await explain({ method: "GET", target: "/api/unmapped" });
  assert.deepEqual([await counts(), await denials()], before);
  assert.deepEqual(crud.seen, []);
  assert.equal((await made.fetch("/api/forms/7", { headers: dan.cookie })).status, 403);
  assert.equal(await denials(), Number(before[1]) + 1, "a live denial is recorded");
});

test("others are explained only to who may see everybody's decisions; oneself to whoever may explain", async (t) => {
  const { explain, made } = await world(t);
  const cleo = (await made.signIn("person:cleo")).headers;
  const ben = (await made.signIn("person:ben")).headers;
  const ask = { method: "GET", target: "/api/forms/7" };
  assert.equal((await explain(ask, cleo)).status, 200);
  assert.equal((await explain({ ...ask, subject: { id: "person:cleo", acr: "strong" } }, cleo)).status, 200);
  const other = await explain({ ...ask, subject: { id: "person:ben" } }, cleo);
  assert.deepEqual([other.status, other.body.code], [403, "access_denied"]);
  assert.deepEqual([(await explain(ask, ben)).status, (await explain(ask, {})).status], [403, 401]);
  const { "x-csrf-token": _token, ...forged } = cleo;
  assert.equal((await explain(ask, forged)).body.code, "csrf_failed");
});

test("the decision is asked in the viewer's own tenant, whoever is named", async (t) => {
  const { explain } = await world(t);
  const { body } = await explain({ method: "GET", target: "/api/forms/7", subject: { id: "person:eve" } });
  const { subject } = body.authzen_request as { subject: { id: string; properties: { tenant: string } } };
  assert.deepEqual([subject.id, subject.properties.tenant], ["person:eve", "tenant:acme"]);
});

for (const [what, ask] of [
  ["an unknown member", { method: "GET", target: "/", path: "/x" }],
  ["no target", { method: "GET" }],
  ["a method that is none", { method: "get it", target: "/" }],
  ["a subject that is none", { method: "GET", target: "/", subject: { id: "a b" } }],
] as const)
  test(`an ask with ${what} is refused`, async (t) => {
    const { explain } = await world(t);
    const { status, body } = await explain(ask);
    assert.deepEqual([status, body.code], [422, "invalid_body"]);
  });
