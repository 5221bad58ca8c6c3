import assert from "node:assert/strict";
import { setTimeout as sleep } from "node:timers/promises";
import { test, type TestContext } from "node:test";
import { agent, crudInstance, type CrudInstance } from "#testing/crud-instance.ts";
import { until } from "#testing/until.ts";

const accept = "application/json, text/event-stream";
const initialize = {
  jsonrpc: "2.0",
  id: 1,
  method: "initialize",
  params: { protocolVersion: "2025-06-18", capabilities: {}, clientInfo: { name: "x", version: "1" } },
};
const envelope = {
  "io.modelcontextprotocol/protocolVersion": "2026-07-28",
  "io.modelcontextprotocol/clientInfo": { name: "x", version: "1" },
  "io.modelcontextprotocol/clientCapabilities": {},
};

type As = Parameters<CrudInstance["token"]>[0];

/** An instance whose external server has answered: the catalogue changes no more. */
const quietInstance = async (t: TestContext, options: Parameters<typeof crudInstance>[1] = {}): Promise<CrudInstance> => {
  const instance = await crudInstance(t, { settings: { WORKFLOW_ENGINE: "off" }, ...options });
  await until(() => instance.crud.catalogue.snapshot.tools.has("memory.demo.read_graph"));
  return instance;
};

/** Clients that only wait; how often each was told. */
const waitingClients = (t: TestContext, instance: CrudInstance) => {
  const reported: number[] = [];
  const ended: boolean[] = [];
  const leave = new AbortController();
  t.after(() => leave.abort());
  /** As a server holds them: what is collected follows its signal no more. */
  const sent: Request[] = [];
  const send = async (path: string, init: RequestInit, as: As): Promise<Response> => {
    const headers = { accept, authorization: `Bearer ${await instance.token(as)}`, ...(init.headers as Record<string, string>) };
    const request = new Request(`http://sallyport.internal${path}`, { signal: leave.signal, ...init, headers });
    sent.push(request);
    return instance.crud.fetch(request);
  };
  const post = (path: string, body: unknown, as: As, headers: Record<string, string> = {}) =>
    send(path, { method: "POST", headers: { "content-type": "application/json", ...headers }, body: JSON.stringify(body) }, as);
  const follow = (response: Response): void => {
    const index = reported.push(0) - 1;
    ended[index] = false;
    void (async () => {
      const text = new TextDecoder();
      for await (const chunk of response.body ?? [])
        if (text.decode(chunk).includes("notifications/tools/list_changed")) reported[index] = (reported[index] ?? 0) + 1;
    })()
      .catch(() => undefined)
      .finally(() => (ended[index] = true));
  };
  const begin = async (as: As, path = "/mcp"): Promise<Response> => post(path, initialize, as);
  const inSession = (begun: Response) => ({
    "mcp-session-id": begun.headers.get("mcp-session-id") ?? "",
    "mcp-protocol-version": "2025-06-18",
  });
  /** A session with its stream. */
  const session = async (as: As, path = "/mcp"): Promise<{ begun: Response; opened: Response }> => {
    const begun = await begin(as, path);
    const opened = await send(path, { headers: inSession(begun) }, as);
    if (opened.status === 200) follow(opened);
    return { begun, opened };
  };
  const subscription = async (as: As): Promise<Response> => {
    const params = { notifications: { toolsListChanged: true }, _meta: envelope };
    const headers = { "mcp-protocol-version": "2026-07-28", "mcp-method": "subscriptions/listen" };
    const opened = await post("/mcp", { jsonrpc: "2.0", id: 1, method: "subscriptions/listen", params }, as, headers);
    if (opened.status === 200) follow(opened);
    return opened;
  };
  const list = (begun: Response, as: As) => post("/mcp", { jsonrpc: "2.0", id: 2, method: "tools/list" }, as, inSession(begun));
  return { reported, ended, leave, begin, session, subscription, list };
};

/** What deciding and asking has cost so far. */
const costOf = (instance: CrudInstance) => ({
  decisions: instance.asked.decisions.length,
  membership: instance.asked.membership.length,
  statements: instance.statements.filter((name) => !clocked.has(name)).length,
});
/** The process's own clocks: as many without a client. */
const clocked = new Set([
  "events.heads",
  "events.integrate",
  "events.audit_writer_seen",
  "crud.config.set",
  "crud.kill.all",
  "events.sink_claim",
]);

/** Waits until nothing was asked for a while. */
const settled = async (instance: CrudInstance) => {
  for (let before = ""; ; await sleep(1200)) {
    const cost = costOf(instance);
    if (JSON.stringify(cost) === before) return cost;
    before = JSON.stringify(cost);
  }
};

const graphMoved = (kind: string) => ({
  type: `${kind}.changed`,
  tenant: "tenant:acme",
  stream: "config" as const,
  kind,
  key: "k",
  data: { graph_version: 1, kinds: ["Tool"] },
});

test("clients that wait cost no decision, no question and no statement while nothing they see changes", async (t) => {
  const instance = await quietInstance(t, { realEvents: true });
  const clients = waitingClients(t, instance);
  for (let n = 0; n < 8; n++) assert.equal((await clients.session(agent)).opened.status, 200);
  for (let n = 0; n < 4; n++) assert.equal((await clients.subscription({ sub: "person:dan" })).status, 200);
  const before = await settled(instance);
  const polls = instance.statements.length;
  await until(() => instance.statements.length > polls + 20);
  assert.deepEqual(costOf(instance), before);

  // Money moves with every call of everybody; no list hangs on it.
  await instance.change(async () => ({ result: undefined, events: [graphMoved("budget")] }));
  await until(() => instance.statements.filter((name) => name === "events.read").length > 0);
  const after = await settled(instance);
  assert.deepEqual([after.decisions, after.membership], [before.decisions, before.membership]);
  await instance.change(async () => ({ result: undefined, events: [graphMoved("graph")] }));
  await until(() => instance.asked.decisions.length > before.decisions);
});

test("a change is computed once a principal and view, however many wait for it, and all of them are told", async (t) => {
  const instance = await quietInstance(t);
  const clients = waitingClients(t, instance);
  for (let n = 0; n < 5; n++) assert.equal((await clients.session(agent)).opened.status, 200);
  for (let n = 0; n < 5; n++) assert.equal((await clients.subscription(agent)).status, 200);
  assert.equal((await clients.session(agent, "/mcp/people")).opened.status, 200);
  assert.equal((await clients.session({})).opened.status, 200);
  await settled(instance);
  clients.reported.fill(0);
  instance.asked.batches.length = 0;
  instance.membership.capabilities = [];
  instance.moved("tenant:acme");
  await until(
    () => clients.reported,
    (reported) => reported.slice(0, 11).every((times) => times === 1),
  );
  await settled(instance);
  assert.equal(instance.asked.batches.length, 3, "ben's agent at two views, and ben");
  assert.equal(clients.reported[11], 0, "a person's own list is another one");
  for (let n = 0; n < 10; n++) instance.moved("tenant:globex");
  await settled(instance);
  assert.equal(instance.asked.batches.length, 3, "nobody waits there");
});

test("what changes while a stream's first list is computed is told: the client holds an older one", async (t) => {
  const instance = await quietInstance(t);
  const clients = waitingClients(t, instance);
  instance.membership.capabilities = [];
  const opening = clients.session(agent);
  const moving = setInterval(() => instance.moved("tenant:acme"), 0);
  t.after(() => clearInterval(moving));
  assert.equal((await opening).opened.status, 200);
  clearInterval(moving);
  instance.moved("tenant:acme");
  await until(() => (clients.reported[0] ?? 0) > 0);
});

test("a session without a stream is told nothing and costs nothing when something changes", async (t) => {
  const instance = await quietInstance(t);
  const clients = waitingClients(t, instance);
  const begun = await clients.begin(agent);
  const other = waitingClients(t, instance);
  await other.session(agent);
  await settled(instance);
  other.leave.abort();
  // That the stream is over is heard by and by.
  await until(async () => {
    instance.asked.batches.length = 0;
    instance.moved("tenant:acme");
    await settled(instance);
    return instance.asked.batches.length === 0;
  });
  assert.equal((await clients.list(begun, agent)).status, 200);
});

test("a principal has a share of sessions and subscriptions; its own make room for its next one", async (t) => {
  let now = new Date();
  const instance = await quietInstance(t, { settings: { MCP_SESSIONS_PER_PRINCIPAL: "3" }, now: () => now });
  const clients = waitingClients(t, instance);
  const first = await clients.session(agent);
  now = new Date(now.getTime() + 1000);
  await clients.session(agent);
  assert.equal((await clients.subscription(agent)).status, 200);
  for (const refused of [await clients.begin(agent), await clients.subscription(agent)]) {
    assert.equal(refused.status, 429);
    assert.equal(refused.headers.get("retry-after"), "59");
    assert.equal(((await refused.json()) as { code: string }).code, "too_many_sessions");
  }
  assert.equal((await clients.begin({ ...agent, sub: "person:cleo" })).status, 200, "nobody else is refused for it");
  assert.equal((await clients.list(first.begun, agent)).status, 200);

  // Whoever lost its connections comes back: what it left behind makes room, the longest unused first.
  now = new Date(now.getTime() + 61_000);
  assert.equal((await clients.list(first.begun, agent)).status, 200);
  const back = await clients.session(agent);
  assert.equal(back.opened.status, 200);
  assert.equal((await clients.list(first.begun, agent)).status, 200, "it was in use");

  // A client that begins anew for each request locks nobody out, itself least of all.
  const begun = await Promise.all(Array.from({ length: 6 }, () => clients.begin({ sub: "person:dan" })));
  assert.deepEqual(new Set(begun.map(({ status }) => status)), new Set([200]));
  const living = await Promise.all(begun.map((one) => clients.list(one, { sub: "person:dan" })));
  assert.equal(living.filter(({ status }) => status === 200).length, 3);
  assert.equal(living.filter(({ status }) => status === 404).length, 3, "a client begins anew at 404");
});

for (const [what, life] of [
  ["of the 2025 protocol", (clients: ReturnType<typeof waitingClients>, as: As) => clients.session(as).then(({ opened }) => opened)],
  ["of a subscription", (clients: ReturnType<typeof waitingClients>, as: As) => clients.subscription(as)],
] as const)
  test(`a stream ${what} ends with the token that opened it, and its place is free`, async (t) => {
    const instance = await quietInstance(t, { settings: { MCP_SESSIONS_PER_PRINCIPAL: "1" } });
    const clients = waitingClients(t, instance);
    const opened = await life(clients, { life: 2 });
    assert.equal(opened.status, 200);
    assert.deepEqual(clients.ended, [false]);
    await until(() => clients.ended[0] === true);
    assert.equal((await life(clients, { life: 300 })).status, 200);
    await sleep(50);
    assert.equal(clients.ended[1], false);
  });
