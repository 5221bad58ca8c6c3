import assert from "node:assert/strict";
import { test } from "node:test";
import { fileURLToPath } from "node:url";
import { crudSettings } from "#crud/config.ts";
import { schemaActions } from "#pdp/bundle/schema-actions.ts";
import { decidingPeer, recordingPeer, sharedDatabase, testGateway } from "#testing/gateway.ts";
import { isBuiltInPath } from "./steps/built-in-path.ts";
import { insideIds } from "./routes/internal-rows.ts";
import { loadRoutes } from "./routes/load-routes.ts";
import type { RouteTable } from "./routes/route-table.ts";

const database = sharedDatabase();

const shippedTable = async (): Promise<RouteTable> => {
  const services = ["PDP", "CRUD", "MEMBERSHIP", "SECRETS"].flatMap((name) => [`${name}_SERVICE_URL`, `${name}_AUDIENCE`]);
  const { table } = await loadRoutes({
    routesFile: fileURLToPath(new URL("../../config/routes.yaml", import.meta.url)),
    pdpConfigFile: fileURLToPath(new URL("../../config/pdp.yaml", import.meta.url)),
    variables: Object.fromEntries(services.map((name) => [name, "http://localhost:8090"])),
    handlers: insideIds,
    internalAudiences: ["http://localhost:8090"],
    publicHosts: new Set(["localhost:8080"]),
    isBuiltIn: isBuiltInPath,
    schemaActions,
  });
  return table;
};

const evaluation = "POST, OPTIONS";
const readOnly = "GET, OPTIONS, HEAD";
for (const [rest, allow, refused] of [
  ["evaluation", evaluation, "GET"],
  ["evaluations", evaluation, "DELETE"],
  ["search/subject", evaluation, "GET"],
  ["search/resource", evaluation, "GET"],
  ["search/action", evaluation, "GET"],
  ["budgets/effective", readOnly, "POST"],
  ["budgets/effective", readOnly, "DELETE"],
] as const)
  for (const base of ["/access/v1", "/api/pdp"])
    test(`OPTIONS ${base}/${rest} says what may be sent, without a credential; ${refused} is no part of it`, async (t) => {
      const pdp = recordingPeer();
      const made = await testGateway(t, { database: await database(), peers: { pdp: pdp.peer } });
      const options = await made.fetch(`${base}/${rest}`, { method: "OPTIONS" });
      assert.deepEqual([options.status, options.headers.get("allow"), await options.text()], [204, allow, ""]);
      const { headers } = await made.signIn("person:ben");
      const other = await made.fetch(`${base}/${rest}`, { method: refused, headers, ...(refused === "POST" ? { body: "{}" } : {}) });
      assert.deepEqual([other.status, other.headers.get("allow")], [405, allow]);
      assert.deepEqual(pdp.seen, [], "the decision point hears of none of it");
    });

test("effective budgets are the decision point's, under both names and by both credentials", async (t) => {
  const pdp = recordingPeer();
  const made = await testGateway(t, { database: await database(), peers: { pdp: pdp.peer } });
  const { cookie } = await made.signIn("person:ben");
  const token = await made.identity.tokenFor({ sub: "person:ben", tenant: "tenant:acme", scopes: [] });
  for (const base of ["/access/v1", "/api/pdp"])
    for (const headers of [cookie, { authorization: `Bearer ${token}` }]) {
      const response = await made.fetch(`${base}/budgets/effective?scope=user`, { headers });
      assert.equal(response.status, 200, await response.text());
      const { method, path, query } = pdp.seen.at(-1) ?? {};
      assert.deepEqual([method, path, query], ["GET", "/access/v1/budgets/effective", "?scope=user"]);
    }
});

const kinds: readonly (readonly [
  target: string,
  methods: string,
  question: readonly [type: string, action: string, id: string] | undefined,
])[] = [
  ["/api/crud/pages", "GET", ["pages", "view_all", "*"]],
  ["/api/crud/pages/people", "GET", ["pages", "view", "people"]],
  ["/api/crud/pages/people/history", "GET POST", ["pages", "view", "people"]],
  ["/api/crud/pages/people/grids/1/rows", "GET POST", ["pages", "view", "people"]],
  ["/api/crud/forms/7", "GET", ["forms", "view", "7"]],
  ["/api/crud/forms/7/submit", "POST", ["forms", "view", "7"]],
  ["/api/crud/tasks", "GET", ["tasks", "view_all", "*"]],
  ["/api/crud/tasks/7", "GET", ["tasks", "view_all", "*"]],
  ["/api/crud/tasks/7/history", "GET", ["tasks", "view_all", "*"]],
  ["/api/crud/workflows", "GET", ["workflows", "view_all", "*"]],
  ["/api/crud/workflows/grant_access", "GET", ["workflows", "view_all", "*"]],
  ["/api/crud/workflows/runs/7", "GET", ["workflows", "view_all", "*"]],
  ["/api/crud/pages", "POST", undefined],
  ["/api/crud/pages/people", "PUT DELETE", undefined],
  ["/api/crud/forms", "GET POST", undefined],
  ["/api/crud/forms/7", "PUT DELETE", undefined],
  ["/api/crud/tasks/7/complete", "POST", undefined],
  ["/api/crud/workflows/grant_access/start", "POST", undefined],
  ["/api/crud/systems", "GET POST", undefined],
];
for (const [target, methods, question] of kinds)
  for (const method of methods.split(" "))
    test(`${method} ${target} is ${question === undefined ? "the service's to decide" : `decided as ${question.join(" ")}, then the service's`}`, async (t) => {
      const crud = recordingPeer();
      crud.answer = () => Response.json({ code: "not_found" }, { status: 404 });
      let permits = true;
      const pdp = decidingPeer(() => permits);
      const made = await testGateway(t, { database: await database(), peers: { crud: crud.peer, pdp: pdp.peer } });
      const { headers } = await made.signIn("person:ben");
      const ask = () => made.fetch(target, { method, headers, ...(method === "POST" || method === "PUT" ? { body: "{}" } : {}) });
      assert.equal((await ask()).status, 404, "what is not there, the service says");
      assert.deepEqual(
        crud.seen.map(({ method: sent, path }) => `${sent} ${path}`),
        [`${method} ${target.slice("/api/crud".length)}`],
      );
      permits = false;
      assert.equal((await ask()).status, question === undefined ? 404 : 403);
      assert.equal(crud.seen.length, question === undefined ? 2 : 1);
      const asked = pdp.seen.map(({ body }) => {
        const { resource, action } = JSON.parse(body) as { resource: { type: string; id: string }; action: { name: string } };
        return [resource.type, action.name, resource.id];
      });
      assert.deepEqual(asked, question === undefined ? [] : [question, question]);
    });

for (const [path, upstream, action] of [
  ["/api/v1/events/workflow", "/events/workflow", "workflow"],
  ["/events/workflow", "/events/workflow", "workflow"],
  ["/api/v1/events/config", "/events/config", "config"],
  ["/events/config", "/events/config", "config"],
  ["/api/v1/events/activity", "/events/activity", "activity"],
  ["/events/activity", "/events/activity", "activity"],
  ["/api/v1/configs/stream", "/configs/stream", "config"],
] as const)
  test(`${path} is the tool service's ${upstream} for whom streams/${action} is permitted, its refusal too`, async (t) => {
    const crud = recordingPeer();
    const pdp = decidingPeer((type, asked, subject) => type === "streams" && asked === action && subject === "person:ben");
    const made = await testGateway(t, { database: await database(), peers: { crud: crud.peer, pdp: pdp.peer } });
    crud.answer = () => new Response("data: x\n\n", { headers: { "content-type": "text/event-stream" } });
    const open = await made.fetch(path, { headers: (await made.signIn("person:ben")).cookie });
    assert.equal(open.headers.get("content-type"), "text/event-stream");
    assert.match(await open.text(), /^retry: 3000\n\n[^]*data: x\n\n[^]*event: bye\ndata: .*"upstream"/);
    crud.answer = () => Response.json({ code: "not_found" }, { status: 404 });
    assert.equal((await made.fetch(path, { headers: (await made.signIn("person:ben")).cookie })).status, 404);
    assert.deepEqual(
      crud.seen.map((request) => request.path),
      [upstream, upstream],
    );
    assert.equal((await made.fetch(path, { headers: (await made.signIn("person:eve")).cookie })).status, 403);
    assert.equal(crud.seen.length, 2);
  });

const dialect = ["/api/crud/mcp/jsonrpc", "/api/crud/mcp/people/jsonrpc"];
const standard = ["/api/crud/mcp", "/api/crud/mcp/people", "/api/crud/mcp/%70eople", "/api/crud/%6dcp"];
test("a session speaks the contract's dialect alone: standard MCP is for tokens, whatever the path is written like", async (t) => {
  const crud = recordingPeer();
  const made = await testGateway(t, { database: await database(), peers: { crud: crud.peer } });
  const { headers } = await made.signIn("person:ben");
  const token = await made.identity.tokenFor({ sub: "person:ben", tenant: "tenant:acme", scopes: [], agent: "agent:a" });
  const json = { "content-type": "application/json" };
  const status = async (path: string, credential: Readonly<Record<string, string>>) =>
    (await made.fetch(path, { method: "POST", headers: { ...json, ...credential }, body: "{}" })).status;
  for (const path of dialect)
    assert.deepEqual([await status(path, headers), await status(path, { authorization: `Bearer ${token}` })], [200, 200], path);
  crud.seen.length = 0;
  for (const path of standard) assert.equal(await status(path, headers), 401, path);
  for (const path of ["/api/crud/mcp/", "/api/crud/mcp/people/"]) assert.equal(await status(path, headers), 404, path);
  for (const path of ["/api/crud/mcp%2Fpeople", "/api/crud/mcp;a"]) assert.equal(await status(path, headers), 400, path);
  assert.deepEqual(crud.seen, [], "the tool service hears of none of it");
  for (const path of standard) assert.equal(await status(path, { authorization: `Bearer ${token}` }), 200, path);
  assert.deepEqual(new Set(crud.seen.map(({ path }) => path)), new Set(["/mcp", "/mcp/people"]));
  const stranger = await made.identity.tokenFor({ sub: "person:ben", tenant: "tenant:acme", scopes: [], clientId: "stranger" });
  for (const path of standard) assert.equal(await status(path, { authorization: `Bearer ${stranger}` }), 403, path);
});

/** What stands before `*` alone, and with a slash behind it: the rows that serve it, none where there are none. */
const edges: Readonly<Record<string, readonly [bare: string, slash: string]>> = {
  "/access/v1/*": ["", ""],
  "/api/pdp/*": ["", ""],
  "/api/crud/mcp/*": ["crud.mcp.standard", ""],
  "/mcp/*": ["mcp.all", ""],
  "/api/crud/events/*": ["crud.events.bare", ""],
  "/api/crud/pages/{id}/*": ["crud.page crud.page.changes", ""],
  "/api/crud/forms/{id}/*": ["crud.form crud.form.changes", ""],
  "/api/crud/tasks/*": ["crud.tasks crud.tasks.changes", ""],
  "/api/crud/workflows/*": ["crud.workflows crud.workflows.changes", ""],
  // Systems and the tools document: the same is asked in both rows, only their texts are taken as they are in the narrower one.
  "/api/crud/config/*": ["crud.rest", "crud.rest"],
  "/api/crud/*": ["", ""],
  "/api/membership/pip/*": ["membership.pip.bare", ""],
  "/scim/v2/*": ["", ""],
  "/api/membership/*": ["", ""],
  "/api/secrets/*": ["secrets.all", ""],
};
test("no bare form of a prefix, and none with a slash behind it, falls into a row that asks for less", async () => {
  const table = await shippedTable();
  const ids = (path: string) => (table.find(path)?.routes ?? []).map(({ id }) => id).join(" ");
  const prefixes = new Set(table.routes.map(({ pattern }) => pattern.text).filter((text) => text.endsWith("/*")));
  const found = Object.fromEntries(
    [...prefixes].map((prefix) => {
      const bare = prefix.slice(0, -2).replace("{id}", "7");
      return [prefix, [ids(bare), ids(`${bare}/`)]];
    }),
  );
  assert.deepEqual(found, edges);
  for (const path of ["/api/crud/tasks/", "/api/crud/pages/", "/api/crud/forms/7/", "/api/crud/pages/7/"])
    assert.equal(ids(path), "", path);
  assert.equal(ids("/api/crud/systems/"), "crud.rest", "what no narrower row names stays the service's");
});

test("the rows that tools are called by wait longer than a call may take, and many calls of one tenant leave others their share", async () => {
  const { routes } = await shippedTable();
  const called = routes.filter(
    ({ target, row }) => target.kind === "service" && target.service.name === "crud" && /\/mcp\b|\/execute$/.test(row.path),
  );
  assert.ok(called.length > 5);
  for (const { id, row, target } of called) {
    const { headers_ms: headersMs, total_ms: totalMs } = row.timeouts;
    assert.ok((row.streaming ? totalMs : headersMs) > Number(crudSettings.callTimeoutMs.default), id);
    assert.ok(target.kind === "service" && target.service.pool > Number(crudSettings.maxCalls.default), id);
  }
});
