import assert from "node:assert/strict";
import type { ToolExplanation } from "#contract/tools.ts";
import { test } from "node:test";
import { cleanUp } from "#testing/clean-up.ts";
import { agent, crudInstance } from "#testing/crud-instance.ts";
import { serverUpstream } from "#testing/http-upstream.ts";
import { until } from "#testing/until.ts";
import { statement } from "#store/database.ts";
import { silentLog } from "#telemetry/log.ts";
import { openKillSwitches } from "./kill-switches.ts";

const REPORTED = statement<{ key: string; op: string }>(
  "test.told",
  "select data->>'scope' as key, data->>'op' as op from events.outbox where type = 'kill.changed'",
);
const ON_RECORD = statement<{ count: number }>(
  "test.on_record",
  `select count(*)::int as count from (select leaf from events.audit_queue union all select leaf from events.audit_entry) entries
   where convert_from(leaf, 'utf8') like '%kill_switch%killed%' or convert_from(leaf, 'utf8') like '%killed%kill_switch%'`,
);
const scopes = ["config.read", "config.write", "mcp.tools.discovery", "mcp.tools.invoke"];
const ada = { sub: "person:ada", scopes };
const eve = { sub: "person:eve", tenant: "tenant:globex", scopes };

test("what is switched off is listed and called by nobody of the tenant, on every process, until it is lifted", async (t) => {
  const instance = await crudInstance(t, { realEvents: true });
  const upstream = await serverUpstream(t);
  const document = `{apiVersion: systems/v1, provider: slow, instance: one, title: Slow, owner: "group:people-ops", kind: http,
    tenants: ["tenant:acme"], baseUrl: "${upstream.url}", network: {allow: [127.0.0.1/32]}, defaults: {dataScope: none},
    operations: {wait: {description: Waits for a long time., request: {method: GET, path: /wait}}}}`;
  const made = await instance.request("/config/systems", {
    as: ada,
    raw: document,
    method: "POST",
    headers: { "content-type": "application/yaml" },
  });
  assert.equal(made.status, 201, await made.text());
  instance.membership.capabilities = ["slow.one.wait"];
  const elsewhere = await openKillSwitches({ database: instance.database, change: instance.change, log: silentLog, now: () => new Date() });
  cleanUp(t, () => elsewhere[Symbol.asyncDispose]());
  const beside = await crudInstance(t, { realEvents: true, beside: instance });
  await until(() => beside.crud.catalogue.snapshot.tools.has("slow.one.wait"));
  const set = async (scope: string, body: object = { reason: "leaks" }, method = "PUT") => {
    const response = await instance.request(`/config/kill-switches/${encodeURIComponent(scope)}`, {
      as: ada,
      method,
      ...(method === "PUT" ? { body } : {}),
    });
    return { status: response.status, body: (await response.json()) as { scope: string; code?: string } };
  };
  const call = async (as: object = ada, one = instance) =>
    (await one.rpc({ jsonrpc: "2.0", id: 1, method: "tools/call", params: { name: "slow.one.wait", arguments: {} } }, { as })).body;
  const listed = async (as: object = ada) =>
    (await instance.rpc({ jsonrpc: "2.0", id: 1, method: "tools/list" }, { as })).body.result.tools.map(({ name }) => name);

  /** What the list of systems, and the page of one, say of it. */
  const offOf = async (as: object) => {
    const { systems } = (await (await instance.request("/config/systems", { as })).json()) as {
      systems: { name: string; switched_off?: object }[];
    };
    const listedOne = systems.find(({ name }) => name === "slow.one");
    if (listedOne === undefined) return [undefined];
    const one = (await (await instance.request("/config/systems/slow.one", { as })).json()) as { switched_off?: object };
    return [listedOne.switched_off, one.switched_off];
  };

  const answerNow = upstream.answer;
  assert.equal((await call()).error, undefined);
  const others = await listed(eve);
  const agentId = "agent:hr-assistant";
  for (const scope of ["all", "system:slow.one", "tool:slow.one.wait"]) {
    assert.equal((await set(scope)).status, 200);
    const refused = await call();
    assert.deepEqual([refused.error?.code, refused.error?.data.code], [-32001, "tool_disabled"], scope);
    assert.equal(refused.error?.message, "The tool is switched off: leaks");
    assert.equal((await listed()).includes("slow.one.wait"), false, scope);
    assert.equal((await listed()).includes("system.health"), true, scope);
    assert.deepEqual(await listed(eve), others, "another tenant's tools are its own");
    // Its system says so to whoever sees it, where all of it is off.
    const reported = scope.startsWith("tool:") ? undefined : { scope, by: "person:ada", reason: "leaks", until: null };
    assert.deepEqual(await offOf(ada), [reported, reported], scope);
    assert.deepEqual(await offOf(eve), [undefined], "another tenant does not see the system");
    await until(() => elsewhere.list("tenant:acme").some((row) => row.scope === scope));
    assert.deepEqual((await set(scope, {}, "DELETE")).body.scope, scope);
    assert.equal((await listed()).includes("slow.one.wait"), true, scope);
  }
  // An agent's switch stops the agent, and not the person.
  instance.membership.owners = [...instance.membership.owners, agentId];
  assert.equal((await set(agentId)).status, 200);
  assert.equal((await call(agent)).error?.data.code, "tool_disabled");
  assert.equal((await call()).error, undefined);
  await set(agentId, {}, "DELETE");
  assert.equal((await set(agentId, {}, "DELETE")).status, 404);

  // A call that is under way ends on whichever process it is, and its upstream hears of it.
  let gone = 0;
  upstream.answer = (_request, response) => void response.on("close", () => (gone += 1));
  const seen = upstream.seen.length;
  const running = [call(), call(ada, beside)];
  await until(() => upstream.seen.length === seen + 2);
  assert.equal((await set("view:slow")).status, 200);
  assert.equal(gone, 0, "it was called at the root");
  await set("tool:slow.one.wait");
  assert.deepEqual(
    (await Promise.all(running)).map(({ error }) => error?.data.code),
    ["tool_disabled", "tool_disabled"],
  );
  await until(() => gone === 2);
  upstream.answer = answerNow;

  const explained = await instance.request("/mcp/tools/explain?tool=slow.one.wait", { as: ada });
  const { about, steps, missing } = (await explained.json()) as ToolExplanation;
  assert.deepEqual(about.switched_off, { scope: "tool:slow.one.wait", by: "person:ada", reason: "leaks", until: null });
  assert.deepEqual(
    steps.filter(({ step }) => step === "state").map(({ reason, remedy }) => [reason, remedy]),
    [["tool_disabled", "person:ada has switched tool:slow.one.wait off: leaks. An administrator can lift it."]],
  );
  assert.deepEqual(missing[0], {
    step: "switch_on",
    who: "an administrator (role:administrator)",
    how: "person:ada has switched tool:slow.one.wait off (leaks): DELETE /config/kill-switches/tool:slow.one.wait.",
    on: "tool:slow.one.wait",
  });
  // Each change is told of and on record, in the commit of the change.
  const [record] = await instance.database.run(ON_RECORD);
  assert.ok((record?.count ?? 0) > 0);
  const kept = await instance.database.run(REPORTED);
  assert.ok(kept.some(({ key, op }) => key === "tool:slow.one.wait" && op === "killed") && kept.some(({ op }) => op === "lifted"));
  // One with an end ends by itself, and other processes hear of that; one that is over is none.
  let reported = 0;
  elsewhere.subscribe(() => reported++);
  await set("tool:slow.one.wait", { reason: "for a moment", until: new Date(Date.now() + 300).toISOString() });
  await until(async () => (await call()).error === undefined);
  await until(() => reported >= 2);
  assert.equal((await set("all", { reason: "late", until: "2020-01-01T00:00:00Z" })).status, 422);
  // What is not there is a slip, unless it is said to be meant; nothing of it is in force then.
  for (const [scope, message, hint] of [
    ["foo", /must be all, view:<name>/, undefined],
    ["system:Slow", /must be all, view:<name>/, undefined],
    ["tool:slow.one.wat", /is nothing that is there/, "did you mean tool:slow.one.wait?"],
    ["system:slow.main", /\?force=true/, undefined],
    ["system:slow.ome", /is nothing that is there/, "did you mean system:slow.one?"],
    ["view:nope", /is nothing that is there/, undefined],
    ["agent:hr-asistant", /is nothing that is there/, "did you mean agent:hr-assistant?"],
  ] as const) {
    const { status, body } = await set(scope);
    const [issue] = (body as { errors?: { path: string; message: string; hint?: string }[] }).errors ?? [];
    assert.deepEqual([status, body.code, issue?.path, issue?.hint], [422, "unprocessable", "/scope", hint], scope);
    assert.match(issue?.message ?? "", message);
    const forced = await instance.request(`/config/kill-switches/${encodeURIComponent(scope)}?force=true`, {
      as: ada,
      method: "PUT",
      body: { reason: "leaks" },
    });
    assert.equal(forced.status, /must be/.test(message.source) ? 422 : 200, scope);
    if (forced.status === 200) assert.equal((await set(scope, {}, "DELETE")).status, 200, scope);
  }
  instance.verdicts.set("kill_switch:set", false);
  assert.equal((await set("all")).status, 403);
});

test("a process that could not read for five seconds what is switched off lists and calls nothing, but for health, until it can", async (t) => {
  const { database } = await crudInstance(t);
  let [isBroken, ahead] = [false, 0];
  const broken: typeof database = {
    ...database,
    run: async (text, values) => {
      if (isBroken && text.name === "crud.kill.all") throw new Error("permission denied for table kill_switch");
      return database.run(text, values);
    },
  };
  const instance = await crudInstance(t, { beside: { database: broken }, now: () => new Date(Date.now() + ahead) });
  const tool = "people.demo.get_employee";
  const ask = (method: string, params: object = {}, path = "/mcp/jsonrpc") =>
    instance.rpc({ jsonrpc: "2.0", id: 1, method, params }, { as: agent, path });
  const call = (name = tool) => ask("tools/call", { name, arguments: name === tool ? { id: "e1" } : {} });
  isBroken = true;
  assert.equal((await call()).body.error, undefined, "for a moment what was read last counts");
  ahead = 6_000;
  for (const refused of [await call(), await ask("tools/list")])
    assert.deepEqual([refused.status, refused.body.error?.data.code], [503, "kill_switch_unknown"]);
  assert.equal((await instance.request("/mcp/tools/list", { as: agent })).status, 503);
  assert.equal((await call("system.health")).body.error, undefined);
  isBroken = false;
  assert.equal((await call()).body.error, undefined);
  assert.ok((await ask("tools/list")).body.result.tools.some(({ name }) => name === tool));
});
