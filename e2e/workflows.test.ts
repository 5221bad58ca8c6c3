import assert from "node:assert/strict";
import { randomUUID } from "node:crypto";
import { rm } from "node:fs/promises";
import { test, type TestContext } from "node:test";
import { connectMcp, resultOf } from "./mcp-client.ts";
import { makeDataFolder, startTestInstance, type TestInstance } from "./test-instance.ts";
import { fetchToken } from "./tokens.ts";

type Json = Readonly<Record<string, unknown>>;
interface Run {
  readonly id: string;
  readonly status: string;
  readonly reason: string | null;
  readonly state_version: number;
  readonly output: unknown;
  readonly error: unknown;
  readonly waiting: {
    readonly required_actions: readonly { readonly task_id: string; readonly you_may: boolean; readonly why_not: string | null }[];
    readonly request_format: { readonly url: string; readonly body: Json };
  } | null;
}

const WAIT_MS = 60_000;

const people = async (instance: TestInstance) => {
  const tokens = new Map<string, Promise<string>>();
  const tokenOf = (user: string): Promise<string> => {
    const known = tokens.get(user) ?? fetchToken(instance.port, { user });
    tokens.set(user, known);
    return known;
  };
  const send = async (user: string, path: string, body?: unknown, headers: Readonly<Record<string, string>> = {}) => {
    const response = await fetch(`http://localhost:${instance.port + 3}${path}`, {
      method: body === undefined ? "GET" : "POST",
      headers: { authorization: `Bearer ${await tokenOf(user)}`, "content-type": "application/json", ...headers },
      ...(body === undefined ? {} : { body: JSON.stringify(body) }),
    });
    return { status: response.status, headers: response.headers, body: (await response.json()) as Json };
  };
  const read = async (user: string, id: string): Promise<Run> => (await send(user, `/workflows/runs/${id}`)).body as unknown as Run;
  const until = async (user: string, id: string, isThere: (run: Run) => boolean): Promise<Run> => {
    const end = performance.now() + WAIT_MS;
    for (;;) {
      const run = await read(user, id);
      if (isThere(run)) return run;
      assert.ok(performance.now() < end, `the run stands at ${JSON.stringify(run)}`);
      await new Promise((resolve) => setTimeout(resolve, 100));
    }
  };
  const start = async (user: string, workflow: string, data: Json, more: Json = {}): Promise<Run> => {
    const { status, body } = await send(user, `/workflows/${workflow}/start`, { data, ...more });
    assert.equal(status, 202, JSON.stringify(body));
    return body["result"] as Run;
  };
  const approve = (user: string, run: Run) => {
    const [action] = run.waiting?.required_actions ?? [];
    return send(user, `/workflows/runs/${run.id}/resume`, {
      task_id: action?.task_id,
      decision: "approve",
      state_version: run.state_version,
      idempotency_key: randomUUID(),
    });
  };
  /** Names in the memory server of what offboarding wrote, and how many relations each has. */
  const remembered = async (): Promise<ReadonlyMap<string, number>> => {
    const { body } = await send("ben", "/mcp/jsonrpc", {
      jsonrpc: "2.0",
      id: "1",
      method: "tools/call",
      params: { name: "memory.demo.read_graph", arguments: {} },
    });
    const text = (body["result"] as { content: readonly { text: string }[] }).content[0]?.text ?? "{}";
    const graph = JSON.parse(text) as { entities?: readonly { name: string }[]; relations?: readonly { from: string }[] };
    return new Map((graph.entities ?? []).map(({ name }) => [name, (graph.relations ?? []).filter(({ from }) => from === name).length]));
  };
  return { send, read, until, start, approve, remembered, tokenOf };
};

const opened = async (t: TestContext) => {
  const data = await makeDataFolder();
  let instance = await startTestInstance({ data });
  t.after(async () => {
    await instance.stop();
    await rm(data, { recursive: true, force: true });
  });
  return {
    get instance() {
      return instance;
    },
    restart: async () => {
      await instance.kill();
      instance = await startTestInstance({ data });
      return people(instance);
    },
  };
};

const isAsking = ({ reason }: Run): boolean => reason === "human";
const isOver = ({ status }: Run): boolean => ["completed", "faulted", "cancelled"].includes(status);

test("a workflow is started, approved by somebody else, and done once", async (t) => {
  const { instance } = await opened(t);
  const { send, until, start, approve, remembered, tokenOf } = await people(instance);

  const key = randomUUID();
  const first = await start("ben", "offboard", { employee_id: "e1" }, { idempotency_key: key });
  const again = await start("ben", "offboard", { employee_id: "e1" }, { idempotency_key: key });
  assert.equal(again.id, first.id);
  assert.deepEqual(
    [
      (await send("ben", "/workflows/offboard/start", { data: { employee_id: "e2" }, idempotency_key: key })).body["code"],
      (await send("ben", "/workflows/offboard/start", { data: {} })).body["code"],
      (await send("cleo", "/workflows/offboard/start", { data: { employee_id: "e1" } })).body["code"],
      (await send("eve", "/workflows/offboard/start", { data: { employee_id: "e1" } })).body["code"],
      (await send("eve", `/workflows/runs/${first.id}`)).body["code"],
    ],
    ["idempotency_mismatch", "invalid_input", "not_granted", "not_found", "not_found"],
  );

  const asking = await until("ben", first.id, isAsking);
  const [own] = asking.waiting?.required_actions ?? [];
  assert.deepEqual([own?.you_may, own?.why_not], [false, "separation_of_duties"]);
  assert.equal((await approve("ben", asking)).body["code"], "separation_of_duties");

  // As the answer itself says how.
  const seen = (await send("cleo", `/tasks/${own?.task_id}`)).body;
  const answer = { decision: "approve", state_version: seen["state_version"], idempotency_key: randomUUID() };
  const done = await send("cleo", `/tasks/${own?.task_id}/complete`, answer);
  assert.deepEqual([done.status, done.body["status"]], [200, "COMPLETED"], JSON.stringify(done.body));
  const repeated = await send("cleo", `/tasks/${own?.task_id}/complete`, answer);
  assert.deepEqual([repeated.status, repeated.headers.get("idempotency-replayed")], [200, "true"]);
  const other = await send("cleo", `/tasks/${own?.task_id}/complete`, { ...answer, decision: "reject" });
  assert.equal(other.body["code"], "idempotency_mismatch");

  const ended = await until("ben", first.id, isOver);
  assert.deepEqual([ended.status, ended.output], ["completed", { employee_id: "e1" }], JSON.stringify(ended));
  const systems = (await remembered()).get("offboarding-e1");
  assert.ok(systems !== undefined && systems > 0, `relations: ${systems}`);

  // By a stock client as the agent, once the tool and those that it calls are delegated.
  const agentCapabilities = [
    "workflow.offboard",
    "people.demo.get_employee",
    "memory.demo.create_entities",
    "memory.demo.create_relations",
  ];
  const ada = await fetchToken(instance.port, { user: "ada", acr: "strong" });
  for (const tool of agentCapabilities) {
    const given = await fetch(`http://localhost:${instance.port + 4}/api/v1/edges/HAS_CAPABILITY/agent:hr-assistant/${tool}`, {
      method: "PUT",
      headers: { authorization: `Bearer ${ada}`, "content-type": "application/json" },
      body: JSON.stringify({ props: { granted_by: "person:ada" }, reason: "It offboards" }),
    });
    assert.ok(given.ok, await given.text());
  }
  const made = await fetch(`http://localhost:${instance.port + 4}/api/v1/delegations`, {
    method: "POST",
    headers: { authorization: `Bearer ${await tokenOf("ben")}`, "content-type": "application/json", "idempotency-key": randomUUID() },
    body: JSON.stringify({
      agent_id: "agent:hr-assistant",
      capabilities: agentCapabilities,
      budget_usd: 1,
      max_steps: 20,
      expires_at: new Date(Date.now() + 3_600_000).toISOString(),
      purpose: "Offboard by the agent",
    }),
  });
  assert.equal(made.status, 201, await made.clone().text());
  const { delegation_id: delegation } = (await made.json()) as { delegation_id: string };
  const client = await connectMcp(instance.origin, await fetchToken(instance.port, { user: "ben", agent: "agent:hr-assistant" }), "modern");
  const called = resultOf(await client.callTool({ name: "workflow.offboard", arguments: { employee_id: "e2" } }));
  assert.equal(called.isError, false, called.text);
  const reply = called.value as Json;
  assert.deepEqual([reply["accepted"], reply["workflow"], reply["params"]], [true, "offboard", { employee_id: "e2" }]);
  const ofAgent = await until("ben", String(reply["run_id"]), isAsking);
  // Whose agent it is may not approve it.
  assert.equal((await approve("ben", ofAgent)).body["code"], "separation_of_duties");
  const revoked = await fetch(`http://localhost:${instance.port + 4}/api/v1/delegations/${delegation}/revoke`, {
    method: "POST",
    headers: { authorization: `Bearer ${await tokenOf("ben")}`, "content-type": "application/json", "idempotency-key": randomUUID() },
    body: JSON.stringify({ reason: "Enough" }),
  });
  assert.equal(revoked.status, 200, await revoked.clone().text());
  const suspended = await until("ben", ofAgent.id, ({ status }) => status === "suspended");
  assert.equal(suspended.reason, "revoked");
  const taken = await send("ben", `/workflows/runs/${ofAgent.id}/takeover`, {}, { "if-match": `"${suspended.state_version}"` });
  assert.equal(taken.status, 200, JSON.stringify(taken.body));
  assert.equal((await approve("cleo", await until("ben", ofAgent.id, isAsking))).status, 200);
  assert.equal((await until("ben", ofAgent.id, isOver)).status, "completed");
  await client.close();
});

test("runs go on after a SIGKILL, and each effect is there once", async (t) => {
  const world = await opened(t);
  const before = await people(world.instance);
  const runs = await Promise.all(["e1", "e2", "e4"].map((id) => before.start("ben", "offboard", { employee_id: id })));
  for (const run of runs) assert.equal((await before.approve("cleo", await before.until("ben", run.id, isAsking))).status, 200);
  const after = await world.restart();
  const systems = new Map<string, number>();
  for (const run of runs) {
    const ended = await after.until("ben", run.id, isOver);
    assert.equal(ended.status, "completed", JSON.stringify(ended));
  }
  for (const [name, count] of await after.remembered()) systems.set(name, count);
  assert.deepEqual([...systems.keys()].toSorted(), ["offboarding-e1", "offboarding-e2", "offboarding-e4"]);
});
