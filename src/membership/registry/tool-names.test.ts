import assert from "node:assert/strict";
import { test } from "node:test";
import { testDatabase } from "#testing/database.ts";
import { testAudiences, testIdentity } from "#testing/identity.ts";
import { graphModules, servedWorld } from "#testing/membership.ts";

const scopes = ["membership.read", "membership.write", "membership.registry"];
const key = () => ({ "idempotency-key": crypto.randomUUID() });

test("nobody takes the name of a tool of a system, or of another tenant's service, before it is published", async (t) => {
  const identity = testIdentity();
  const world = await servedWorld(t, await testDatabase(t, graphModules), { identity });
  const send = (method: string, path: string, body: object, headers: object = { "if-none-match": "*" }) =>
    world.call("eve", method, `/api/v1${path}`, { body, headers: { ...key(), ...headers }, scopes });
  /** As the tool server registers a system that somebody published. */
  const publish = async (sub: string, tenant: string, system: string, tools: readonly object[]) => {
    const token = await identity
      .identityOf("crud")
      .onBehalfOf(testAudiences.membership, { sub, tenant, scopes, clientId: "sallyport-web" });
    const post = async (path: string, body: object) => {
      const headers = { authorization: `Bearer ${token}`, "content-type": "application/json" };
      const url = `http://localhost:8084/api/v1/mcp/services${path}`;
      const response = await world.service.fetch(new Request(url, { method: "POST", headers, body: JSON.stringify(body) }));
      return { status: response.status, body: (await response.json()) as { id: string; errors?: { message: string }[] } };
    };
    const service = await post("", { name: system, service_type: "external", trust: "pinned" });
    return post(`/${service.body.id}/tools`, { tools });
  };
  const list = [{ name: "list", state: "approved" }];
  const tool = { id: "acme.ops.list", kind: "Tool", name: "z" };
  await send("POST", "/mcp/services", { name: "acme.ops", service_type: "external" });
  const ways: readonly (readonly [what: string, Awaited<ReturnType<typeof send>>])[] = [
    ["a node", await send("PUT", "/nodes/acme.ops.list", { kind: "Tool", name: "z" })],
    ["a node of another kind", await send("PUT", "/nodes/acme.ops.list", { kind: "Group", name: "z" })],
    ["a change", await send("POST", "/graph/changes", { changes: [{ op: "put_node", node: tool }], reason: "mine now" }, {})],
    [
      "a file",
      await world.call("eve", "POST", "/api/v1/imports?reason=mine%20now", {
        body: `${JSON.stringify({ node: tool })}\n`,
        headers: { ...key(), "content-type": "application/x-ndjson" },
        scopes,
      }),
    ],
    ["a service of the registry", await send("POST", "/mcp/services/mcp:globex.acme.ops/tools", { name: "list" }, {})],
    ["an id of another tenant's service", await send("PUT", "/nodes/mcp:acme.acme.ops", { kind: "Group", name: "z" })],
    ["that of a shared one", await send("POST", "/mcp/services", { id: "mcp:acme.ops", name: "x", service_type: "external" }, {})],
  ];
  for (const [what, { status, body }] of ways) {
    const codes = [body.code, ...(body.errors ?? []).map(({ code }: { code?: string }) => code)];
    assert.ok((status === 403 || status === 422) && codes.includes("access_denied"), `${what} ${status} ${JSON.stringify(body)}`);
  }
  await send("POST", "/mcp/services", { name: "acme", service_type: "external" }, {});
  assert.equal((await send("POST", "/mcp/services/mcp:globex.acme/tools", { name: "ops.list" }, {})).body.code, "access_denied");
  assert.equal((await publish("person:ada", "tenant:acme", "acme.ops", list)).status, 201);
  assert.equal(
    (await send("PUT", "/nodes/acme.ops.list", { kind: "Tool", name: "z" })).body.code,
    "access_denied",
    "nor learns that it is there",
  );

  // What stands there from before: left behind with no system, or retired with one.
  await world.put({ id: "acme.left.list", kind: "Tool", name: "z", tenant_id: "tenant:globex", props: {} });
  await world.put({ kind: "GRANTS_ACCESS", src: "person:eve", dst: "acme.left.list" });
  assert.equal((await publish("person:ada", "tenant:acme", "acme.left", list)).status, 201);
  assert.equal((await publish("person:eve", "tenant:globex", "acme.later", list)).status, 201);
  const taken = await publish("person:ada", "tenant:acme", "acme.later", list);
  assert.deepEqual([taken.status, taken.body.errors?.[0]?.message], [409, "is taken, and not by this tenant"]);
  assert.equal((await send("POST", "/mcp/tools/retire", { tool_ids: ["acme.later.list"] }, {})).status, 200);
  const woken = await send("PATCH", "/nodes/acme.later.list", { state: "approved" }, { "if-match": "*" });
  assert.equal(woken.body.code, "access_denied");
  assert.equal((await publish("person:ada", "tenant:acme", "acme.later", list)).status, 201);
  assert.deepEqual(
    await world.sql("select id, tenant_id from membership.node where kind = 'Tool' and id like 'acme.l%' order by id"),
    ["acme.later.list", "acme.left.list"].map((id) => ({ id, tenant_id: "tenant:acme" })),
  );
  assert.deepEqual(await world.sql("select 1 from membership.edge where dst = 'acme.left.list' and kind = 'GRANTS_ACCESS'"), []);
  assert.equal((await publish("person:eve", "tenant:globex", "globex.own", list)).status, 201);
  const own = await send("PATCH", "/nodes/globex.own.list", { display_name: "Ours" }, { "if-match": "*" });
  assert.equal(own.status, 200, JSON.stringify(own.body));
});
