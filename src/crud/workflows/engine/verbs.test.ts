import assert from "node:assert/strict";
import { Problem } from "#contract/problem.ts";
import { forEachDatabase } from "#testing/database.ts";
import { ben, call, human, workflow, workflowWorld } from "#testing/workflow-world.ts";
import { until } from "#testing/until.ts";
import { wakeRun } from "./signals.ts";
import type { RunCaller } from "./start-run.ts";
import { actOnRun, revokeRuns, type VerbCall } from "./verbs.ts";

const modules = ["events", "crud"] as const;
const agent: RunCaller = { ...ben, caller: { ...ben.caller, agent: "agent:hr" }, delegationId: "delegation:ben-hr" };
const undone = { compensate: { tool: "sys.undo", with: { of: "${ output.path }" } } };

forEachDatabase("verbs move a run as its phase permits, and each is in the audit log", modules, async (t, database) => {
  const world = await workflowWorld(t, database);
  await world.engine();
  const act = (run: string, verb: VerbCall["verb"], more: Partial<VerbCall> = {}) =>
    actOnRun(world.change, { run, verb, by: ben, ...more });
  const document = workflow([call("one", "sys.one", undone), call("two", "sys.two", undone), human("ask")]);
  const start = async () => {
    const { id } = await world.start(document);
    await world.until(id, "waiting");
    return id;
  };

  const suspended = await start();
  const before = await world.run(suspended);
  await assert.rejects(act(suspended, "retry"), (error) => error instanceof Problem && error.code === "wrong_phase");
  await assert.rejects(act(suspended, "suspend", { stateVersion: before.state_version + 1 }), { code: "stale_version" });
  await assert.rejects(act(suspended, "suspend", { by: { ...ben, caller: { ...ben.caller, tenant: "tenant:globex" } } }), {
    code: "not_found",
  });
  const after = await act(suspended, "suspend", { stateVersion: before.state_version });
  assert.deepEqual([after.phase, after.reason, after.state_version], ["suspended", "operator", before.state_version + 1]);
  assert.ok(after.epoch > before.epoch);
  await world.answer(suspended, { decision: "approve" });
  assert.equal((await world.run(suspended)).wake_at, null, "a signal does not wake what is suspended");
  await act(suspended, "unsuspend");
  assert.equal((await world.until(suspended, "completed")).phase, "completed");

  const cancelled = await start();
  await act(cancelled, "cancel");
  const { phase, reason } = await world.until(cancelled, "cancelled");
  assert.deepEqual([phase, reason], ["cancelled", "compensated"]);
  const steps = await world.steps(cancelled);
  assert.deepEqual(
    world.effects.filter(({ run, tool }) => run === cancelled && tool === "sys.undo").map((one) => one.arguments),
    [{ of: "/do/two" }, { of: "/do/one" }],
  );
  assert.deepEqual([steps["/do/one"]?.status, steps["/do/two~undo"]?.status, steps["/do/ask"]?.status], ["undone", "done", "cancelled"]);
  assert.equal(steps["/do/two~undo"]?.undo_of, "/do/two");
  assert.equal([...world.tasks.values()].find(({ run }) => run.id === cancelled)?.status, "CANCELLED");

  const kept = await start();
  await act(kept, "cancel", { isUndone: false });
  assert.equal((await world.until(kept, "cancelled")).reason, "operator");
  assert.equal((await world.steps(kept))["/do/one"]?.status, "done");
  await assert.rejects(act(kept, "cancel"), { code: "wrong_phase" });

  await world.integrator.integrate();
  const entries = await database.run<{ op: string }>(
    {
      name: "t.entries",
      text: `select convert_from(leaf, 'UTF8')::jsonb -> 'data' ->> 'op' as op from events.audit_entry
           where category = 'workflow' and resource_id = $1 order by seq`,
    },
    [suspended],
  );
  assert.deepEqual(
    entries.map(({ op }) => op),
    ["start", "suspend", "unsuspend"],
  );
});

forEachDatabase(
  "a failed run is retried at its failed step; a failed undo does not stop the others and can be retried",
  modules,
  async (t, database) => {
    const world = await workflowWorld(t, database);
    await world.engine();
    const problem = new Problem("upstream_error");
    let isBroken = true;
    const breaking = {
      answer: ({ path }: { path: string }) =>
        isBroken ? { effect: "failed" as const, problem, status: 503 } : { effect: "ok" as const, value: { path } },
    };
    world.tools.set("sys.broken", breaking);
    const failed = await world.start(workflow([call("read", "sys.one"), call("write", "sys.broken")], { name: "plain" }));
    const { error } = await world.until(failed.id, "faulted");
    assert.deepEqual([error?.status, error?.instance], [503, "/do/write"]);
    isBroken = false;
    await actOnRun(world.change, { run: failed.id, verb: "retry", by: ben });
    assert.deepEqual((await world.until(failed.id, "completed")).error, null);
    assert.equal(world.effects.filter(({ run, tool }) => run === failed.id && tool === "sys.one").length, 1);

    isBroken = true;
    world.tools.set("sys.unbroken", breaking);
    const steps = [
      call("one", "sys.one", undone),
      call("two", "sys.two", { compensate: { tool: "sys.unbroken", with: {} } }),
      { kind: "raise", name: "oops", error: { type: "urn:x", status: 400 } } as const,
    ];
    const run = await world.start(workflow(steps, { name: "undoes" }));
    const incomplete = await until(
      async () => {
        await world.skipWait(run.id);
        return (await world.run(run.id)).phase;
      },
      (phase) => phase === "faulted",
    ).then(() => world.run(run.id));
    assert.equal(incomplete.reason, "compensation_incomplete");
    assert.deepEqual(world.notified, [`${run.id} compensation_incomplete`]);
    const left = await world.steps(run.id);
    assert.deepEqual([left["/do/one"]?.status, left["/do/two"]?.status, left["/do/two~undo"]?.retries], ["undone", "done", 4]);
    isBroken = false;
    await actOnRun(world.change, { run: run.id, verb: "retry", by: ben });
    assert.equal((await world.until(run.id, "faulted")).reason, "compensated");
    assert.equal(world.effects.filter(({ run: of, tool }) => of === run.id && tool === "sys.undo").length, 1);
  },
);

forEachDatabase("who may no longer act stops, in a wait or in mid-call, and the person takes over", modules, async (t, database) => {
  const world = await workflowWorld(t, database);
  await world.engine({ leaseSeconds: 3 });
  let isRevoked = false;
  world.tools.set("sys.two", { refuse: (one) => (isRevoked && one.agent !== null ? new Problem("delegation_inactive") : undefined) });
  const aborted = Promise.withResolvers<void>();
  world.tools.set("sys.slow", {
    answer: async ({ signal, path }, n) => {
      if (n > 1) return { effect: "ok", value: { path } };
      signal.addEventListener("abort", () => aborted.resolve());
      await aborted.promise;
      return { effect: "not_sent", problem: new Problem("upstream_error"), status: undefined };
    },
  });
  const waiting = await world.start(workflow([human("ask"), call("two", "sys.two")], { name: "waits" }), { by: agent });
  const calling = await world.start(workflow([call("slow", "sys.slow")], { name: "calls" }), { by: agent });
  const alone = await world.start(workflow([human("ask")], { name: "alone" }));
  await world.until(waiting.id, "waiting");
  await world.until(alone.id, "waiting");
  await until(
    () => world.steps(calling.id),
    (steps) => steps["/do/slow"]?.status === "running",
  );
  isRevoked = true;
  assert.equal(await revokeRuns(world.change, "delegation:ben-hr"), 2);
  for (const { id } of [waiting, calling]) assert.equal((await world.until(id, "suspended")).reason, "revoked");
  assert.equal((await world.run(alone.id)).phase, "waiting");
  // Not told of: the step's own decision finds it.
  const late = await world.start(workflow([call("two", "sys.two")], { name: "late" }), { by: agent });
  assert.equal((await world.until(late.id, "suspended")).reason, "revoked");
  for (const { id } of [waiting, calling, late]) await actOnRun(world.change, { run: id, verb: "takeover", by: ben });
  await world.answer(waiting.id, { decision: "approve" });
  for (const { id } of [waiting, calling, late]) {
    const { agent: left, subject } = await world.until(id, "completed");
    assert.deepEqual([left, subject], [null, "person:ben"]);
  }
});

forEachDatabase("what a step waits for is its run's reason, and its end wakes it", modules, async (t, database) => {
  const world = await workflowWorld(t, database);
  await world.engine();
  const rows = [
    ["step_up_required", "step_up"],
    ["no_token_available", "reauth"],
    ["budget_exhausted", "budget"],
    ["pdp_unavailable", "unavailable"],
    ["tool_disabled", "denied"],
  ] as const;
  for (const [code, reason] of rows) {
    let isOver = false;
    world.tools.set("sys.some", { refuse: () => (isOver ? undefined : new Problem(code)) });
    const { id } = await world.start(workflow([call("some", "sys.some")], { name: code.replaceAll("_", "-") }));
    const run = await until(
      () => world.run(id),
      (now) => now.reason === reason,
    );
    assert.equal(run.phase, "waiting", code);
    assert.equal((await world.attempts(id)).length, 0, "nothing was called");
    isOver = true;
    await database.transaction(async (sql) => wakeRun(sql, id, { acr: "strong", authTime: 1_790_000_000 }));
    assert.equal((await world.until(id, "completed")).acr, "strong", code);
  }
});
