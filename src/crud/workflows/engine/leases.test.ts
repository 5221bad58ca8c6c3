import assert from "node:assert/strict";
import { Problem } from "#contract/problem.ts";
import { silentLog } from "#telemetry/log.ts";
import { statement } from "#store/database.ts";
import { forEachDatabase } from "#testing/database.ts";
import { until } from "#testing/until.ts";
import { ben, call, human, testSealing, workflow, workflowWorld } from "#testing/workflow-world.ts";
import { startRunRetention } from "./run-retention.ts";
import { startRun } from "./start-run.ts";

const modules = ["events", "crud"] as const;

for (const isRepeatable of [true, false])
  forEachDatabase(
    `of a lease that is taken in mid-call the late holder writes nothing; a tool that ${isRepeatable ? "may" : "may not"} run again`,
    modules,
    async (t, database) => {
      const world = await workflowWorld(t, database);
      const goOn = Promise.withResolvers<void>();
      world.tools.set("sys.slow", {
        isRepeatable,
        answer: async (_call, n) => {
          if (n === 1) await goOn.promise;
          return { effect: "ok", value: { n } };
        },
      });
      const run = await world.start(workflow([call("slow", "sys.slow")]));
      // Its own heartbeat is too slow to notice.
      const late = await world.engine({ leaseSeconds: 40 });
      await until(
        () => world.steps(run.id),
        (steps) => steps["/do/slow"]?.status === "running",
      );
      await world.ahead(60);
      const next = await world.engine();
      if (!isRepeatable) {
        const { kind } = await world.answer(run.id, { decision: "succeeded", data: { n: 1 } });
        assert.equal(kind, "unknown_outcome");
      }
      const done = await world.until(run.id, "completed");
      goOn.resolve();
      await late[Symbol.asyncDispose]();
      await next[Symbol.asyncDispose]();
      assert.deepEqual(await world.run(run.id), { ...done, lease_by: null });
      assert.deepEqual(done.output, isRepeatable ? { n: 2 } : { n: 1 });
      assert.deepEqual(
        (await world.attempts(run.id)).map(({ outcome }) => outcome),
        isRepeatable ? ["unknown", "ok"] : ["unknown"],
      );
      assert.equal(world.effects.length, 1);
      assert.match(await world.metrics.text(), /^workflow_lost_leases_total 1$/m);
    },
  );

forEachDatabase("a signal before, at or after the park wakes its run once, however often it comes", modules, async (t, database) => {
  const world = await workflowWorld(t, database);
  const document = workflow([human("ask"), call("write", "sys.write")]);
  // Ten runs, each of which is answered at another moment of its first walk.
  const runs = await Promise.all(Array.from({ length: 10 }, () => world.start(document)));
  await world.engine({ workers: 10 });
  await Promise.all(
    runs.map(async ({ id }, at) => {
      const task = await until(
        () => [...world.tasks.values()].find((one) => one.run.id === id),
        (found) => found !== undefined,
      );
      if (task === undefined) return;
      if (at % 2 === 1) await world.until(id, "waiting");
      const sent = await Promise.all(Array.from({ length: 10 }, () => world.signal(id, task.id, { decision: "approve" })));
      assert.equal(sent.filter(Boolean).length, 1);
    }),
  );
  for (const { id } of runs) {
    await world.until(id, "completed");
    assert.equal(world.effects.filter(({ run }) => run === id).length, 1);
  }
  const early = await world.start(document);
  await world.signal(early.id, "task_OTHER", { decision: "approve" });
  assert.equal((await world.until(early.id, "waiting")).reason, "human", "a signal of another topic consumes nothing");
});

forEachDatabase("two branches that are answered while a third one calls go on after it", modules, async (t, database) => {
  const world = await workflowWorld(t, database);
  const goOn = Promise.withResolvers<void>();
  world.tools.set("sys.slow", { answer: async () => (await goOn.promise, { effect: "ok", value: 1 }) });
  await world.engine();
  const run = await world.start(
    workflow([{ kind: "fork", name: "all", branches: [human("a"), call("slow", "sys.slow"), human("b", { onReject: "continue" })] }]),
  );
  await until(
    () => world.tasks.size,
    (size) => size === 2,
  );
  // The tasks ride with the transaction that opens the call.
  await until(
    () => world.steps(run.id),
    (steps) => steps["/do/all/slow"]?.status === "running",
  );
  await world.answer(run.id, { decision: "approve" }, "a");
  await world.answer(run.id, { decision: "reject" }, "b");
  goOn.resolve();
  const { output } = await world.until(run.id, "completed");
  assert.deepEqual(
    (output as { decision?: string }[]).map((one) => one.decision ?? one),
    ["approve", 1, "reject"],
  );
});

forEachDatabase("the same key and data start one run; other data are refused", modules, async (t, database) => {
  const world = await workflowWorld(t, database);
  const document = world.publish(workflow([human("ask")]));
  const start = (input: unknown, key = "k-1") =>
    startRun(
      { change: world.change, newId: world.newId, ...testSealing },
      { document, configVersion: 1, input, by: ben, idempotencyKey: key },
    );
  const racing = await Promise.all(Array.from({ length: 8 }, () => start({ a: 1 })));
  assert.equal(racing.filter(({ isNew }) => isNew).length, 1);
  assert.equal(new Set(racing.map(({ run }) => run.id)).size, 1);
  assert.match(racing[0]?.run.id ?? "", /^run_[0-7][0-9A-HJKMNP-TV-Z]{25}$/);
  await assert.rejects(
    start({ a: 2 }),
    (error) => error instanceof Problem && error.status === 422 && error.code === "idempotency_mismatch",
  );
  assert.notEqual((await start({ a: 2 }, "k-2")).run.id, racing[0]?.run.id);
  await assert.rejects(start({ a: "x".repeat(300_000) }, "k-3"), { code: "value_too_large" });
});

forEachDatabase("a tenant with many runs leaves half of the slots to others", modules, async (t, database) => {
  const world = await workflowWorld(t, database);
  const other = { ...ben, caller: { ...ben.caller, tenant: "tenant:globex" } };
  const running: string[] = [];
  const goOn = Promise.withResolvers<void>();
  world.tools.set("sys.slow", {
    answer: async ({ run }) => {
      running.push(run.tenant);
      await goOn.promise;
      return { effect: "ok", value: null };
    },
  });
  const document = workflow([call("slow", "sys.slow")]);
  const ids = [];
  for (let n = 0; n < 12; n++) ids.push((await world.start(document)).id);
  for (let n = 0; n < 3; n++) ids.push((await world.start(document, { by: other })).id);
  await world.engine({ workers: 4 });
  await until(
    () => running.length,
    (length) => length === 4,
  );
  assert.deepEqual(running.toSorted(), ["tenant:acme", "tenant:acme", "tenant:globex", "tenant:globex"]);
  goOn.resolve();
  for (const id of ids) await world.until(id, "completed");
});

forEachDatabase("an engine that stops lets open calls end, and opens no other", modules, async (t, database) => {
  const world = await workflowWorld(t, database);
  const goOn = Promise.withResolvers<void>();
  world.tools.set("sys.slow", { answer: async () => (await goOn.promise, { effect: "ok", value: 1 }) });
  const engine = await world.engine();
  const run = await world.start(workflow([call("slow", "sys.slow"), call("next", "sys.next")]));
  await until(
    () => world.steps(run.id),
    (steps) => steps["/do/slow"]?.status === "running",
  );
  const stopped = engine[Symbol.asyncDispose]();
  goOn.resolve();
  await stopped;
  const steps = await world.steps(run.id);
  assert.deepEqual([steps["/do/slow"]?.status, steps["/do/next"]], ["done", undefined]);
  await world.engine();
  assert.equal((await world.until(run.id, "completed")).cost_steps, 2);
  assert.equal(world.effects.length, 2);
});

forEachDatabase("values of ended runs are blanked, then their rows deleted; live runs stay", modules, async (t, database) => {
  const world = await workflowWorld(t, database);
  await world.engine();
  const ended = await world.start(workflow([call("write", "sys.write")], { name: "ends" }), { input: { secret: 1 }, idempotencyKey: "k" });
  const live = await world.start(
    workflow([human("ask", { expiresMs: 300 * 86_400_000 })], { name: "lives", timeoutMs: 365 * 86_400_000 }),
    { input: { stays: 1 } },
  );
  await world.until(ended.id, "completed");
  await world.until(live.id, "waiting");
  const days = { payloadDays: 30, retentionDays: 90, idempotencyDays: 7 };
  const context = { database, log: silentLog, metrics: world.metrics, everyMs: 5, ...days };
  await using _retention = startRunRetention(context);
  const key = async () => {
    const rows = await database.run<{ idem_key: string | null }>(statement("t.key", "select idem_key from crud.wf_run where id = $1"), [
      ended.id,
    ]);
    return rows[0]?.idem_key;
  };
  await world.ahead(8 * 86_400);
  await until(key, (found) => found === null);
  assert.deepEqual((await world.run(ended.id)).input, { secret: 1 });
  await world.ahead(23 * 86_400);
  await until(
    () => world.run(ended.id),
    ({ input, output }) => input === null && output === null,
  );
  assert.equal((await world.steps(ended.id))["/do/write"]?.output, null);
  await world.ahead(60 * 86_400);
  await until(key, (found) => found === undefined);
  assert.deepEqual((await world.run(live.id)).input, { stays: 1 });
  assert.match(await world.metrics.text(), /^workflow_runs\{phase="[a-z]+",reason="[a-z]*"\} 1$/m);
});
