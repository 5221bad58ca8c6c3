import assert from "node:assert/strict";
import { test } from "node:test";
import { MASKED_META } from "#contract/masked-places.ts";
import { agent, API_KEY, crudInstance, peopleTools } from "#testing/crud-instance.ts";

const call = (name: string, args?: unknown, more: object = {}) => ({
  jsonrpc: "2.0",
  id: "1",
  method: "tools/invoke",
  params: { name, ...(args === undefined ? {} : { arguments: args }) },
  ...more,
});
const agentOnly = { as: agent };

test("the lists hold health first, then what view, capabilities and policy allow", async (t) => {
  const instance = await crudInstance(t);
  const response = await instance.request("/mcp/tools/list", { as: agent });
  assert.equal(response.status, 200);
  assert.equal(response.headers.get("cache-control"), "private, no-cache");
  const { tools } = (await response.json()) as { tools: Record<string, unknown>[] };
  assert.deepEqual(
    tools.map((tool) => tool["name"]),
    ["system.health", ...peopleTools],
  );
  const { inputSchema: _input, ...shown } = tools[1] ?? {};
  assert.deepEqual(shown, {
    name: "people.demo.get_employee",
    title: "Get one employee",
    description: "Shows one employee of your tenant by id, such as e1.",
    source: "system",
    metadata: { provider: "people", instance: "demo", env: "dev" },
    annotations: { readOnlyHint: true, idempotentHint: true, destructiveHint: false, tags: ["hr"] },
  });
  assert.deepEqual(Object.keys(tools[0] ?? {}).toSorted(), ["annotations", "description", "inputSchema", "name", "source", "title"]);

  const etag = response.headers.get("etag") ?? "";
  assert.match(etag, /^"sha256-[0-9a-f]{64}"$/);
  assert.equal((await instance.request("/mcp/tools/list", { as: agent, headers: { "if-none-match": etag } })).status, 304);
});

test("the tag of a list is another as soon as anything in the list is", async (t) => {
  const instance = await crudInstance(t, { realEvents: true });
  instance.membership.capabilities = ["staff.book.get_one"];
  const document = (env: string): string => `apiVersion: systems/v1
provider: staff
instance: book
env: ${env}
title: Staff book
owner: group:people-ops
tenants: [tenant:acme]
kind: http
baseUrl: https://staff.example
defaults: { dataScope: none }
operations: { get_one: { description: Shows one employee by id., request: { method: GET, path: /one } } }
`;
  const publish = async (method: string, path: string, env: string): Promise<void> => {
    const as = { sub: "person:ada", scopes: ["config.write"] };
    const made = await instance.request(path, { method, as, raw: document(env), headers: { "content-type": "application/yaml" } });
    assert.ok(made.ok, await made.text());
  };
  await publish("POST", "/config/systems", "dev");
  const list = (tag = "") => instance.request("/mcp/staff/tools/list", { as: agent, headers: tag === "" ? {} : { "if-none-match": tag } });
  const tag = (await list()).headers.get("etag") ?? "";
  assert.equal((await list(tag)).status, 304);
  await publish("PUT", "/config/systems/staff.book", "prod");
  const changed = await list(tag);
  assert.equal(changed.status, 200);
  const { tools } = (await changed.json()) as { tools: { metadata?: { env: string } }[] };
  assert.equal(tools[1]?.metadata?.env, "prod");
});

test("a view holds its own tools and health; a person without agent is asked of policy alone", async (t) => {
  const instance = await crudInstance(t);
  const names = async (path: string, as = {}) =>
    ((await (await instance.request(path, { as })).json()) as { tools: { name: string }[] }).tools.map((tool) => tool.name);
  assert.deepEqual(await names("/mcp/sallyport/tools/list"), [
    "system.health",
    "sallyport.local.search_identities",
    "sallyport.local.shortest_path",
  ]);
  assert.deepEqual(await names("/mcp/sallyport-local/tools/list"), [
    "system.health",
    "sallyport.local.search_identities",
    "sallyport.local.shortest_path",
  ]);
  assert.deepEqual(await names("/mcp/hr/tools/list"), ["system.health", ...peopleTools]);
  const ofRuns = ["workflow.status", "workflow.resume", "workflow.cancel", "workflow.simulate"];
  const starting = ["workflow.grant_access", "workflow.offboard"];
  assert.deepEqual(await names("/mcp/workflows/tools/list"), ["system.health", ...ofRuns, ...starting]);
  instance.verdicts.set("workflows:view_all", false);
  assert.deepEqual(await names("/mcp/workflows/tools/list"), ["system.health", ...starting]);
  instance.verdicts.set("tool:tools/list people.demo.update_salary", false);
  assert.deepEqual(await names("/mcp/people/tools/list"), ["system.health", "people.demo.get_employee", "people.demo.list_employees"]);
  assert.equal((await instance.request("/mcp/nowhere/tools/list")).status, 404);
  assert.equal(
    ((await (await instance.request("/mcp/nowhere/jsonrpc", { body: call("system.health") })).json()) as { code: string }).code,
    "unknown_view",
  );
});

test("without a live delegation an agent's list is health alone", async (t) => {
  const instance = await crudInstance(t);
  instance.membership.capabilities = [];
  const { body } = await instance.rpc({ jsonrpc: "2.0", id: 7, method: "tools/list" }, agentOnly);
  assert.deepEqual([body.id, body.result.tools.map((tool) => tool.name), body.result.nextCursor], [7, ["system.health"], undefined]);
});

test("pages go on after the last name, for their own principal and view only", async (t) => {
  const instance = await crudInstance(t);
  const seen: string[] = [];
  let cursor: string | undefined;
  do {
    const { body } = await instance.rpc(
      { jsonrpc: "2.0", id: 1, method: "tools/list", params: { limit: 1, ...(cursor === undefined ? {} : { cursor }) } },
      agentOnly,
    );
    seen.push(...body.result.tools.map((tool) => tool.name));
    cursor = body.result.nextCursor;
    if (seen.length === 1) {
      const elsewhere = await instance.rpc(
        { jsonrpc: "2.0", id: 1, method: "tools/list", params: { cursor } },
        { path: "/mcp/people/jsonrpc", as: agent },
      );
      assert.deepEqual([elsewhere.status, elsewhere.body.error?.code, elsewhere.body.error?.data.code], [200, -32602, "invalid_cursor"]);
      const foreign = await instance.request(`/mcp/tools/list?cursor=${cursor ?? ""}`);
      assert.equal(foreign.status, 400);
    }
  } while (cursor !== undefined);
  assert.deepEqual(seen, ["system.health", ...peopleTools]);
  for (const limit of ["0", "501", "x", "1.5"]) assert.equal((await instance.request(`/mcp/tools/list?limit=${limit}`)).status, 400, limit);
  const { body } = await instance.rpc({ jsonrpc: "2.0", id: 1, method: "tools/list", params: { limit: 0 } });
  assert.deepEqual([body.error?.code, body.error?.data.code], [-32602, "invalid_limit"]);
});

test("a call answers the contract's result: filtered rows, the year of birth for an agent, no credential", async (t) => {
  const instance = await crudInstance(t);
  instance.verdicts.set("employee:read_birth_date", false);
  const { status, body, headers } = await instance.rpc(
    call("people.demo.list_employees", { department: "Engineering", limit: 3 }),
    agentOnly,
  );
  assert.equal(status, 200);
  assert.deepEqual(Object.keys(body.result), ["content", "_meta"]);
  assert.ok(body.result._meta?.[MASKED_META]?.some(({ path, kind }) => path === "/items/*/birth_date" && kind === "year"));
  const output = JSON.parse(body.result.content[0]?.text ?? "") as { items: Record<string, unknown>[] };
  assert.equal(output.items.length, 3);
  for (const row of output.items) {
    assert.equal(row["tenant"], "tenant:acme");
    assert.match(String(row["birth_date"]), /^\d{4}$/);
    assert.equal(typeof row["salary"], "number");
  }
  assert.match(headers.get("x-decision-id") ?? "", /^d_/);
  assert.deepEqual(
    instance.membership.settled.map(({ usd, steps, outcome }) => ({ usd, steps, outcome })),
    [{ usd: 0.002, steps: 1, outcome: "ok" }],
  );
  assert.ok(!JSON.stringify([body, instance.lines, instance.entries]).includes(API_KEY));
});

test("both spellings of a name and of the method mean the same tool", async (t) => {
  const instance = await crudInstance(t);
  for (const body of [
    call("system.health"),
    call("system_health", {}, { method: "tools/call" }),
    call("people.demo.get_employee", { id: "e1" }, { id: 5 }),
    call("people_demo_get_employee", { id: "e1" }, { method: "tools/call" }),
  ]) {
    const answered = await instance.rpc(body);
    assert.equal(answered.body.error, undefined, JSON.stringify(answered.body));
    assert.equal(answered.body.id, body.id);
  }
  const { body } = await instance.rpc(call("system.health", { verbose: true }));
  const health = JSON.parse(body.result.content[0]?.text ?? "") as { status: string; checks: Record<string, string> };
  assert.deepEqual([health.checks["database"], health.checks["membership"], health.checks["secrets"]], ["up", "up", "up"]);
});

test("envelopes that are no request get the codes of JSON-RPC and the contract", async (t) => {
  const instance = await crudInstance(t);
  const cases: [string, string, number, number, string][] = [
    ["unreadable JSON", "{", 400, -32700, "body_unreadable"],
    ["a member twice", '{"jsonrpc":"2.0","id":1,"id":2,"method":"tools/list"}', 400, -32700, "duplicate_member"],
    ["a batch", "[]", 200, -32600, "invalid_request"],
    ["no id", '{"jsonrpc":"2.0","method":"tools/list"}', 200, -32600, "invalid_request"],
    ["a null id", '{"jsonrpc":"2.0","id":null,"method":"tools/list"}', 200, -32600, "invalid_request"],
    ["a fraction as id", '{"jsonrpc":"2.0","id":1.5,"method":"tools/list"}', 200, -32600, "invalid_request"],
    ["another version", '{"jsonrpc":"1.0","id":1,"method":"tools/list"}', 200, -32600, "invalid_request"],
    ["another case", '{"jsonrpc":"2.0","id":1,"method":"Tools/List"}', 200, -32601, "unknown_method"],
    ["initialize", '{"jsonrpc":"2.0","id":1,"method":"initialize"}', 200, -32601, "unknown_method"],
    ["no name", '{"jsonrpc":"2.0","id":1,"method":"tools/call","params":{}}', 200, -32602, "invalid_params"],
    ["params as a list", '{"jsonrpc":"2.0","id":1,"method":"tools/call","params":[]}', 200, -32602, "invalid_params"],
  ];
  for (const [name, raw, status, code, dataCode] of cases) {
    const response = await instance.request("/mcp/jsonrpc", { raw, headers: { "content-type": "application/json" } });
    const body = (await response.json()) as { id: unknown; error: { code: number; data: { code: string; correlation_id: string } } };
    assert.deepEqual([response.status, body.error.code, body.error.data.code], [status, code, dataCode], name);
    assert.equal(body.error.data.correlation_id, response.headers.get("x-correlation-id"), name);
    if (code === -32600 || code === -32700) assert.equal(body.id, null, name);
  }
  assert.equal((await instance.request("/mcp/jsonrpc", { raw: "{}", headers: { "content-type": "text/plain" } })).status, 415);
  assert.equal(
    (await instance.request("/mcp/jsonrpc", { raw: `"${"x".repeat(1_100_000)}"`, headers: { "content-type": "application/json" } })).status,
    413,
  );
});

test("no token, a token without the scope and a foreign client are told apart", async (t) => {
  const instance = await crudInstance(t);
  const anonymous = await instance.crud.fetch(
    new Request("http://sallyport.internal/mcp/jsonrpc", { method: "POST", body: "{}", headers: { "content-type": "application/json" } }),
  );
  assert.equal(anonymous.status, 401);
  const listing = { as: { scopes: ["mcp.tools.discovery"] } };
  const { status, body, headers } = await instance.rpc(call("system.health"), listing);
  assert.deepEqual([status, body.error?.code, body.error?.data.code], [403, -32001, "insufficient_scope"]);
  assert.match(headers.get("www-authenticate") ?? "", /insufficient_scope.*mcp\.tools\.invoke/);
  assert.equal((await instance.request("/mcp/tools/list", { as: { scopes: ["mcp.tools.invoke"] } })).status, 403);
  const foreign = await instance.rpc(call("system.health"), { as: { clientId: "somebody-else" } });
  assert.deepEqual([foreign.status, foreign.body.error?.data.code], [403, "unknown_client"]);
  assert.equal((await instance.request("/mcp/tools/list", { as: { clientId: "somebody-else" } })).status, 403);
});

test("each message leaves its log events, exactly one of which ends it", async (t) => {
  const instance = await crudInstance(t);
  const endings = () =>
    instance.lines
      .map((line) => String(line["event"]))
      .filter((event) => event.startsWith("mcp_jsonrpc") || event.startsWith("mcp_tools_list"));
  await instance.rpc({ jsonrpc: "2.0", id: 1, method: "tools/list" });
  assert.deepEqual(endings(), ["mcp_jsonrpc_call", "mcp_tools_list_start", "mcp_tools_list_complete", "mcp_jsonrpc_complete"]);
  instance.lines.length = 0;
  await instance.rpc(call("nothing.at.all"));
  instance.verdicts.set("tool:tools/call", false);
  await instance.rpc(call("people.demo.get_employee", { id: "e1" }));
  assert.deepEqual(endings(), ["mcp_jsonrpc_call", "mcp_jsonrpc_error", "mcp_jsonrpc_call", "mcp_jsonrpc_forbidden"]);
  const forbidden = instance.lines.find((line) => line["event"] === "mcp_jsonrpc_forbidden") ?? {};
  assert.match(String(forbidden["subject_ref"]), /^sr1\./);
  assert.ok(!JSON.stringify(instance.lines).includes("person:"), "nobody is named");
  for (const name of ["correlation_id", "tenant", "view", "dialect", "decision_id", "data_code", "duration_ms"])
    assert.ok(name in forbidden, name);
});
