import assert from "node:assert/strict";
import { test } from "node:test";
import { provesClient } from "#authn/exchange/registered-clients.ts";
import { forEachDatabase, testDatabase } from "#testing/database.ts";
import { graphModules, servedWorld, type ServedWorld } from "#testing/membership.ts";
import { createFindClient } from "./credentials.ts";

type Body = Readonly<Record<string, unknown>>;
const callOf =
  (world: ServedWorld) =>
  (method: string, path = "", body?: Body, as = "ada") =>
    world.call(as, method, `/api/v1/credentials${path}`, {
      scopes: ["membership.read", "membership.write"],
      ...(body === undefined ? {} : { body }),
    });
const hook = {
  id: "service:hook",
  kind: "Service",
  name: "Hook",
  tenant_id: "tenant:acme",
  props: { client_id: "service:hook", type: "backend" },
} as const;

forEachDatabase("a secret is shown once, counts at once and until it ends, and is kept as a digest", graphModules, async (t, database) => {
  const world = await servedWorld(t, database);
  await world.put(hook);
  const call = callOf(world);
  const find = createFindClient(database);
  const proves = async (secret: string, id = "agent:reporter") => provesClient(await find(id), secret);
  assert.equal(await find("agent:reporter"), undefined);
  const made = await call("POST", "", { client_id: "agent:reporter", reason: "The nightly run" });
  assert.deepEqual([made.status, made.headers.get("cache-control")], [201, "no-store"], JSON.stringify(made.body));
  const secret: string = made.body.client_secret;
  assert.match(secret, /^sallyport_[\w-]{43}$/);
  assert.deepEqual([await proves(secret), await proves(`${secret}x`), await proves(secret, "agent:hr-assistant")], [true, false, false]);
  assert.deepEqual((await find("agent:reporter"))?.scopes, [
    "mcp.tools.discovery",
    "mcp.tools.invoke",
    "membership.read",
    "workflows.read",
    "workflows.operate",
    "tasks.complete",
  ]);

  const rotated = await call("POST", `/${made.body.credential_id}/rotate`, { overlap_s: 60 });
  assert.equal(rotated.status, 201, JSON.stringify(rotated.body));
  assert.deepEqual([await proves(secret), await proves(rotated.body.client_secret)], [true, true], "both count while they overlap");
  assert.equal((await call("POST", "", { client_id: "agent:reporter" })).body.code, "conflict", "two at a time");
  await world.sql(`update membership.client_credential set expires_at = now() where id = '${made.body.credential_id}'`);
  assert.deepEqual([await proves(secret), await proves(rotated.body.client_secret)], [false, true], "the old one has ended");
  const again = await call("POST", `/${rotated.body.credential_id}/rotate`, {});
  assert.deepEqual([await proves(rotated.body.client_secret), await proves(again.body.client_secret)], [false, true]);
  const list = await call("GET");
  assert.deepEqual(
    list.body.items.map((item: Body) => [item["client_id"], item["credential_id"], item["created_by"]]),
    [["agent:reporter", again.body.credential_id, "person:ada"]],
  );

  const service = await call("POST", "", { client_id: "service:hook", scopes: ["pip.read"] });
  assert.deepEqual(await find("service:hook").then((found) => [found?.kind, found?.tenant, found?.scopes]), [
    "service",
    "tenant:acme",
    ["pip.read"],
  ]);
  await call("POST", "", { client_id: "service:hook", scopes: ["authzen.pep"] });
  assert.deepEqual((await find("service:hook"))?.scopes, ["authzen.pep"], "scopes are the client's");
  for (const id of ["tenant:acme", "service:hook"]) {
    const set = (state: string) => world.sql(`update membership.node set state = '${state}' where id = '${id}'`);
    await set("suspended");
    assert.equal(await find("service:hook"), undefined, `${id} is suspended`);
    await set("active");
    assert.equal((await find("service:hook"))?.kind, "service", `${id} is active again`);
  }
  await world.put({ ...hook, state: "suspended" });
  const page = await call("GET", "?limit=2");
  const rest = await call("GET", `?limit=2&cursor=${page.body.next_cursor}`);
  assert.deepEqual([page.body.items.length, rest.body.items.length, rest.body.next_cursor], [2, 1, undefined]);
  assert.equal((await call("DELETE", `/${again.body.credential_id}?reason=It%20leaked`)).status, 204);
  assert.equal(await proves(again.body.client_secret), false);

  const kept = JSON.stringify([
    await world.sql("select to_jsonb(c) as row from membership.client_credential c"),
    await world.sql("select to_jsonb(o) as row from membership.graph_change_op o where subject like '%hook%'"),
    world.entries,
    list.body,
  ]);
  for (const one of [secret, rotated, again, service].map((reply) =>
    typeof reply === "string" ? reply : (reply.body.client_secret as string),
  ))
    assert.ok(!kept.includes(one.slice(10)), "never the secret itself");
  assert.deepEqual(
    world.entries.flatMap(({ data }) => (String(data["op"]).startsWith("credential_") ? [data["op"]] : [])),
    ["credential_created", "credential_rotated", "credential_rotated", "credential_created", "credential_created", "credential_ended"],
  );
});

forEachDatabase("a list goes on behind its last item, also when that has gone, to the microsecond", graphModules, async (t, database) => {
  const world = await servedWorld(t, database);
  await world.put(hook);
  const call = callOf(world);
  for (const body of [
    { client_id: "agent:reporter" },
    { client_id: "agent:hr-assistant" },
    { client_id: "service:hook", scopes: ["pip.read"] },
  ])
    assert.equal((await call("POST", "", body)).status, 201);
  // Against the order of their ids, within one millisecond.
  await world.sql(`update membership.client_credential c set created_at = timestamptz '2026-01-01T00:00:00Z' + o.n * interval '1 microsecond'
    from (select id, row_number() over (order by id desc) as n from membership.client_credential) o where o.id = c.id`);
  const idsOf = (reply: { body: { items: Body[] } }) => reply.body.items.map((item) => item["credential_id"]);
  const all = idsOf(await call("GET"));
  assert.equal(all.length, 3);
  const first = await call("GET", "?limit=2");
  assert.deepEqual(idsOf(first), all.slice(0, 2));
  assert.equal((await call("DELETE", `/${String(all[1])}`)).status, 204);
  const rest = await call("GET", `?limit=2&cursor=${first.body.next_cursor}`);
  assert.deepEqual([idsOf(rest), rest.body.next_cursor], [all.slice(2), undefined]);
});

test("only agents and services of the tenant, under names that nobody takes for another's, with scopes that such clients may have", async (t) => {
  const world = await servedWorld(t, await testDatabase(t, graphModules));
  await world.put(
    hook,
    { id: "person:robot", kind: "AIAgent", name: "Robot", tenant_id: "tenant:acme" },
    { ...hook, id: "hook", props: { client_id: "service:crud", type: "backend" } },
  );
  const call = callOf(world);
  for (const [what, body, code, as] of [
    ["a person", { client_id: "person:ben" }, "not_found"],
    ["nobody", { client_id: "agent:nobody" }, "not_found"],
    ["another tenant's agent", { client_id: "agent:reporter" }, "not_found", "eve"],
    ["a service of Sallyport", { client_id: "service:crud", scopes: ["pip.read"] }, "access_denied"],
    ["an agent under a person's name", { client_id: "person:robot" }, "unprocessable"],
    ["a service under no service's name", { client_id: "hook", scopes: ["pip.read"] }, "unprocessable"],
    ["a service without scopes", { client_id: "service:hook" }, "unprocessable"],
    ["a service that holds money", { client_id: "service:hook", scopes: ["membership.budget"] }, "unprocessable"],
    ["a service that says who signs in", { client_id: "service:hook", scopes: ["pip.read", "membership.sign_in"] }, "unprocessable"],
    ["an agent that writes", { client_id: "agent:reporter", scopes: ["membership.write"] }, "unprocessable"],
    ["an end that was", { client_id: "agent:reporter", expires_at: "2020-01-01T00:00:00Z" }, "unprocessable"],
    ["an end too far", { client_id: "agent:reporter", expires_at: "2100-01-01T00:00:00Z" }, "unprocessable"],
  ] as const)
    assert.equal((await call("POST", "", body, as)).body.code, code, what);
  const made = await call("POST", "", { client_id: "agent:reporter" });
  for (const [method, path, body] of [
    ["DELETE", `/${made.body.credential_id}`, undefined],
    ["POST", `/${made.body.credential_id}/rotate`, {}],
  ] as const)
    assert.equal((await call(method, path, body, "eve")).status, 404, "another tenant's");
  assert.deepEqual((await call("GET", "", undefined, "eve")).body.items, []);
  assert.equal((await call("DELETE", "/x")).status, 404);
  const denied = await servedWorld(t, await testDatabase(t, graphModules), { rule: () => false });
  for (const [method, path, body] of [
    ["POST", "", { client_id: "agent:reporter" }],
    ["GET", "", undefined],
    ["DELETE", "/x", undefined],
    ["POST", "/x/rotate", {}],
  ] as const)
    assert.equal((await callOf(denied)(method, path, body)).body.code, "access_denied", method);
});
