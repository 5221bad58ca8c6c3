import assert from "node:assert/strict";
import { Problem } from "#contract/problem.ts";
import { forEachDatabase } from "#testing/database.ts";
import { until } from "#testing/until.ts";
import { call, deathAt, human, PRICE, workflow, workflowWorld } from "#testing/workflow-world.ts";
import type { Step, WorkflowDocument } from "#crud/workflows/model/workflow-document.ts";

const modules = ["events", "crud"] as const;
type World = Awaited<ReturnType<typeof workflowWorld>>;

/** How many deaths of each document are played; `WORKFLOW_CRASHES=all` plays each. */
const SAMPLE = process.env["WORKFLOW_CRASHES"] === "all" ? Infinity : 12;
const SEED = Number(process.env["WORKFLOW_SEED"] ?? 20_261_128);

const steps: readonly Step[] = [
  { kind: "set", name: "one", set: { n: "${ input.n }" }, exportAs: "${ output }" },
  call("read", "sys.read"),
  call("write", "sys.write", { with: { n: "${ context.n }" }, compensate: { tool: "sys.unwrite", with: { was: "${ output.path }" } } }),
  { kind: "wait", name: "pause", waitMs: 3_000 },
  human("approve"),
  {
    kind: "fork",
    name: "both",
    branches: [
      call("keyed", "sys.keyed", { compensate: { tool: "sys.unkeyed", with: {} } }),
      { kind: "do", name: "other", steps: [call("plain", "sys.write"), { kind: "set", name: "after", set: 7 }] },
    ],
  },
  {
    kind: "for",
    name: "each",
    each: "item",
    at: "index",
    in: '["a", "b"]',
    steps: [call("item", "sys.keyed", { with: { item: "${ item }" } })],
  },
  {
    kind: "try",
    name: "again",
    steps: [call("flaky", "sys.flaky")],
    catch: {
      as: "error",
      retry: { delayMs: 1, backoff: { kind: "constant", factor: 1, incrementMs: 0 }, maxAttempts: 3 },
      steps: [],
    },
  },
];
const documents: readonly WorkflowDocument[] = [
  workflow(steps, { name: "completes" }),
  workflow([...steps, { kind: "raise", name: "oops", error: { type: "urn:x", status: 400 } }], { name: "undoes" }),
];

const prepare = (world: World): void => {
  for (const name of ["sys.read", "sys.keyed", "sys.unkeyed"]) world.tools.set(name, { isRepeatable: true });
  const problem = new Problem("upstream_error");
  const failed = { effect: "failed", problem, status: 500 } as const;
  world.tools.set("sys.flaky", { answer: ({ path }, n) => (n === 1 ? failed : { effect: "ok", value: { path } }) });
};

/** Plays persons and time until the run has ended: approvals are given, and the owner answers truthfully what was done. */
const finish = async (world: World, run: string): Promise<void> => {
  await until(
    async () => {
      const { phase } = await world.run(run);
      await world.skipWait(run, "timer");
      for (const { path, task_id: id, status } of Object.values(await world.steps(run))) {
        const task = id === null ? undefined : world.tasks.get(id);
        if (id === null || task?.status !== "PENDING" || (status !== "waiting" && status !== "unknown")) continue;
        const done = world.effects.find(({ key }) => key === `${run}:${path}`);
        const decision = task.kind !== "unknown_outcome" ? "approve" : done === undefined ? "retry" : "succeeded";
        const data = done === undefined ? null : { ...(path.endsWith("flaky") ? {} : { tool: done.tool }), path };
        await world.signal(run, id, { decision, data, completed_at: "t", decided_by: [] });
      }
      return phase;
    },
    (phase) => ["completed", "faulted", "cancelled"].includes(phase),
    20_000,
  );
};

/** Numbers below `count` that the seed gives; all of them where so many are wanted. */
const sampleOf = (count: number): readonly number[] => {
  if (count <= SAMPLE) return Array.from({ length: count }, (_none, k) => k);
  let state = SEED;
  const chosen = new Set<number>();
  while (chosen.size < SAMPLE) chosen.add((state = (state * 1_103_515_245 + 12_345) % 2_147_483_648) % count);
  return [...chosen];
};

const taskless = (outcome: Awaited<ReturnType<World["outcome"]>>): unknown => {
  const { cost: _cost, ...rest } = outcome;
  return JSON.parse(JSON.stringify(rest).replaceAll(/task_[0-9A-Z]{26}/g, "task"));
};

for (const document of documents)
  forEachDatabase(
    `an engine that dies at any statement or call leaves what another finishes: a workflow that ${document.name}`,
    modules,
    async (t, database) => {
      const world = await workflowWorld(t, database);
      prepare(world);
      /** Lets an engine die at its k-th step, and another finish. */
      const play = async (k: number) => {
        const death = deathAt(k);
        const run = await world.start(document, { input: { n: 1 } });
        await world.engine({ death, leaseSeconds: 5 });
        await Promise.race([finish(world, run.id), death.died]);
        if (death.steps.length > k) {
          await world.ahead(6);
          await using _survivor = await world.engine();
          await finish(world, run.id);
        } else death.kill();
        return { run: run.id, steps: death.steps };
      };
      const whole = deathAt(1_000_000);
      const run = await world.start(document, { input: { n: 1 } });
      await world.engine({ death: whole });
      await finish(world, run.id);
      whole.kill();
      const count = whole.steps.length;
      const undisturbed = taskless(await world.outcome(run.id));
      assert.ok(count > 60, String(count));
      assert.match(JSON.stringify(undisturbed), document.name === "undoes" ? /"compensated"/ : /"completed"/);
      for (const k of sampleOf(count)) {
        const died = await play(k);
        const outcome = await world.outcome(died.run);
        const attempts = await world.attempts(died.run);
        const where = `k = ${k}, after ${died.steps.slice(-3).join(", ")}`;
        assert.deepEqual(taskless(outcome), undisturbed, where);
        const used = attempts.filter(({ outcome: how }) => how === "ok" || how === "unknown").length;
        assert.equal(outcome.cost, PRICE * BigInt(used), where);
        assert.equal(await world.charged(died.run), outcome.cost, where);
        assert.ok(attempts.filter(({ outcome: how }) => how === "unknown").length <= 2, where);
        assert.ok(attempts.every(({ outcome: how }) => how !== null));
      }
    },
    { timeout: 300_000 },
  );

forEachDatabase(
  "two engines that die again and again do each effect of many runs once",
  modules,
  async (t, database) => {
    const world = await workflowWorld(t, database);
    prepare(world);
    const document = workflow([
      call("read", "sys.read"),
      { kind: "fork", name: "both", branches: [call("keyed", "sys.keyed"), call("plain", "sys.write")] },
      call("last", "sys.write"),
    ]);
    const runs = await Promise.all(Array.from({ length: 24 }, () => world.start(document)));
    for (const k of [40, 90, 150]) {
      const deaths = [deathAt(k), deathAt(k + 25)];
      for (const death of deaths) await world.engine({ death, leaseSeconds: 5, workers: 3 });
      await Promise.race([Promise.all(deaths.map(({ died }) => died)), Promise.all(runs.map(({ id }) => finish(world, id)))]);
      for (const death of deaths) death.kill();
      await world.ahead(6);
    }
    await world.engine();
    await world.engine();
    let calls = 0n;
    for (const { id } of runs) {
      await finish(world, id);
      const { phase, effects, cost } = await world.outcome(id);
      assert.deepEqual([phase, effects.length], ["completed", 4]);
      const used = (await world.attempts(id)).filter(({ outcome }) => outcome === "ok" || outcome === "unknown").length;
      assert.equal(cost, PRICE * BigInt(used));
      assert.equal(await world.charged(id), cost);
      calls += BigInt(used);
    }
    assert.ok(calls >= 96n);
  },
  { timeout: 300_000 },
);
