import assert from "node:assert/strict";
import { randomUUID } from "node:crypto";
import { test } from "node:test";
import { testDatabase } from "#testing/database.ts";
import { graphModules, servedWorld } from "#testing/membership.ts";

const RULES = "/api/v1/data-scope-rules";
const BINDINGS = "/api/v1/policy-bindings";
const LIST = "people.demo.list_employees";
type Body = Readonly<Record<string, unknown>>;

const served = async (t: Parameters<typeof servedWorld>[0]) => {
  const world = await servedWorld(t, await testDatabase(t, graphModules), {
    environment: { MEMBERSHIP_READER: "auto", GRAPH_POLL_MS: "10" },
  });
  const call = (method: string, path: string, body?: Body, headers = {}, as = "ada") =>
    world.call(as, method, path, {
      ...(body === undefined ? {} : { body }),
      scopes: ["membership.read", "membership.write", "membership.registry"],
      headers: { ...(method === "POST" ? { "idempotency-key": randomUUID() } : {}), ...headers },
    });
  return { world, call };
};
const fresh = { "if-none-match": "*" };

test("a tenant writes whose rows are whose and which columns are hidden, and the information point goes by it", async (t) => {
  const { world, call } = await served(t);
  const scope = async (subject: string, version?: string) =>
    (
      await world.call("service:pdp", "GET", `/api/v1/pip/membership/data-scope?subject_id=${subject}&resource_type=invoice`, {
        headers: version === undefined ? {} : { "x-graph-min-version": version },
      })
    ).body;
  const rule = {
    tenant_column: "org",
    own_column: "owner_id",
    own_groups: ["group:analysts"],
    masks: [{ column: "total", kind: "null", unless_member_of: ["group:people-ops"] }],
  };
  const made = await call("PUT", `${RULES}/invoice`, { ...rule, reason: "Invoices are new here" }, fresh);
  assert.deepEqual([made.status, made.body], [201, { ...rule, resource_type: "invoice" }]);
  const until = async (wanted: string): Promise<Body> => {
    for (;;) {
      const said = await scope("person:cleo");
      if (said.row_filter_sql.startsWith(wanted)) return said;
      await new Promise((resolve) => setTimeout(resolve, 20));
    }
  };
  const said = await until("org");
  assert.deepEqual(
    [said["row_filter_sql"], said["column_mask"]],
    ["org IN ('tenant:acme') AND owner_id = 'person:cleo'", { total: "null" }],
  );
  assert.deepEqual((await scope("person:eve")).row_filter_sql, "tenant_id IN ('tenant:globex')", "another tenant goes by its own");
  assert.equal((await call("GET", `${RULES}/invoice`, undefined, {}, "eve")).status, 404);
  assert.equal((await call("DELETE", `${RULES}/invoice`, undefined, { "if-match": "*" }, "eve")).status, 404);
  const stale = { "if-match": made.headers.get("etag") ?? "" };
  const changed = await call("PUT", `${RULES}/invoice`, { tenant_column: "company" }, stale);
  assert.deepEqual([changed.status, changed.body.masks], [200, []]);
  for (const [what, body, headers, status, code] of [
    ["without a tag", rule, {}, 400, "if_match_required"],
    ["a stale tag", rule, stale, 412, "stale_version"],
    ["as a new one", rule, fresh, 412, "stale_version"],
    ["a column that is SQL", { tenant_column: "a; drop table x" }, { "if-match": "*" }, 422, "invalid_body"],
    ["a keyword", { own_column: "select" }, { "if-match": "*" }, 422, "invalid_body"],
    ["another tenant's group", { own_groups: ["group:globex-staff"] }, { "if-match": "*" }, 422, "unprocessable"],
    ["what is no group", { own_groups: ["person:ben"] }, { "if-match": "*" }, 422, "unprocessable"],
    ["a word that there is not", { columns: [] }, { "if-match": "*" }, 422, "unknown_member"],
  ] as const) {
    const reply = await call("PUT", `${RULES}/invoice`, body, headers);
    assert.deepEqual([what, reply.status, reply.body.code], [what, status, code]);
  }
  await until("company");
  assert.deepEqual(
    (await call("GET", RULES)).body.items.map((item: Body) => item["resource_type"]),
    ["employee", "invoice"],
  );
  assert.equal((await call("DELETE", `${RULES}/invoice?reason=no%20more`, undefined, { "if-match": "*" })).status, 204);
  await until("tenant_id");
  assert.deepEqual(
    world.entries.filter(({ resource }) => resource.type === "data_scope_rules").map(({ data }) => [data["op"], data["reason"]]),
    [
      ["data_scope_rule_put", "Invoices are new here"],
      ["data_scope_rule_put", undefined],
      ["data_scope_rule_dropped", "no more"],
    ],
  );
});

test("a policy is bound to a tool or its service once, takes part while it is enabled, and is the tenant's own affair", async (t) => {
  const { world, call } = await served(t);
  await world.put(
    { id: "policy:careful", kind: "Policy", name: "careful", tenant_id: null, props: { rev: "1", uri: "cedar:careful" } },
    { id: "policy:acme", kind: "Policy", name: "acme", tenant_id: "tenant:acme", props: { rev: "1", uri: "cedar:acme" } },
  );
  const bound = { target_id: LIST, policy_id: "policy:careful", priority: 5, reason: "With care" };
  const made = await call("POST", BINDINGS, bound, { "idempotency-key": "bind-1" });
  assert.equal(made.status, 201, JSON.stringify(made.body));
  const again = await call("POST", BINDINGS, bound, { "idempotency-key": "bind-1" });
  const head = async (): Promise<string> => String((await world.reader.version()).version);
  assert.deepEqual([again.status, again.body, again.headers.get("etag")], [201, made.body, made.headers.get("etag")]);
  assert.equal(again.headers.get("x-graph-version"), await head());
  assert.equal(
    (await call("POST", BINDINGS, { ...bound, priority: 6 }, { "idempotency-key": "bind-1" })).body.code,
    "idempotency_conflict",
  );
  assert.equal((await call("POST", BINDINGS, bound, { "idempotency-key": "" })).body.code, "idempotency_key_required");
  const { id, ...rest } = made.body;
  assert.deepEqual(rest, { target_id: LIST, policy_id: "policy:careful", action: "tools/call", priority: 5, enabled: true });
  const service = await call("POST", BINDINGS, { target_id: "people.demo", policy_id: "policy:acme", params: { limit: 3 } });
  assert.equal(service.status, 201);
  const ids = async (query: string, as = "ada") =>
    (await call("GET", `${BINDINGS}?${query}`, undefined, {}, as)).body.items.map((item: Body) => item["id"]);
  assert.deepEqual(await ids(`target_id=${LIST}`), [id]);
  assert.deepEqual(await ids(`target_id=${LIST}&effective=true`), [id, service.body.id]);
  assert.deepEqual(await ids("", "eve"), []);
  const facts = async () => {
    const ask = { subject_id: "person:ben", action: "tools/call", resource: { type: "tool", external_id: LIST } };
    const { body } = await world.call("service:pdp", "POST", "/api/v1/pip/membership/facts", { body: { asks: [ask] } });
    return body.facts[0].resource.attributes.policies;
  };
  assert.deepEqual(await facts(), ["policy:acme", "policy:careful"]);
  const tag = { "if-match": made.headers.get("etag") ?? "" };
  const off = await call("PUT", `${BINDINGS}/${id}`, { enabled: false }, tag);
  assert.deepEqual([off.status, off.body.enabled, off.body.priority], [200, false, 100]);
  assert.equal(off.headers.get("x-graph-version"), await head());
  assert.deepEqual([await facts(), await ids(`target_id=${LIST}&effective=true`)], [["policy:acme"], [service.body.id]]);
  await world.put(
    {
      id: "mcp:own",
      kind: "MCPService",
      name: "own",
      tenant_id: "tenant:acme",
      props: { service_type: "mcp", trust: "pinned", managed_by: "registry" },
    },
    { id: "mcpres:own", kind: "MCPResource", name: "own", tenant_id: "tenant:acme", props: { uri: "own:1" } },
    { id: "mcpprompt:own", kind: "MCPPrompt", name: "own", tenant_id: "tenant:acme", props: { version: "1", arguments: [] } },
  );
  for (const target_id of ["mcp:own", "mcpres:own", "mcpprompt:own"])
    assert.equal((await call("POST", BINDINGS, { target_id, policy_id: "policy:acme" })).status, 201, target_id);
  for (const [target_id, policy_id, code, place] of [
    ["resource:acme.pages.people", "policy:acme", "edge_not_allowed", "/target_id"],
    ["saas:people", "policy:acme", "edge_not_allowed", "/target_id"],
    ["tenant:acme", "policy:acme", "edge_not_allowed", "/target_id"],
    ["person:ben", "policy:acme", "edge_not_allowed", "/target_id"],
    [id, "policy:acme", "edge_not_allowed", "/target_id"],
    ["person:eve", "policy:acme", "unprocessable", "/target_id"],
    ["x:none", "policy:acme", "unprocessable", "/target_id"],
    [LIST, "policy:none", "unprocessable", "/policy_id"],
    [LIST, "group:analysts", "edge_not_allowed", "/policy_id"],
  ] as const) {
    const { status, body } = await call("POST", BINDINGS, { target_id, policy_id });
    const published = body.errors?.map(({ path }: { path: string }) => path);
    assert.deepEqual([target_id, policy_id, status, body.code, published], [target_id, policy_id, 422, code, [place]]);
  }
  for (const [what, method, path, body, headers, as, status, code] of [
    ["the same again", "POST", BINDINGS, { target_id: LIST, policy_id: "policy:careful" }, {}, "ada", 409, "already_exists"],
    ["another act", "POST", BINDINGS, { target_id: LIST, policy_id: "policy:acme", action: "view" }, {}, "ada", 422, "invalid_body"],
    ["another tenant's policy", "POST", BINDINGS, { target_id: LIST, policy_id: "policy:acme" }, {}, "eve", 422, "unprocessable"],
    ["another tenant's binding", "PUT", `${BINDINGS}/${id}`, {}, { "if-match": "*" }, "eve", 404, "not_found"],
    ["another tenant takes it away", "DELETE", `${BINDINGS}/${id}`, undefined, { "if-match": "*" }, "eve", 404, "not_found"],
    ["what is no binding", "DELETE", `${BINDINGS}/group:analysts`, undefined, { "if-match": "*" }, "ada", 404, "not_found"],
    ["a stale tag", "DELETE", `${BINDINGS}/${id}`, undefined, tag, "ada", 412, "stale_version"],
    ["without a tag", "PUT", `${BINDINGS}/${id}`, {}, {}, "ada", 400, "if_match_required"],
  ] as const) {
    const reply = await call(method, path, body, headers, as);
    assert.deepEqual([what, reply.status, reply.body.code], [what, status, code]);
  }
  const gone = await call("DELETE", `${BINDINGS}/${id}`, undefined, { "if-match": "*" });
  assert.equal(gone.status, 204);
  assert.equal(gone.headers.get("x-graph-version"), await head());
  assert.equal((await call("GET", `${BINDINGS}/${id}`)).status, 404);
});
