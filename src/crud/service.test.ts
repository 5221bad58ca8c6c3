import assert from "node:assert/strict";
import { cp, mkdtemp, rm, writeFile } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { fileURLToPath } from "node:url";
import { test, type TestContext } from "node:test";
import type { StartIssues } from "#contract/start-issues.ts";
import { readSettings } from "#contract/setting.ts";
import { crudSettings } from "./config.ts";
import { loadToolsDocument } from "./documents/tools-document.ts";
import { loadUiDocument } from "./documents/ui-document.ts";
import type { EventDraft } from "#events/model/event-draft.ts";
import { agent, crudInstance, peopleTools } from "#testing/crud-instance.ts";
import { testDatabase } from "#testing/database.ts";
import { testEvents } from "#testing/events.ts";
import { testAudiences } from "#testing/identity.ts";
import { graphModules, servedWorld } from "#testing/membership.ts";

const configWith = async (t: TestContext, files: Record<string, string>): Promise<string> => {
  const folder = await mkdtemp(join(tmpdir(), "sallyport-config-"));
  await cp(fileURLToPath(new URL("../../config/", import.meta.url)), folder, { recursive: true });
  for (const [name, text] of Object.entries(files)) await writeFile(join(folder, name), text);
  t.after(() => rm(folder, { recursive: true, force: true }));
  return folder;
};

interface Explained {
  readonly tool: string;
  readonly listed: boolean;
  readonly callable: string;
  readonly missing: { readonly step: string; readonly who: string; readonly how: string; readonly on?: string }[];
  readonly steps: {
    readonly step: string;
    readonly outcome: string;
    readonly reason?: string;
    readonly remedy?: string;
    readonly decision_id?: string;
    readonly edge?: unknown;
  }[];
}

test("why a tool is or is not there is answered by the steps themselves", async (t) => {
  const instance = await crudInstance(t);
  const explain = async (query: string, as: object = agent): Promise<Explained> => {
    const response = await instance.request(`/mcp/tools/explain?${query}`, { as });
    assert.equal(response.status, 200, await response.clone().text());
    return (await response.json()) as Explained;
  };
  const fine = await explain("tool=people.demo.list_employees");
  assert.deepEqual([fine.tool, fine.listed, fine.callable], ["people.demo.list_employees", true, "depends"]);
  assert.deepEqual(
    fine.steps.map((step) => [step.step, step.outcome]),
    [
      ["scope", "pass"],
      ["view", "pass"],
      ["state", "pass"],
      ["delegation", "pass"],
      ["decide", "pass"],
      ["chain", "pass"],
      ["arguments", "depends"],
      ["mapping", "depends"],
      ["reserve", "pass"],
      ["credential", "pass"],
    ],
  );
  // The graph of this deployment knows no tool at all.
  assert.deepEqual(
    fine.missing.map(({ step, who }) => [step, who]),
    [["register", "an administrator (role:administrator)"]],
  );
  const requests = instance.people.requests;

  // What the delegation would not pay for now is listed all the same: it may be paid for in an hour.
  instance.membership.reserve = "outside_hours";
  const late = await explain("tool=people.demo.list_employees");
  const { remedy, ...step } = late.steps.find(({ step: name }) => name === "reserve") ?? {};
  assert.deepEqual([late.listed, late.callable, step], [true, "no", { step: "reserve", outcome: "fail", reason: "outside_hours" }]);
  assert.match(String(remedy), /hours/);
  instance.membership.reserve = "ok";
  assert.equal(instance.membership.reservations.size, 0, "asking holds nothing");

  instance.membership.capabilities = ["people.demo.list_employees"];
  instance.verdicts.set("tool:tools/list people.demo.update_salary", "capability_missing");
  const missing = await explain("tool=people_demo_update_salary");
  assert.deepEqual([missing.listed, missing.callable], [false, "no"]);
  const delegation = missing.steps.find((step) => step.step === "delegation");
  assert.deepEqual(
    [delegation?.reason, delegation?.edge],
    ["capability_missing", { kind: "HAS_CAPABILITY", from: "agent:hr-assistant", to: "people.demo.update_salary" }],
  );
  const decide = missing.steps.find((step) => step.step === "decide");
  assert.deepEqual([decide?.outcome, decide?.reason], ["fail", "capability_missing"]);
  assert.match(decide?.decision_id ?? "", /^d_/);
  assert.match(decide?.remedy ?? "", /delegation/);

  instance.membership.capabilities = [];
  const ended = await explain("tool=people.demo.list_employees");
  assert.equal(ended.steps.find((step) => step.step === "delegation")?.reason, "delegation_inactive");
  assert.equal(
    (await explain("tool=people.demo.list_employees&view=memory", {})).steps.find((step) => step.step === "view")?.outcome,
    "fail",
  );
  assert.equal((await instance.request("/mcp/tools/explain?tool=no.such.tool")).status, 404);
  assert.equal(instance.people.requests, requests, "nothing was called");
  assert.equal(instance.membership.reservations.size, 0, "nothing was held");
});

test("a credential that no call would get is named, with who can mend it, to who may know of it", async (t) => {
  const instance = await crudInstance(t);
  const uri = "yaml://secret/people/demo#api_key";
  for (const [status, verdict, expected] of [
    ["ok", true, []],
    ["secret_not_found", true, [`secret an administrator (role:administrator) ${uri}`]],
    ["ok", false, [`secret_use an administrator (role:administrator) ${uri}`]],
    ["tenant_mount", true, ["secret the operator undefined"]],
    // Of what the caller may not know the address is not said, and not whether it is there.
    ["secret_authz_failed", true, []],
    ["secret_authz_failed", false, ["secret_use an administrator (role:administrator) undefined"]],
  ] as const) {
    instance.secrets.status = status;
    instance.verdicts.set("secret:use", verdict);
    const response = await instance.request("/mcp/tools/explain?tool=people.demo.get_employee", { as: agent });
    const { callable, missing, steps } = (await response.json()) as Explained;
    const ofSecrets = missing.filter(({ step }) => step.startsWith("secret"));
    assert.deepEqual(
      ofSecrets.map(({ step, who, on }) => `${step} ${who} ${on}`),
      expected,
    );
    const isFine = expected.length === 0;
    assert.deepEqual([callable === "no", steps.at(-1)?.step, steps.at(-1)?.outcome], [!isFine, "credential", isFine ? "pass" : "fail"]);
    assert.ok(status !== "secret_authz_failed" || !JSON.stringify(ofSecrets).includes("yaml:"));
    for (const { step, how } of ofSecrets)
      assert.ok(step !== "secret_use" || /PUT \/api\/membership\/nodes\/\{id\} with If-None-Match/.test(how));
  }
  const [known, usable] = instance.asked.decisions.filter(({ ask }) => ask.type === "secret");
  assert.deepEqual(
    [known?.principal.sub, known?.ask.action, known?.ask.id, known?.ask.context],
    ["person:ben", "read_metadata", uri, { showing: true }],
  );
  assert.deepEqual(
    [usable?.principal.sub, usable?.ask.action, usable?.ask.id, usable?.ask.context],
    ["service:crud", "use", uri, { could: true, showing: true, tool: { id: "people.demo.get_employee" } }],
  );
  // Who may not know of a secret asks nobody for it, only because its tool is looked at.
  instance.verdicts.set("secret:read_metadata", false).set("secret:use", true);
  instance.secrets.status = "secret_not_found";
  const { missing } = (await (
    await instance.request("/mcp/tools/explain?tool=people.demo.get_employee", { as: agent })
  ).json()) as Explained;
  assert.ok(!missing.some(({ step }) => step === "secret"));
});

test("a tool is listed exactly if its explanation says so", async (t) => {
  const instance = await crudInstance(t);
  instance.membership.capabilities = ["people.demo.get_employee", "sallyport.local.shortest_path", "people.demo.update_salary"];
  instance.verdicts.set("tool:tools/list people.demo.update_salary", false);
  for (const as of [agent, {}]) {
    const listed = ((await (await instance.request("/mcp/tools/list", { as })).json()) as { tools: { name: string }[] }).tools.map(
      (tool) => tool.name,
    );
    for (const name of instance.crud.catalogue.snapshot.order) {
      const response = await instance.request(`/mcp/tools/explain?tool=${name}`, { as });
      assert.equal(((await response.json()) as Explained).listed, listed.includes(name), name);
    }
  }
});

test("about others only who may explain is answered, in the words of their own rights", async (t) => {
  const instance = await crudInstance(t);
  instance.verdicts.set("tool:explain", false);
  const path = "/mcp/tools/explain?tool=people.demo.get_employee&user_id=person:cleo&agent_id=agent:reporter";
  assert.equal((await instance.request(path)).status, 403);
  instance.verdicts.set("tool:explain", true);
  instance.asked.decisions.length = 0;
  instance.asked.membership.length = 0;
  assert.equal((await instance.request(path, { as: { sub: "person:ada", acr: "strong" } })).status, 200);
  assert.deepEqual(instance.asked.membership[0]?.query, { user_id: "person:cleo", agent_id: "agent:reporter" });
  const [asked, about] = instance.asked.decisions;
  assert.deepEqual(
    [asked?.principal.sub, about?.principal.sub, about?.principal.agent, about?.principal.acr],
    ["person:ada", "person:cleo", "agent:reporter", undefined],
  );
});

test("whoever is of another tenant is explained as if nobody of that name were there", async (t) => {
  const graph = await testDatabase(t, graphModules);
  const instance = await crudInstance(t, { membership: async (identity) => (await servedWorld(t, graph, { identity })).service.fetch });
  const explain = async (sub: string, tenant: string, user: string, by: string): Promise<string> => {
    const query = new URLSearchParams({ tool: "people.demo.list_employees", user_id: user, agent_id: by });
    const response = await instance.request(`/mcp/tools/explain?${query.toString()}`, { as: { sub, tenant } });
    const text = await response.text();
    assert.equal(response.status, 200, text);
    // The catalogue moves when a system comes up, whoever is asked about.
    return text
      .replace(/"d_\d+"/g, '""')
      .replace(/"revision":"\w+"/, '"revision":""')
      .replaceAll(user, "user")
      .replaceAll(by, "by");
  };
  const outcomes = (text: string): Readonly<Record<string, string>> =>
    Object.fromEntries((JSON.parse(text) as Explained).steps.map(({ step, outcome }) => [step, outcome]));
  const own = outcomes(await explain("person:ada", "tenant:acme", "person:ben", "agent:hr-assistant"));
  assert.deepEqual([own["delegation"], own["chain"], own["reserve"]], ["pass", "pass", "pass"]);

  for (const [user, by, strangers] of [
    ["person:ben", "agent:hr-assistant", ["person:bxn", "agent:hr-assistxnt"]],
    ["person:ben", "agent:reporter", ["person:bxn", "agent:repxrter"]],
    // One of her own tenant and an agent of the other, which has the tool.
    ["person:eve", "agent:hr-assistant", ["person:eve", "agent:hr-assistxnt"]],
  ] as const) {
    const reported = await explain("person:eve", "tenant:globex", user, by);
    assert.equal(reported, await explain("person:eve", "tenant:globex", strangers[0], strangers[1]), `${user} ${by}`);
    assert.deepEqual([outcomes(reported)["delegation"], outcomes(reported)["reserve"]], ["fail", "skipped"]);
  }
});

test("which systems name a secret is told of those that the caller may see, whichever part of it they name", async (t) => {
  const instance = await crudInstance(t);
  const uses = async (uri: string): Promise<unknown> => {
    const response = await instance.request(`/config/secret-uses?uri=${encodeURIComponent(uri)}`, { as: { scopes: ["config.read"] } });
    assert.equal(response.status, 200, await response.clone().text());
    return ((await response.json()) as { systems: unknown }).systems;
  };
  const people = [{ name: "people.demo", title: "People directory", uris: ["yaml://secret/people/demo#api_key"] }];
  const key = "yaml://secret/people/demo#api_key";
  for (const uri of [key, "YAML://secret/people/demo", "yaml://secret/people", `${key}?version=3`])
    assert.deepEqual(await uses(uri), people, uri);
  for (const uri of ["yaml://secret/people/demo2", "yaml://secret/peopl", "yaml://secret/people/demo#api", "nonsense"])
    assert.deepEqual(await uses(uri), [], uri);
  instance.verdicts.set("system:view people.demo", false);
  assert.deepEqual(await uses(key), []);
});

test("modules are those of the caller's groups; without one the client shows none", async (t) => {
  const instance = await crudInstance(t);
  const modules = async (groups: string[]): Promise<unknown> => {
    instance.membership.groups = groups;
    return ((await (await instance.request("/configs/ui")).json()) as { modules: unknown }).modules;
  };
  assert.deepEqual(await modules(["group:people-ops"]), { agents: true, tasks: true, workflows: true });
  assert.deepEqual(await modules(["group:platform-admins"]), { agents: true, pdp: true, tasks: true, workflows: true });
  assert.deepEqual(await modules(["group:contractors"]), {});
  assert.deepEqual(await modules([]), {});
  instance.membership.isDown = true;
  assert.equal((await instance.request("/configs/ui")).status, 503);
});

test("streams are decided and refuse what they do not know", async (t) => {
  const instance = await crudInstance(t);
  instance.verdicts.set("streams:config", false);
  instance.verdicts.set("streams:activity", false);
  instance.verdicts.set("streams:workflow", false);
  assert.equal((await instance.request("/events/workflow")).status, 403);
  assert.equal((await instance.request("/events/config")).status, 403);
  assert.equal((await instance.request("/events/activity")).status, 403);
  instance.verdicts.clear();
  assert.equal((await instance.request("/events/config?evnt=tools")).status, 422);
  assert.equal((await instance.request("/events/config?event=nothing")).status, 422);
  assert.equal((await instance.request("/events/activity?category=nothing")).status, 422);
  for (const query of ["run=1", "run_id=", `workflow=${"x".repeat(257)}`, Array.from({ length: 21 }, () => "run_id=1").join("&")])
    assert.equal((await instance.request(`/events/workflow?${query}`)).status, 422, query);
  assert.equal((await instance.crud.fetch(new Request("http://sallyport.internal/events/config"))).status, 401);
});

test("a principal has so many streams at once, whichever they are; one that ends gives its place back", async (t) => {
  const instance = await crudInstance(t);
  const closing: (() => Promise<void>)[] = [];
  t.after(() => Promise.all(closing.map((close) => close())));
  const open = async (path: string, options?: Parameters<typeof instance.request>[1]): Promise<readonly [number, string | undefined]> => {
    const response = await instance.request(path, options);
    if (response.status === 200) closing.push(async () => response.body?.cancel());
    return [response.status, response.status === 200 ? undefined : ((await response.json()) as { code: string }).code];
  };
  const kinds = ["config", "workflow", "activity"];
  for (let stream = 0; stream < 16; stream++) assert.deepEqual(await open(`/events/${kinds[stream % 3]}`), [200, undefined]);
  for (const kind of kinds) assert.deepEqual(await open(`/events/${kind}`), [429, "too_many_streams"]);
  await closing.pop()?.();
  // What was refused for another cause takes no place.
  assert.equal((await open("/events/config?evnt=tools"))[0], 422);
  assert.deepEqual(await open("/events/config"), [200, undefined]);
  assert.deepEqual(await open("/events/config"), [429, "too_many_streams"]);
});

const mfa = { id: "mfa", type: "step-up", properties: { acr_value: "strong", max_age_seconds: 300 } };

test("a stream or a list that wants a stronger sign-in says so, however the decision says it", async (t) => {
  const instance = await crudInstance(t);
  for (const verdict of ["step_up_required", { obligations: [mfa] }]) {
    instance.verdicts.clear();
    for (const pair of ["streams:config", "mcp_server:tools/list"]) instance.verdicts.set(pair, verdict);
    const stream = await instance.request("/events/config");
    assert.deepEqual([stream.status, ((await stream.json()) as { code: string }).code], [401, "step_up_required"]);
    const list = await instance.rpc({ jsonrpc: "2.0", id: 1, method: "tools/list" }, { as: agent });
    assert.deepEqual([list.body.error?.code, list.body.error?.data.code], [-32001, "step_up_required"], JSON.stringify(list.body));
    assert.equal(list.body.error?.data.step_up?.level, "strong");
    const rest = await instance.request("/mcp/tools/list", { as: agent });
    assert.deepEqual([rest.status, ((await rest.json()) as { code: string }).code], [401, "step_up_required"]);
  }
});

for (const [setting, depth] of [
  [undefined, 3],
  ["1", 1],
] as const)
  test(`MCP_MAX_DELEGATION_DEPTH ${setting ?? "unset"}: a chain of ${depth} agents enters, one more does not`, async (t) => {
    const instance = await crudInstance(t, setting === undefined ? {} : { settings: { MCP_MAX_DELEGATION_DEPTH: setting } });
    const call = async (agents: number) => {
      const chain = Array.from({ length: agents }, (_one, index) => `agent:a${index}`);
      const act = chain
        .toReversed()
        .reduce<object | undefined>((inner, sub) => (inner === undefined ? { sub } : { sub, act: inner }), undefined);
      const now = Math.floor(Date.now() / 1000);
      const claims = {
        sub: "person:ben",
        tenant: "tenant:acme",
        scope: "mcp.tools.invoke",
        client_id: chain[0],
        jti: crypto.randomUUID(),
        act,
      };
      const times = { iss: instance.identity.issuer, aud: testAudiences.crud, iat: now, exp: now + 300 };
      const token = await instance.identity.sign({ ...claims, ...times }, { typ: "at+jwt", kid: "test" });
      const body = { jsonrpc: "2.0", id: 1, method: "tools/call", params: { name: "people.demo.get_employee", arguments: { id: "e1" } } };
      const response = await instance.request("/mcp/jsonrpc", { body, headers: { authorization: `Bearer ${token}` } });
      return (await response.json()) as { error?: { data: { code: string } } };
    };
    assert.equal((await call(depth)).error, undefined);
    assert.deepEqual(instance.asked.decisions.at(-1)?.principal.actors?.length, depth, "the decision is about all of them");
    const called = instance.people.requests;
    assert.equal((await call(depth + 1)).error?.data.code, "delegation_required");
    assert.equal(instance.people.requests, called);
  });

test("the activity stream of who may see all after another sign-in is one's own until then", async (t) => {
  const instance = await crudInstance(t, { realEvents: true });
  const health = async (sub: string): Promise<string> => {
    const called = await instance.rpc(
      { jsonrpc: "2.0", id: 1, method: "tools/call", params: { name: "system.health", arguments: {} } },
      { as: { sub } },
    );
    return called.headers.get("x-call-id") ?? "";
  };
  const [ofBen, ofAda] = [await health("person:ben"), await health("person:ada")];
  assert.ok(ofBen !== "" && ofAda !== "");
  const shown = async (): Promise<boolean> => {
    const stop = new AbortController();
    const headers = { authorization: `Bearer ${await instance.token({ sub: "person:ada" })}` };
    const request = new Request("http://sallyport.internal/events/activity?last_event_id=0&category=tool_call", {
      headers,
      signal: stop.signal,
    });
    const response = await instance.crud.fetch(request);
    assert.equal(response.status, 200);
    let text = "";
    for await (const chunk of response.body ?? []) {
      text += Buffer.from(chunk as Uint8Array).toString();
      if (text.includes(ofAda)) break;
    }
    stop.abort();
    return text.includes(ofBen);
  };
  for (const [verdict, seesAll] of [
    [true, true],
    ["step_up_required", false],
    [{ obligations: [mfa] }, false],
    [false, false],
  ] as const) {
    instance.verdicts.set("activity:view_all", verdict);
    assert.equal(await shown(), seesAll, JSON.stringify(verdict));
  }
});

test("the record of a call and the approval of a definition are told live", async (t) => {
  const instance = await crudInstance(t, { realEvents: true });
  const read = async (path: string, needle: RegExp): Promise<string> => {
    const stop = new AbortController();
    const response = await instance.crud.fetch(
      new Request(`http://sallyport.internal${path}`, {
        headers: { authorization: `Bearer ${await instance.token()}` },
        signal: stop.signal,
      }),
    );
    assert.equal(response.headers.get("content-type"), "text/event-stream", await (response.ok ? "" : response.text()));
    let text = "";
    for await (const chunk of response.body ?? []) {
      text += Buffer.from(chunk as Uint8Array).toString();
      if (needle.test(text)) break;
    }
    stop.abort();
    return text;
  };
  const config = await read("/events/config?last_event_id=0&kind=tools", /read_graph/);
  assert.match(config, /event: tools\nid: \d+\ndata: .*"state":"approved"/);
  const called = await instance.rpc(
    { jsonrpc: "2.0", id: 1, method: "tools/call", params: { name: "people.demo.get_employee", arguments: { id: "e1" } } },
    { as: agent },
  );
  assert.equal(called.body.error, undefined);
  const activity = await read("/events/activity?last_event_id=0&category=tool_call", /"outcome":"ok"/);
  assert.match(activity, new RegExp(`"act_id":"${called.headers.get("x-call-id") ?? ""}"`));
  assert.match(activity, /"agent_id":"agent:hr-assistant"/);
});

for (const path of ["/events/config", "/events/workflow", "/events/activity", "/configs/stream"])
  test(`${path} ends with the token that opened it`, async (t) => {
    const instance = await crudInstance(t, { realEvents: true });
    const token = await instance.token({ sub: "person:ada", scopes: ["config.read"], life: 2 });
    const headers = { authorization: `Bearer ${token}` };
    const response = await instance.crud.fetch(new Request(`http://sallyport.internal${path}`, { headers }));
    assert.equal(response.status, 200);
    const text = await response.text();
    assert.match(text, /"type":"bye"[^\n]*"reason":"expired"/);
  });

test("an open stream that shows everybody's ends when its reader may see only their own; one's own goes on", async (t) => {
  const instance = await crudInstance(t, { realEvents: true });
  const { change } = await testEvents(t, instance.database, { service: "crud" });
  for (const [atFirst, end] of [
    [true, /"type":"bye".*"reason":"revoked"/],
    [false, /"reason":"seen"/],
  ] as const) {
    instance.verdicts.set("activity:view_all", atFirst);
    const stop = new AbortController();
    const headers = { authorization: `Bearer ${await instance.token({ sub: "person:ada" })}` };
    const response = await instance.crud.fetch(new Request("http://sallyport.internal/events/config", { headers, signal: stop.signal }));
    instance.verdicts.set("activity:view_all", false);
    const reported = (reason: string): EventDraft => ({
      type: "policy.changed",
      tenant: "tenant:acme",
      stream: "config",
      kind: "policy",
      key: reason,
      data: { reason },
    });
    await change(async () => ({ result: undefined, events: [reported("first")] }));
    await change(async () => ({ result: undefined, events: [reported("seen")] }));
    let text = "";
    for await (const chunk of response.body ?? []) {
      text += Buffer.from(chunk as Uint8Array).toString();
      if (end.test(text)) break;
    }
    stop.abort();
    assert.match(text, end);
    assert.equal(text.includes('"bye"'), atFirst);
  }
});

test("the workflow stream is open before anything has run, and shows what is told of runs and tasks: one's own, those asked for", async (t) => {
  const instance = await crudInstance(t, { realEvents: true });
  const { change } = await testEvents(t, instance.database, { service: "crud" });
  const read = async (query: string, needle: RegExp): Promise<string> => {
    const stop = new AbortController();
    const headers = { authorization: `Bearer ${await instance.token()}` };
    const response = await instance.crud.fetch(
      new Request(`http://sallyport.internal/events/workflow${query}`, { headers, signal: stop.signal }),
    );
    assert.equal(response.headers.get("content-type"), "text/event-stream", await (response.ok ? "" : response.text()));
    let text = "";
    for await (const chunk of response.body ?? []) {
      text += Buffer.from(chunk as Uint8Array).toString();
      if (needle.test(text)) break;
    }
    stop.abort();
    return text;
  };
  instance.verdicts.set("workflows:view_runs", false);
  const silent = await read("", /hello/);
  assert.match(silent, /^retry: \d+\n\n(?:id: \d+\n)?data: \{"type":"hello"/, "its control frames are default messages");
  assert.ok(!silent.includes("event:"));
  const reported = (run: string, workflow: string, kind: string, visibleTo: string): EventDraft => ({
    type: `${kind === "task" ? "task" : "run"}.changed`,
    tenant: "tenant:acme",
    stream: "workflow",
    kind,
    key: run,
    visibleTo: [visibleTo],
    data: { run_id: run, workflow, status: "running" },
  });
  await change(async () => ({
    result: undefined,
    events: [
      reported("r1", "grant_access", "workflow", "person:ben"),
      reported("r2", "grant_access", "workflow", "person:eve"),
      reported("r3", "offboard", "task", "person:ben"),
      reported("r4", "offboard", "workflow", "person:ben"),
    ],
  }));
  const runsOf = (text: string): readonly string[] =>
    [...text.matchAll(/event: (\w+)\nid: \d+\ndata: .*"run_id":"(\w+)"/g)].map(([, kind, run]) => `${kind} ${run}`);
  const after = "last_event_id=0";
  assert.deepEqual(runsOf(await read(`?${after}`, /r4/)), ["workflow r1", "task r3", "workflow r4"]);
  assert.deepEqual(runsOf(await read(`?${after}&run_id=r4`, /r4/)), ["workflow r4"]);
  assert.deepEqual(runsOf(await read(`?${after}&workflow=grant_access&workflow=none`, /bookmark/)), ["workflow r1"]);
  assert.deepEqual(runsOf(await read(`?${after}&workflow=grant_access&run_id=r4`, /bookmark/)), []);
  const asked = instance.asked.decisions.length;
  instance.verdicts.clear();
  assert.deepEqual(runsOf(await read(`?${after}`, /r4/)), ["workflow r1", "workflow r2", "task r3", "workflow r4"]);
  // The stream itself and what is seen on it: nothing is decided of an event.
  assert.deepEqual(
    instance.asked.decisions.slice(asked).map(({ ask }) => `${ask.type}/${ask.action}`),
    ["streams/workflow", "workflows/view_runs", "activity/view_all"],
  );
});

test("a disabled tool is not listed and not callable; an underscore view spells names so", async (t) => {
  const configFolder = await configWith(t, {
    "tools.yaml": `apiVersion: tools/v1
views: [{ name: strict, nameForm: underscore, denial: result, tenants: [tenant:acme], instructions: Ask first., filters: { provider: [people] } }, { name: short, prefix: none, maxTools: 2, filters: { provider: [people] } }]
overrides: { people.demo.get_employee: { enabled: false } }
`,
  });
  const instance = await crudInstance(t, { configFolder });
  const listed = await instance.rpc({ jsonrpc: "2.0", id: 1, method: "tools/list" }, { as: agent });
  assert.deepEqual(
    listed.body.result.tools.map((tool) => tool.name),
    ["system.health", "people.demo.list_employees", "people.demo.update_salary"],
  );
  const refused = await instance.rpc(
    { jsonrpc: "2.0", id: 1, method: "tools/call", params: { name: "people.demo.get_employee", arguments: { id: "e1" } } },
    { as: agent },
  );
  assert.deepEqual([refused.body.error?.code, refused.body.error?.data.code], [-32001, "tool_disabled"]);
  assert.deepEqual(
    instance.entries.map((entry) => [entry.outcome, entry.code]),
    [["refused", "tool_disabled"]],
  );
  assert.equal((await instance.request("/mcp/strict/tools/list", { as: { sub: "person:eve", tenant: "tenant:globex" } })).status, 404);
  const standard = async (
    body: object,
    at = "strict",
  ): Promise<{ result: { tools?: { name: string }[]; isError?: boolean; instructions?: string; _meta?: object } }> => {
    const text = await (
      await instance.request(`/mcp/${at}`, { body, headers: { accept: "application/json, text/event-stream" }, as: agent })
    ).text();
    return JSON.parse(text.startsWith("{") ? text : (/^data: (.*)$/m.exec(text)?.[1] ?? ""));
  };
  assert.deepEqual(
    (await standard({ jsonrpc: "2.0", id: 1, method: "tools/list" })).result.tools?.map((tool) => tool.name),
    ["system_health", "people_demo_list_employees", "people_demo_update_salary"],
  );
  const short = (await standard({ jsonrpc: "2.0", id: 1, method: "tools/list" }, "short")).result;
  assert.deepEqual(
    [short.tools?.map((tool) => tool.name), short._meta],
    [["system.health", "list_employees"], { "sallyport/truncated": { kept: 3, total: 4 } }],
  );
  for (const name of ["list_employees", "people.demo.list_employees", "people_demo_list_employees"])
    assert.notEqual(
      (await standard({ jsonrpc: "2.0", id: 1, method: "tools/call", params: { name } }, "short")).result.isError,
      true,
      name,
    );
  const initialize = {
    jsonrpc: "2.0",
    id: 1,
    method: "initialize",
    params: { protocolVersion: "2025-11-25", capabilities: {}, clientInfo: { name: "x", version: "1" } },
  };
  assert.equal((await standard(initialize)).result.instructions, "Ask first.");
  instance.verdicts.set("tool:tools/call", "delegation_inactive");
  assert.equal(
    (await standard({ jsonrpc: "2.0", id: 1, method: "tools/call", params: { name: "people_demo_list_employees" } })).result.isError,
    true,
  );
});

test("switches of the catalogue: a cap that is never silent, and health alone of Sallyport's own tools", async (t) => {
  const instance = await crudInstance(t, { settings: { MCP_MAX_TOOLS: "3", MCP_LOOPBACK_ONLY_HEALTH: "true" }, servers: "away" });
  assert.deepEqual(instance.crud.catalogue.snapshot.order, ["system.health", ...peopleTools.slice(0, 2)]);
  const response = await instance.request("/mcp/tools/list", { as: agent });
  assert.equal(response.headers.get("x-sallyport-truncated"), "kept=3;total=4");
  assert.ok(instance.lines.some((line) => line["event"] === "mcp_catalogue_truncated"));
  const standard = await instance.request("/mcp", {
    body: { jsonrpc: "2.0", id: 1, method: "tools/list" },
    headers: { accept: "application/json, text/event-stream" },
    as: agent,
  });
  assert.match(await standard.text(), /"sallyport\/truncated":\{"kept":3,"total":4\}/);
  const { body } = await instance.rpc({ jsonrpc: "2.0", id: 1, method: "tools/list" }, { as: agent });
  assert.deepEqual(body.result._meta, { "sallyport/truncated": { kept: 3, total: 4 } });
});

test("faulty documents stop the start with every fault, its place and the word that was meant", async (t) => {
  const configFolder = await configWith(t, {
    "tools.yaml": "apiVersion: tools/v1\nviews: [{ name: jsonrpc }]\noverides: {}\n",
    "ui.yaml": "apiVersion: ui/v1\nmodules: { agnts: { groups: [group:x] } }\n",
  });
  const issuesOf = (load: Promise<unknown>): Promise<readonly string[]> =>
    load.then(
      () => [],
      (error: StartIssues) => error.message.replaceAll(configFolder, "").split("\n"),
    );
  assert.deepEqual(await issuesOf(loadToolsDocument([configFolder])), [
    "/tools.yaml:2:17 /views/0/name: must be [a-z][a-z0-9-]{0,30} and not jsonrpc, tools, mcp or config",
    "/tools.yaml:3:1 /overides: is not known here (did you mean overrides?)",
  ]);
  assert.deepEqual(await issuesOf(loadUiDocument([configFolder])), [
    "/ui.yaml:2:12 /modules/agnts: is not known here (did you mean agents?)",
  ]);
});

test("what the demo says is added to what Sallyport says, and taken away with it", async () => {
  const config = fileURLToPath(new URL("../../config/", import.meta.url));
  const [own, both] = await Promise.all([loadUiDocument([config]), loadUiDocument([config, join(config, "demo")])]);
  assert.ok([...own.modules.values()].every((groups) => groups.size > 0 && [...groups].every((group) => group.startsWith("role:"))));
  assert.ok(both.modules.get("agents")?.has("group:people-ops"));
  assert.deepEqual((await loadToolsDocument([config])).views, []);
  assert.deepEqual(
    (await loadToolsDocument([config, join(config, "demo")])).views.map(({ name }) => name),
    ["hr"],
  );
  await assert.rejects(loadToolsDocument([join(config, "demo"), join(config, "demo")]), /names a view twice/);
});

test("settings out of range are refused", () => {
  const { issues } = readSettings(crudSettings, {
    MCP_MAX_TOOLS: "0",
    MCP_ENABLE_ROUTER: "sometimes",
    MCP_CALL_TIMEOUT_MS: "soon",
    MCP_LOOPBACK_ONLY_HEALTH: "yes",
    MCP_PUBLIC_URL: "localhost",
  });
  assert.deepEqual(issues.map((issue) => issue.path).toSorted(), [
    "MCP_CALL_TIMEOUT_MS",
    "MCP_ENABLE_ROUTER",
    "MCP_LOOPBACK_ONLY_HEALTH",
    "MCP_MAX_TOOLS",
    "MCP_PUBLIC_URL",
  ]);
  assert.deepEqual(readSettings(crudSettings, {}).issues, []);
});

test("every endpoint of the tool server that the contract declares is served, and refuses strangers", async (t) => {
  const contract = await import("#contract/tools.ts");
  const instance = await crudInstance(t);
  for (const endpoint of Object.values(contract)) {
    if (typeof endpoint !== "object" || !("service" in endpoint) || endpoint.service !== "crud") continue;
    const path = endpoint.path.replace("{view}", "people");
    const response = await instance.crud.fetch(
      new Request(`http://sallyport.internal${path}`, {
        method: endpoint.method,
        ...(endpoint.method === "POST" ? { body: "{}", headers: { "content-type": "application/json" } } : {}),
      }),
    );
    assert.equal(response.status, endpoint.auth === "none" ? 200 : 401, `${endpoint.method} ${path}`);
  }
});
