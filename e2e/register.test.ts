import assert from "node:assert/strict";
import { randomUUID } from "node:crypto";
import { after, before, test } from "node:test";
import { signInPerson, type Person } from "./sign-in.ts";
import { startTestInstance, type TestInstance } from "./test-instance.ts";
import { fetchToken } from "./tokens.ts";

let instance: TestInstance;
const signedIn = new Map<string, Person>();

before(async () => {
  instance = await startTestInstance();
  for (const login of ["ada", "ben", "eve"]) signedIn.set(login, await signInPerson(instance.origin, login));
});
after(async () => void (await instance.stop()));

/** As the web client sends it: with the session and what keeps other sites out. */
const send = async (login: string, method: string, path: string, body?: unknown, headers: Readonly<Record<string, string>> = {}) => {
  const response = await fetch(`${instance.origin}/api/membership${path}`, {
    method,
    headers: { ...signedIn.get(login)?.headers, ...headers },
    ...(body === undefined ? {} : { body: typeof body === "string" ? body : JSON.stringify(body) }),
  });
  const text = await response.text();
  // oxlint-disable-next-line typescript/no-explicit-any -- bodies of many shapes
  const read: any =
    /json/.test(response.headers.get("content-type") ?? "") && !/ndjson/.test(response.headers.get("content-type") ?? "")
      ? JSON.parse(text)
      : text;
  return { status: response.status, etag: response.headers.get("etag") ?? "", body: read };
};
const fresh = { "if-none-match": "*" };

test("an administrator writes the graph through the gateway; nobody else does", async () => {
  const group = { kind: "Group", name: "Night shift", reason: "They start in May" };
  const made = await send("ada", "PUT", "/nodes/group:night", group, fresh);
  assert.deepEqual([made.status, made.etag], [201, '"1"'], JSON.stringify(made.body));
  const joined = await send("ada", "PUT", "/edges/MEMBER_OF/account:dan@acme/group:night", { expires_at: "2100-01-01T00:00:00Z" });
  assert.equal(joined.status, 201, JSON.stringify(joined.body));
  const renamed = await send("ada", "PATCH", "/nodes/group:night", { name: "Nights" }, { "if-match": made.etag });
  assert.deepEqual([renamed.status, renamed.body.name], [200, "Nights"]);
  for (const login of ["ben", "eve"])
    for (const [method, path, body, headers] of [
      ["PUT", "/nodes/group:mine", group, fresh],
      ["PATCH", "/nodes/group:night", { name: "Ours" }, { "if-match": "*" }],
      ["DELETE", "/nodes/group:night?cascade=true", undefined, { "if-match": "*" }],
      ["PUT", "/edges/MEMBER_OF/account:ben@acme/group:platform-admins", {}, {}],
      [
        "POST",
        "/graph/changes",
        { changes: [{ op: "drop_node", id: "group:night" }], reason: "mine now" },
        { "idempotency-key": randomUUID() },
      ],
    ] as const) {
      const reply = await send(login, method, path, body, headers);
      assert.deepEqual([login, path, reply.status, reply.body.code], [login, path, 403, "access_denied"]);
    }
  const log = await send("ada", "GET", "/graph/changes?node_id=group:night");
  assert.deepEqual(
    log.body.items.map((item: { actor: string; reason?: string }) => [item.actor, item.reason]),
    [
      ["person:ada", "They start in May"],
      ["person:ada", undefined],
      ["person:ada", undefined],
    ],
  );
});

test("the registry and the searches are reached through the gateway, each by who may", async () => {
  const service = { name: "github", service_type: "external", url: "https://mcp.github.example/mcp" };
  const made = await send("ada", "POST", "/mcp/services", service);
  assert.deepEqual([made.status, made.body.id], [201, "mcp:acme.github"], JSON.stringify(made.body));
  const tool = await send("ada", "POST", "/mcp/services/mcp:acme.github/tools", { name: "list_issues", inputSchema: { type: "object" } });
  assert.deepEqual([tool.status, tool.body.id], [201, "github.list_issues"], JSON.stringify(tool.body));
  assert.equal((await send("ben", "GET", "/mcp/tools/by-name/github_list_issues")).body.id, "github.list_issues");
  assert.deepEqual((await send("ben", "POST", "/mcp/services", service)).body.code, "access_denied");
  assert.equal(
    (await send("eve", "GET", "/mcp/services/mcp:acme.github")).status,
    403,
    "registry/view is for staff of Sallyport's own tenant",
  );
  const found = await send("ben", "GET", "/identity_nodes/fulltext-search?q=bakre");
  assert.deepEqual([found.status, found.body.nodes[0]?.id], [200, "person:ben"], JSON.stringify(found.body));
  assert.equal((await send("ada", "DELETE", "/mcp/services/mcp:acme.github")).status, 204);
});

test("a file goes in and comes out through the gateway, whole or not at all", async () => {
  const headers = (): Record<string, string> => ({ "content-type": "application/x-ndjson", "idempotency-key": randomUUID() });
  const lines = Array.from({ length: 600 }, (_none, at) => `{"node":{"id":"group:file${at}","kind":"Group","name":"File ${at}"}}\n`).join(
    "",
  );
  const path = "/imports?reason=the%20new%20groups";
  const bad = await send("ada", "POST", path, `${lines}{"node":{"id":"x y"}}\n`, headers());
  assert.deepEqual([bad.status, bad.body.code, bad.body.errors[0].line], [422, "import_refused", 601], JSON.stringify(bad.body));
  assert.equal((await send("ada", "GET", "/identity_nodes/group:file0")).status, 404);
  const done = await send("ada", "POST", path, lines, headers());
  assert.deepEqual([done.status, done.body.written], [200, 600], JSON.stringify(done.body));
  const out = await send("ada", "GET", "/export");
  assert.equal(out.status, 200);
  assert.ok(out.body.includes("group:file599") && !out.body.includes("globex"));
  const again = await send("ada", "POST", path, out.body as string, headers());
  assert.deepEqual([again.status, again.body.written], [200, 0], JSON.stringify(again.body));
  for (const login of ["ben", "eve"]) {
    assert.equal((await send(login, "POST", path, lines, headers())).body.code, "access_denied");
    assert.equal((await send(login, "GET", "/export")).status, 403);
  }
});

test("governance and diagnostics are reached through the gateway, each by who may", async () => {
  const control = "/agent/agents/agent:reporter/control";
  const put = await send("ada", "PUT", control, { controller_id: "person:ben", level: "deputy" });
  assert.deepEqual([put.status, put.body.level], [200, "deputy"], JSON.stringify(put.body));
  assert.equal((await send("ben", "GET", "/agent/agents/agent:reporter/controllers")).body.controllers.length, 2);
  assert.equal((await send("ada", "DELETE", `${control}?controller_id=person:ben`)).status, 204);
  const owners = "/resources/resource:acme.pages.people/owners";
  assert.equal((await send("ada", "POST", owners, { owner_identity_id: "person:ben" })).status, 201);
  assert.equal((await send("ben", "GET", owners)).body.owners[0].owner_identity_id, "person:ben");
  const rtr = { kind: "RTR", name: "editor", props: { resource_type: "pages", actions: ["edit"] } };
  assert.equal((await send("ada", "PUT", "/nodes/rtr:editor", rtr, fresh)).status, 201);
  const assign = { actor_label: "Person", actor_id: "person:ben", resource_id: "resource:acme.pages.people", rtr: "editor" };
  assert.equal((await send("ada", "POST", "/rtrs/assign", assign)).status, 201);
  for (const [method, path, body] of [
    ["PUT", control, { controller_id: "person:ben" }],
    ["DELETE", control, undefined],
    ["POST", owners, { owner_identity_id: "person:ben" }],
    ["POST", "/rtrs/assign", assign],
  ] as const)
    for (const login of ["ben", "eve"])
      assert.deepEqual([login, path, (await send(login, method, path, body)).body.code], [login, path, "access_denied"]);
  // The decision point itself is asked what would become of each call.
  const effective = await send("ben", "GET", "/agent/agents/agent:hr-assistant/effective-tools");
  assert.deepEqual(
    effective.body.tools?.map(({ tool_id, works, blocked_by }: Record<string, unknown>) => [tool_id, works, blocked_by]),
    [
      ["people.demo.get_employee", "yes", []],
      ["people.demo.list_employees", "yes", []],
      ["people.demo.update_salary", "step_up", []],
      ["sallyport.local.search_identities", "no", ["capability_missing"]],
    ],
    JSON.stringify(effective.body),
  );
  const impact = await send("ada", "GET", "/agent/agents/agent:hr-assistant/impact");
  assert.equal(impact.body.tools_lost?.length, 3, JSON.stringify(impact.body));
  for (const login of ["ben", "eve"]) assert.equal((await send(login, "GET", "/agent/agents/agent:hr-assistant/impact")).status, 403);
  for (const path of [
    "node-label-counts",
    "relationship-type-counts",
    "orphan-node-counts",
    "relationship-connections?start_id=person:ben",
    "related-nodes?id=person:ben",
  ])
    for (const base of ["", "/diagnostics"]) {
      assert.deepEqual([base, path, (await send("ben", "GET", `${base}/${path}`)).status], [base, path, 200]);
      assert.equal((await send("eve", "GET", `${base}/${path}`)).status, 403);
    }
  assert.equal((await send("ben", "GET", "/diagnostics/health")).body.status, "healthy");
  assert.equal((await send("ada", "GET", "/diagnostics/pip/membership/step-up?subject_id=person:ben")).status, 404);
});

interface Row {
  readonly method: string;
  readonly path: string;
  readonly body?: object;
  readonly headers?: Readonly<Record<string, string>>;
  readonly status?: number;
  /** A part of what is answered. */
  readonly says?: string;
}
const row = (method: string, path: string, more: Omit<Row, "method" | "path"> = {}): Row => ({ method, path, ...more });
const NODES = "/identity_nodes";
const SERVICE = "/mcp/services/mcp:acme.rows";
const CONTROL = "/agent/agents/agent:reporter/control";
const OWNERS = "/resources/resource:acme.pages.people/owners";
const assignment = { actor_label: "Person", actor_id: "person:ben", resource_id: "resource:acme.pages.people", rtr: "rtr:rows" };

/** Every row of the contract, in an order in which each finds what it needs. */
const contract: Readonly<Record<string, readonly Row[]>> = {
  "the eight identity searches": [
    row("GET", `${NODES}/search?search=baker`, { says: "person:ben" }),
    row("GET", `${NODES}/search/with-metadata?node_type=Person&limit=1`, { says: '"has_more":true' }),
    row("GET", `${NODES}/count?node_type=Person`, { says: '"count":4' }),
    row("GET", `${NODES}/systems`, { says: '"systems":' }),
    row("GET", `${NODES}/person:ben`, { says: '"name":"Ben Baker"' }),
    row("GET", `${NODES}/person:ben/relationships?direction=out`, { says: "account:ben@acme" }),
    row("GET", `${NODES}/stats/types`, { says: '"Identity":' }),
    row("GET", `${NODES}/fulltext-search?q=bakre`, { says: "person:ben" }),
  ],
  "the twelve of the registry": [
    row("POST", "/mcp/services", { body: { name: "rows", service_type: "external" }, status: 201, says: "mcp:acme.rows" }),
    row("GET", "/mcp/services?search=rows", { says: "mcp:acme.rows" }),
    row("GET", SERVICE, { says: '"name":"rows"' }),
    row("GET", "/mcp/services/by-name/rows", { says: "mcp:acme.rows" }),
    row("POST", `${SERVICE}/tools`, { body: { name: "read", inputSchema: { type: "object" } }, status: 201, says: "rows.read" }),
    row("GET", `${SERVICE}/tools`, { says: "rows.read" }),
    row("GET", "/mcp/tools/rows.read", { says: "mcp:acme.rows" }),
    row("GET", "/mcp/tools/by-name/rows_read", { says: "rows.read" }),
    row("POST", `${SERVICE}/resources`, { body: { uri: "rows:1" }, status: 201, says: "rows:1" }),
    row("POST", `${SERVICE}/prompts`, { body: { name: "ask" }, status: 201, says: "ask" }),
    row("DELETE", "/mcp/tools/rows.read", { status: 204 }),
    row("DELETE", SERVICE, { status: 204 }),
  ],
  "the six of governance": [
    row("PUT", CONTROL, { body: { controller_id: "person:ben", level: "deputy" }, says: '"level":"deputy"' }),
    row("GET", "/agent/agents/agent:reporter/controllers", { says: "person:ben" }),
    row("DELETE", `${CONTROL}?controller_id=person:ben`, { status: 204 }),
    row("POST", OWNERS, { body: { owner_identity_id: "person:cleo", level: "deputy" }, status: 201, says: "person:cleo" }),
    row("GET", OWNERS, { says: "person:cleo" }),
    row("POST", "/rtrs/assign", { body: assignment, status: 201, says: "rtr:rows" }),
  ],
  "the seven of diagnostics, and the state of the index": [
    row("GET", "/health", { says: '"status":"healthy"' }),
    row("GET", "/node-label-counts", { says: '"Person":4' }),
    row("GET", "/relationship-type-counts", { says: '"MEMBER_OF":' }),
    row("GET", "/orphan-node-counts?sample=1", { says: '"total":' }),
    row("GET", "/relationship-connections?start_id=person:ben&type=BELONGS_TO", { says: "account:ben@acme" }),
    row("GET", "/related-nodes?id=person:ben", { says: "account:ben@acme" }),
    row("GET", "/shortest-path?from=person:ben&to=tenant:acme", { says: '"found":true' }),
    row("GET", "/diagnostics/index", { says: '"reader":"index"' }),
  ],
};
/** What the rows make that the next run of them would find. */
const undo: readonly Row[] = [
  row("DELETE", `${OWNERS}/person:cleo`),
  row("DELETE", "/nodes/rtr:rows?cascade=true", { headers: { "if-match": "*" } }),
];
const role = row("PUT", "/nodes/rtr:rows", {
  body: { kind: "RTR", name: "reader of rows", props: { resource_type: "pages", actions: ["view"] } },
  headers: fresh,
});

test("every row of the contract answers directly with a token and through the gateway with a session, and nobody without either", async () => {
  const [token, other] = [
    await fetchToken(instance.port, { user: "ada", data: instance.data }),
    await fetchToken(instance.port, { user: "ada", scope: "mcp.tools.discovery", data: instance.data }),
  ];
  const direct = async (one: Row, bearer?: string) => {
    const response = await fetch(`http://localhost:${instance.port + 4}/api/v1${one.path}`, {
      method: one.method,
      headers: {
        "content-type": "application/json",
        ...one.headers,
        ...(bearer === undefined ? {} : { authorization: `Bearer ${bearer}` }),
      },
      ...(one.body === undefined ? {} : { body: JSON.stringify(one.body) }),
    });
    return { status: response.status, text: await response.text() };
  };
  const through = async (one: Row) => {
    const { status, body } = await send("ada", one.method, one.path, one.body, one.headers);
    return { status, text: body === "" ? "" : JSON.stringify(body) };
  };
  for (const [way, ask] of [
    ["directly", (one: Row) => direct(one, token)],
    ["through the gateway", through],
  ] as const) {
    assert.equal((await ask(role)).status, 201);
    for (const [rows, all] of Object.entries(contract))
      for (const one of all) {
        const { status, text } = await ask(one);
        const seen = [way, rows, one.method, one.path];
        assert.deepEqual([...seen, status], [...seen, one.status ?? 200], text);
        assert.ok(one.says === undefined || text.includes(one.says), `${seen.join(" ")}: ${text}`);
      }
    for (const one of undo) assert.ok((await ask(one)).status < 300, one.path);
  }
  for (const one of Object.values(contract)
    .flat()
    .filter(({ path }) => path !== "/health")) {
    assert.deepEqual([one.path, (await direct(one)).status, (await direct(one, other)).status], [one.path, 401, 403]);
    const nobody = await fetch(`${instance.origin}/api/membership${one.path}`, { method: one.method });
    assert.deepEqual([one.path, nobody.status], [one.path, 401], await nobody.text());
    const eve = await send("eve", one.method, one.path, one.body, one.headers);
    assert.ok(
      [200, 403, 404].includes(eve.status) &&
        !/acme|Baker/.test(JSON.stringify(eve.body ?? "").replaceAll(/acme\.pages\.people|mcp:acme\.rows/g, "")),
      `eve ${one.path}: ${JSON.stringify(eve.body)}`,
    );
  }
});

test("a client of the policy information point asks it directly; no session reaches it", async () => {
  const token = await fetchToken(instance.port, { client: "service:pip", data: instance.data });
  const step = "pip/membership/step-up?subject_id=person:ben";
  const headers = { authorization: `Bearer ${token}` };
  const reply = await fetch(`http://localhost:${instance.port + 4}/api/v1/${step}`, { headers });
  assert.deepEqual([reply.status, await reply.json()], [200, { mfa_required: true, level: "strong" }]);
  assert.equal((await fetch(`http://localhost:${instance.port + 4}/api/v1/identity_nodes/search`, { headers })).status, 403);
  assert.equal((await send("ada", "GET", `/${step}`)).status, 404);
});

test("a directory pushes somebody through the gateway; switched off there, the next decision about them is a refusal", async () => {
  const strong = await fetchToken(instance.port, { user: "ada", acr: "strong" });
  const asAda = async (method: string, path: string, body: unknown) => {
    const response = await fetch(`http://localhost:${instance.port + 4}/api/v1${path}`, {
      method,
      headers: { authorization: `Bearer ${strong}`, "content-type": "application/json" },
      body: JSON.stringify(body),
    });
    // oxlint-disable-next-line typescript/no-explicit-any -- bodies of many shapes
    const read: any = await response.json();
    assert.ok(response.ok, `${path}: ${JSON.stringify(read)}`);
    return read;
  };
  assert.equal((await send("ada", "POST", "/scim-tokens", { name: "Okta" })).status, 401, "not without a strong sign-in");
  const { token } = await asAda("POST", "/scim-tokens", { name: "Okta" });
  const scim = async (method: string, path: string, body?: unknown, bearer: string = token) => {
    const response = await fetch(`${instance.origin}/scim/v2${path}`, {
      method,
      headers: { authorization: `Bearer ${bearer}`, "content-type": "application/scim+json" },
      ...(body === undefined ? {} : { body: JSON.stringify(body) }),
    });
    const text = await response.text();
    // oxlint-disable-next-line typescript/no-explicit-any -- bodies of many shapes
    const read: any = text === "" ? undefined : JSON.parse(text);
    return { status: response.status, headers: response.headers, body: read };
  };
  const user = { schemas: ["urn:ietf:params:scim:schemas:core:2.0:User"], userName: "kim@acme.example", displayName: "Kim" };
  for (const bearer of ["scim_0000000000000000_x", strong]) assert.equal((await scim("POST", "/Users", user, bearer)).status, 401);
  const made = await scim("POST", "/Users", user);
  assert.equal(made.status, 201, JSON.stringify(made.body));
  assert.equal(made.body.meta.location, `${instance.origin}/scim/v2/Users/${made.body.id}`);
  const found = await scim("GET", `/Users?filter=${encodeURIComponent('userName eq "KIM@acme.example"')}`);
  assert.deepEqual([found.body.totalResults, found.body.Resources[0].id], [1, made.body.id]);

  // Who was pushed works here: every decision about them, and about agents that act for them, goes by what the directory says.
  const kim = `person:scim:${made.body.id}`;
  await asAda("PUT", `/edges/MEMBER_OF/${kim}/role:member`, {});
  const pep = await fetchToken(instance.port, { client: "service:pep", data: instance.data });
  const mayWork = async (): Promise<unknown> => {
    const response = await fetch(`http://localhost:${instance.port + 2}/access/v1/evaluation`, {
      method: "POST",
      headers: { authorization: `Bearer ${pep}`, "content-type": "application/json" },
      body: JSON.stringify({
        subject: { type: "identity", id: kim, properties: { tenant: "tenant:acme" } },
        action: { name: "view_all" },
        resource: { type: "pages", id: "*" },
      }),
    });
    return ((await response.json()) as { decision?: unknown }).decision;
  };
  assert.equal(await mayWork(), true);
  const active = (value: boolean) => ({
    schemas: ["urn:ietf:params:scim:api:messages:2.0:PatchOp"],
    Operations: [{ op: "replace", path: "active", value }],
  });
  const off = await scim("PATCH", `/Users/${made.body.id}`, active(false));
  assert.deepEqual([off.status, off.body.active], [200, false]);
  assert.equal(await mayWork(), false, "at the next question");
  // It holds a role: a directory alone does not wake it.
  assert.equal((await scim("PATCH", `/Users/${made.body.id}`, active(true))).status, 403);
  assert.equal((await scim("DELETE", `/Users/${made.body.id}`)).status, 204);
  assert.deepEqual([(await scim("GET", `/Users/${made.body.id}`)).status, await mayWork()], [404, false]);
});
