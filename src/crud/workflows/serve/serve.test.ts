import assert from "node:assert/strict";
import type { TestContext } from "node:test";
import { endpointTable } from "#contract/endpoints.ts";
import { Problem } from "#contract/problem.ts";
import { bodyShareOf, type Caller } from "#authn/model/caller.ts";
import { createRouter } from "#http/serve.ts";
import { statement, type Database } from "#store/database.ts";
import { silentLog } from "#telemetry/log.ts";
import { forEachDatabase } from "#testing/database.ts";
import { testIdentity, type TestTokenOf } from "#testing/identity.ts";
import { taskWorld } from "#testing/task-world.ts";
import { ben, call, human, workflow } from "#testing/workflow-world.ts";
import type { RunCaller } from "#crud/workflows/engine/start-run.ts";
import { serveRuns } from "./serve-runs.ts";
import { serveTasks } from "./serve-tasks.ts";

const modules = ["events", "crud"] as const;
const allScopes = ["workflows.read", "workflows.operate", "tasks.read", "tasks.complete"];
const byAgent: RunCaller = { ...ben, caller: { ...ben.caller, agent: "agent:hr" }, delegationId: "delegation:ben-hr" };
const cleo: RunCaller = { caller: { ...ben.caller, sub: "person:cleo" }, correlationId: "c-9" };
const eve: RunCaller = { caller: { ...ben.caller, sub: "person:eve", tenant: "tenant:globex" }, correlationId: "c-1" };
const tenantOf = (name: string): string => (name === "eve" ? "tenant:globex" : "tenant:acme");

interface Asked {
  readonly method?: string;
  readonly body?: unknown;
  readonly headers?: Readonly<Record<string, string>>;
  readonly as?: Partial<TestTokenOf>;
}
interface Answered {
  readonly status: number;
  readonly headers: Headers;
  readonly code: string | undefined;
  readonly body: Readonly<Record<string, unknown>>;
}

/** A router over the real functions, with persons by their names and doubles of graph and decision point. */
const served = async (t: TestContext, database: Database) => {
  const world = await taskWorld(t, database);
  const identity = testIdentity();
  const router = createRouter<Caller>({
    name: "crud",
    authenticate: identity.authenticate,
    log: silentLog,
    validateReplies: true,
    shareOf: bodyShareOf,
  });
  const parts = { ...world.parts, bus: world.bus, sealing: { secrets: identity.secrets, now: () => new Date() } };
  const currentDocument = (name: string, tenant: string) => {
    if (name !== "shown" || tenant !== "tenant:acme") throw new Problem("not_found");
    return workflow([call("look_up", "sys.read")], { name });
  };
  serveRuns(router, { ...parts, findDocument: world.findDocument, currentDocument });
  serveTasks(router, parts);
  const send = async (who: string | undefined, path: string, asked: Asked = {}): Promise<Answered> => {
    const { method = asked.body === undefined ? "GET" : "POST", body, headers = {}, as = {} } = asked;
    const token = { sub: `person:${who ?? ""}`, tenant: tenantOf(who ?? ""), scopes: allScopes, ...as };
    const response = await router.fetch(
      new Request(`http://crud.test${path}`, {
        method,
        headers: {
          ...(who === undefined ? {} : { authorization: `Bearer ${await identity.tokenFor(token)}` }),
          ...(body === undefined ? {} : { "content-type": "application/json" }),
          ...headers,
        },
        body: body === undefined ? undefined : JSON.stringify(body),
      }),
    );
    const answered = (await response.json()) as Readonly<Record<string, unknown>>;
    return { status: response.status, headers: response.headers, code: answered["code"] as string | undefined, body: answered };
  };
  return { ...world, router, send };
};
const idsOf = ({ body }: Answered): readonly string[] => (body["items"] as readonly { id: string }[]).map(({ id }) => id);

forEachDatabase("runs are seen by who started them, who controls their agent and who may see all", modules, async (t, database) => {
  const { send, start, engine, until, answers, links, ahead } = await served(t, database);
  await using _engine = await engine();
  links.set("agent:hr person:dan", "control");
  answers.set("person:ada workflows/view_runs", "permit");
  const waits = workflow([human("ask")], { name: "waits", tenant: "tenant:acme" });
  const first = (await start(waits, { input: { secret: "x" } })).id;
  await ahead(60);
  const ofAgent = (await start(waits, { by: byAgent })).id;
  const ofCleo = (await start(workflow([], { name: "ends" }), { by: cleo })).id;
  const ofEve = (await start(workflow([human("ask")], { name: "other" }), { by: eve })).id;
  for (const id of [first, ofAgent, ofEve]) await until(id, "waiting");
  await until(ofCleo, "completed");

  const none: readonly string[] = [];
  const moment = (await send("ben", `/workflows/runs/${ofAgent}`)).body["created_at"] as string;
  const lists: readonly (readonly [who: string, query: string, ids: readonly string[]])[] = [
    ["ben", "", [ofAgent, first]],
    ["dan", "", [ofAgent]],
    ["dan", "mine=true", none],
    ["cleo", "", [ofCleo]],
    ["ada", "", [ofCleo, ofAgent, first]],
    ["ada", "mine=true", none],
    ["eve", "", [ofEve]],
    ["eve", "search=waits", none],
    ["ada", "phase=waiting", [ofAgent, first]],
    ["ada", "phase=waiting&phase=completed", [ofCleo, ofAgent, first]],
    ["ada", "status=running", none],
    ["ada", "status=running&status=completed&phase=completed", [ofCleo]],
    ["ada", "reason=human", [ofAgent, first]],
    ["ada", "reason=timer&reason=budget", none],
    ["ada", "workflow=ends", [ofCleo]],
    ["ada", "started_by=person:cleo", [ofCleo]],
    ["ada", "agent=agent:hr", [ofAgent]],
    ["ada", "delegation=delegation:ben-hr", [ofAgent]],
    ["ada", "correlation_id=c-9", [ofCleo]],
    ["ada", "search=END", [ofCleo]],
    ["ada", `search=${first.toLowerCase()}`, [first]],
    ["ada", `created_after=${moment}`, [ofCleo, ofAgent]],
    ["ada", `created_before=${moment}`, [first]],
  ];
  for (const [who, query, ids] of lists) {
    const answer = await send(who, `/workflows/runs?${query}`);
    assert.deepEqual([answer.status, idsOf(answer)], [200, ids], `${who} ${query}`);
    assert.ok(!JSON.stringify(answer.body).includes("secret"), "no values");
    assert.ok((answer.body["stream_seq"] as number) > 0 || ids.length === 0);
  }
  const pages: string[] = [];
  for (let next: string | undefined = ""; next !== undefined;) {
    const page = await send("ada", `/workflows/runs?limit=1${next === "" ? "" : `&cursor=${next}`}`);
    pages.push(...idsOf(page));
    next = page.body["next_cursor"] as string | undefined;
  }
  assert.deepEqual(pages, [ofCleo, ofAgent, first]);
  const cursor = (await send("ada", "/workflows/runs?limit=1")).body["next_cursor"] as string;
  const refusals: readonly (readonly [who: string, path: string, status: number, code: string])[] = [
    ["ben", `/workflows/runs?limit=1&cursor=${cursor}`, 400, "invalid_cursor"],
    ["ada", `/workflows/runs?limit=1&search=e&cursor=${cursor}`, 400, "invalid_cursor"],
    ["ada", "/workflows/runs?limit=201", 422, "unprocessable"],
    ["ada", "/workflows/runs?phase=waiting&phase=nothing", 422, "unprocessable"],
    ["ada", "/workflows/runs?workflow=a&workflow=b", 400, "ambiguous_query"],
    ["ada", "/workflows/runs?created_after=yesterday", 422, "unprocessable"],
  ];
  for (const [who, path, status, code] of refusals) {
    const answer = await send(who, path);
    assert.deepEqual([answer.status, answer.code], [status, code], path);
  }

  const reads: readonly (readonly [who: string, id: string, status: number])[] = [
    ["ben", first, 200],
    ["ada", first, 200],
    ["dan", ofAgent, 200],
    ["dan", first, 404],
    ["cleo", first, 404],
    ["eve", first, 404],
    ["ada", ofEve, 404],
    ["ada", "run_0", 404],
  ];
  for (const [who, id, status] of reads)
    for (const below of ["", "/steps", "/diagram"])
      assert.equal((await send(who, `/workflows/runs/${id}${below}`)).status, status, `${who} ${below}`);
  answers.set("person:cleo workflows/view_runs", "down");
  for (const id of [first, "run_0"]) assert.equal((await send("cleo", `/workflows/runs/${id}`)).code, "decision_unavailable", "no oracle");

  const { headers, body } = await send("ben", `/workflows/runs/${first}`);
  assert.equal(headers.get("etag"), `"${String(body["state_version"])}"`);
  assert.deepEqual(
    [body["workflow"], body["namespace"], body["phase"], body["reason"], body["input"], body["started_by"]],
    ["waits", "acme", "waiting", "human", { secret: "x" }, { sub: "person:ben", agent: null, delegation_id: null }],
  );
  assert.deepEqual(body["may"], ["cancel", "suspend"]);
  const waiting = body["waiting"] as { required_actions: { you_may: boolean; why_not: string }[] };
  assert.deepEqual([waiting.required_actions[0]?.you_may, waiting.required_actions[0]?.why_not], [false, "separation_of_duties"]);
});

forEachDatabase("verbs are for who started a run, for its owner to retry, and for who may operate", modules, async (t, database) => {
  const { send, start, engine, until, answers, groups, tools, run } = await served(t, database);
  await using _engine = await engine();
  groups.set("person:owner", ["role:member"]);
  for (const who of ["ada", "owner"]) answers.set(`person:${who} workflows/view_runs`, "permit");
  answers.set("person:ada workflows/operate", "permit");
  let isBroken = true;
  tools.set("sys.break", {
    answer: () => (isBroken ? { effect: "failed", problem: new Problem("upstream_error"), status: 500 } : { effect: "ok", value: 1 }),
  });
  const waits = workflow([human("ask")], { name: "waits" });
  const { id } = await start(waits);
  await until(id, "waiting");
  const stale = { "if-match": '"0"' };
  const any = { "if-match": "*" };
  const rows: readonly (readonly [
    who: string,
    verb: string,
    headers: Record<string, string>,
    status: number,
    code?: string,
    body?: object,
  ])[] = [
    ["eve", "cancel", any, 404, "not_found"],
    ["dan", "cancel", any, 404, "not_found"],
    ["owner", "cancel", any, 403, "access_denied"],
    ["owner", "cancel", {}, 403, "access_denied"],
    ["ben", "suspend", {}, 422, "state_version_required"],
    ["ben", "suspend", stale, 412, "stale_version"],
    ["ben", "retry", any, 403, "access_denied"],
    ["ada", "retry", any, 409, "wrong_phase"],
    ["ben", "takeover", any, 409, "wrong_phase"],
    ["ben", "cancel", any, 422, "unknown_member", { undone: true }],
    ["ben", "suspend", any, 200],
    ["ada", "unsuspend", any, 200],
    ["ben", "cancel", any, 200, undefined, { undo: false }],
  ];
  for (const [who, verb, headers, status, code, body] of rows) {
    const before = await run(id);
    const answer = await send(who, `/workflows/runs/${id}/${verb}`, { method: "POST", headers, ...(body === undefined ? {} : { body }) });
    assert.deepEqual([answer.status, answer.code], [status, code], `${who} ${verb}`);
    if (code === "wrong_phase") assert.deepEqual(answer.body["allowed_verbs"], ["cancel", "suspend"]);
    const after = await run(id);
    if (status !== 200) assert.equal(after.state_version, before.state_version, "nothing was done");
    else assert.equal(answer.headers.get("etag"), `"${String(answer.body["state_version"])}"`);
  }
  assert.equal((await until(id, "cancelled")).reason, "operator");

  // Its owner repeats what failed; who only started it does not.
  const failing = (await start(workflow([call("one", "sys.break")], { name: "fails" }))).id;
  await until(failing, "faulted");
  const mays = ["ben", "owner", "ada"].map(async (who) => (await send(who, `/workflows/runs/${failing}`)).body["may"] as unknown);
  assert.deepEqual(await Promise.all(mays), [["rerun"], ["retry"], ["retry", "rerun"]]);
  const retry = (who: string, body?: object) =>
    send(who, `/workflows/runs/${failing}/retry`, { method: "POST", headers: any, ...(body === undefined ? {} : { body }) });
  assert.equal((await retry("ben")).code, "access_denied");
  assert.deepEqual((await retry("owner", { path: "/do/none" })).code, "unprocessable");
  isBroken = false;
  assert.equal((await retry("owner", { path: "/do/one" })).status, 200);
  await until(failing, "completed");
});

forEachDatabase("steps have their attempts in order, and a diagram their state", modules, async (t, database) => {
  const { send, start, engine, until, attempts } = await served(t, database);
  await using _engine = await engine();
  const steps = [
    call("one", "sys.one", { with: { n: 1 } }),
    { kind: "for", name: "all", each: "x", at: "at", in: "[1, 2]", steps: [call("two", "sys.two")] } as const,
    human("ask"),
    call("last", "sys.last"),
  ];
  const { id } = await start(workflow(steps, { name: "many" }));
  await until(id, "waiting");
  const path = `/workflows/runs/${id}`;
  const all = (await send("ben", `${path}/steps`)).body["items"] as readonly Record<string, unknown>[];
  assert.deepEqual(all.map((step) => [step["path"], step["status"], (step["attempts"] as unknown[]).length]).toSorted(), [
    ["/do/all", "done", 0],
    ["/do/all[0]/two", "done", 1],
    ["/do/all[1]/two", "done", 1],
    ["/do/ask", "waiting", 0],
    ["/do/one", "done", 1],
  ]);
  assert.ok(all.every((step) => !("input" in step) && !("output" in step)));
  const [attempt] = (all[0]?.["attempts"] ?? []) as readonly Record<string, unknown>[];
  const [stored] = await database.run<{ call_id: string }>(
    statement("t.call", "select call_id from crud.wf_attempt where run_id = $1 and path = '/do/one'"),
    [id],
  );
  assert.deepEqual(
    [attempt?.["attempt"], attempt?.["outcome"], attempt?.["decision_id"], attempt?.["audit_id"], attempt?.["cost_usd"]],
    [1, "ok", "d_test", stored?.call_id, 0.001],
  );
  assert.ok((attempt?.["ms"] as number) >= 0);
  assert.equal((await attempts(id)).length, 3);
  const walked: unknown[] = [];
  for (let next: string | undefined = ""; next !== undefined;) {
    const page: Answered = await send("ben", `${path}/steps?limit=2${next === "" ? "" : `&cursor=${next}`}`);
    walked.push(...(page.body["items"] as readonly { path: string }[]).map((step) => step.path));
    next = page.body["next_cursor"] as string | undefined;
  }
  assert.deepEqual(
    walked,
    all.map((step) => step["path"]),
  );
  const [one] = (await send("ben", `${path}/steps?path=/do/one`)).body["items"] as readonly Record<string, unknown>[];
  assert.deepEqual([one?.["input"], one?.["output"]], [{ n: 1 }, { tool: "sys.one", path: "/do/one" }]);

  const { nodes } = (await send("ben", `${path}/diagram`)).body as { nodes: readonly Record<string, unknown>[] };
  assert.deepEqual(
    nodes.map((node) => [node["id"], node["status"], node["attempt"]]),
    [
      ["start", undefined, undefined],
      ["/do/one", "done", 1],
      ["/do/all", "done", 0],
      ["/do/all[]/two", "done", 1],
      ["/do/ask", "waiting", 0],
      ["/do/last", undefined, undefined],
      ["end", undefined, undefined],
    ],
  );
});

forEachDatabase(
  "a run's request_format is sent as it stands, and tasks are listed, shown, decided and passed on",
  modules,
  async (t, database) => {
    const { send, ask, engine, until, answers } = await served(t, database);
    await using _engine = await engine();
    for (const who of ["cleo", "dan", "ada", "ben"])
      for (const pair of ["tasks/view_all", "tasks/view_summary", "workflows/view_all"])
        if (who !== "dan") answers.set(`person:${who} ${pair}`, "permit");
    answers.set("person:ada tasks/view", "deny");

    const { run, task } = await ask({ assign: ["person:cleo"], evidence: { sum: 10 }, dueMs: 3_600_000 });
    const seen = await send("cleo", `/workflows/runs/${run.id}/resume`, { body: { decision: "approve", idempotency_key: "k0" } });
    assert.deepEqual([seen.status, seen.code], [422, "state_version_required"]);
    const stale = await send("cleo", `/workflows/runs/${run.id}/resume`, {
      body: { decision: "approve", idempotency_key: "k1" },
      headers: { "if-match": '"0"' },
    });
    assert.deepEqual([stale.status, stale.code], [412, "stale_version"]);
    const { request_format: format } = stale.body["waiting"] as {
      request_format: { method: string; url: string; headers: Record<string, string>; body: Record<string, unknown> };
    };
    const body = { ...format.body, decision: "approve" };
    const asked = { method: format.method, headers: format.headers, body };
    const done = await send("cleo", format.url, asked);
    assert.deepEqual([done.status, done.headers.get("idempotency-replayed")], [200, null]);
    assert.ok(!("input" in done.body), "who only decides a task sees no values");
    const again = await send("cleo", format.url, asked);
    assert.deepEqual([again.status, again.headers.get("idempotency-replayed"), again.body], [200, "true", done.body]);
    assert.equal((await send("cleo", format.url, { ...asked, body: { ...body, comment: "no" } })).code, "idempotency_mismatch");
    assert.equal((await send("cleo", format.url, { ...asked, body: { ...body, idempotency_key: "k2" } })).code, "stale_version");
    await until(run.id, "completed");

    const second = await ask({ assign: ["person:cleo"], taskKind: "choice", decisions: ["yes", "no"], title: "Choose one" });
    const lists: readonly (readonly [who: string, query: string, ids: readonly string[]])[] = [
      ["cleo", "", [second.task.id, task.id]],
      ["cleo", "sort=created_at", [task.id, second.task.id]],
      ["cleo", "status=PENDING", [second.task.id]],
      ["cleo", "status=PENDING&status=COMPLETED", [second.task.id, task.id]],
      ["cleo", "type=approval", [task.id]],
      ["cleo", `run_id=${run.id}`, [task.id]],
      ["cleo", `workflow_id=${second.run.name}`, [second.task.id]],
      ["cleo", "completed_by=person:cleo", [task.id]],
      ["cleo", "created_by=person:cleo", []],
      ["cleo", "assigned_to=me&status=PENDING", [second.task.id]],
      ["cleo", "overdue=true", []],
      ["cleo", "search=choose", [second.task.id]],
      ["ada", "", []],
      ["ben", "assigned_to=me", []],
    ];
    for (const [who, query, ids] of lists) assert.deepEqual(idsOf(await send(who, `/tasks?${query}`)), ids, `${who} ${query}`);
    const rows: readonly (readonly [who: string, path: string, asked: Asked, status: number, code?: string])[] = [
      ["dan", "/tasks", {}, 403, "access_denied"],
      ["dan", "/tasks/summary", {}, 403, "access_denied"],
      ["ada", `/tasks/${task.id}`, {}, 404, "not_found"],
      ["eve", `/tasks/${task.id}`, {}, 404, "not_found"],
      ["cleo", "/tasks/task_0", {}, 404, "not_found"],
      ["eve", `/tasks/${second.task.id}/complete`, { body: { decision: "yes", state_version: 1, idempotency_key: "k" } }, 404, "not_found"],
      ["eve", `/tasks/${second.task.id}/delegate`, { body: { to: "person:eve" } }, 404, "not_found"],
      ["cleo", "/tasks?assigned_to=person:ben", {}, 422, "unprocessable"],
      ["cleo", `/tasks/${second.task.id}/complete`, { body: { decision: "yes", idempotency_key: "k" } }, 422, "state_version_required"],
      [
        "cleo",
        `/tasks/${second.task.id}/complete`,
        { body: { decision: "maybe", state_version: 1, idempotency_key: "k" } },
        422,
        "decision_not_allowed",
      ],
      [
        "cleo",
        `/tasks/${second.task.id}/complete`,
        { body: { decision: "yes", state_version: 9, idempotency_key: "k" } },
        409,
        "stale_version",
      ],
      [
        "cleo",
        `/tasks/${second.task.id}/complete`,
        { body: { decision: "yes", data: { a: "x".repeat(300_000) }, state_version: 1, idempotency_key: "k" } },
        422,
        "value_too_large",
      ],
      ["cleo", `/tasks/${second.task.id}/delegate`, { body: { to: "person:dan" }, headers: { "if-match": '"9"' } }, 412, "stale_version"],
    ];
    for (const [who, path, what, status, code] of rows) {
      const answer = await send(who, path, what);
      assert.deepEqual([answer.status, answer.code], [status, code], `${who} ${path}`);
    }
    const detail = await send("cleo", `/tasks/${task.id}`);
    assert.deepEqual([detail.headers.get("etag"), detail.body["evidence"], detail.body["status"]], ['"2"', { sum: 10 }, "COMPLETED"]);
    const passed = await send("cleo", `/tasks/${second.task.id}/delegate`, {
      body: { to: "person:dan", note: "please" },
      headers: { "if-match": '"1"' },
    });
    assert.deepEqual([passed.status, passed.headers.get("etag"), passed.body["you_may"]], [200, '"2"', false]);
    const complete = { body: { decision: "yes", idempotency_key: "k" }, headers: { "if-match": '"2"' } };
    const decided = await send("dan", `/tasks/${second.task.id}/complete`, complete);
    assert.deepEqual([decided.status, decided.body["status"], decided.headers.get("etag")], [200, "COMPLETED", '"3"']);
    const replayed = await send("dan", `/tasks/${second.task.id}/complete`, complete);
    assert.deepEqual([replayed.headers.get("idempotency-replayed"), replayed.body], ["true", decided.body]);
    const { body: summary } = await send("cleo", "/tasks/summary");
    assert.deepEqual([summary["pending"], summary["completed_7d"]], [0, 2]);

    assert.equal((await send("dan", "/workflows/shown/diagram")).code, "access_denied", "before it shows what is there");
    assert.equal((await send("dan", "/workflows/none/diagram")).code, "access_denied");
    assert.equal((await send("cleo", "/workflows/none/diagram")).code, "not_found");
    const { nodes } = (await send("cleo", "/workflows/shown/diagram")).body as { nodes: readonly { label: string }[] };
    assert.deepEqual(
      nodes.map(({ label }) => label),
      ["Start", "Look up", "End"],
    );
  },
);

forEachDatabase("each endpoint refuses who has no token, another scope, or is an agent", modules, async (t, database) => {
  const { router, send } = await served(t, database);
  for (const endpoint of router.served) {
    const path = endpoint.path.replaceAll(/\{\w+\}/g, "x");
    const { method } = endpoint;
    assert.equal((await send(undefined, path, { method })).status, 401, path);
    const others = allScopes.filter((scope) => !(endpoint.scope ?? []).includes(scope));
    const refused = await send("ben", path, { method, as: { scopes: others } });
    assert.deepEqual([refused.status, refused.code], [403, "insufficient_scope"], path);
    assert.equal((await send("ben", path, { method, as: { agent: "agent:hr" } })).status, 403, path);
  }
  const declared = endpointTable.filter(({ topic }) => topic === "workflow-runs" || topic === "tasks");
  assert.deepEqual(router.served.length, declared.length, "each that is declared is served");
});
