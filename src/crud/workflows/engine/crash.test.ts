import assert from "node:assert/strict";
import { readFileSync } from "node:fs";
import { Problem } from "#contract/problem.ts";
import { forEachDatabase } from "#testing/database.ts";
import { until } from "#testing/until.ts";
import { call, deathAt, human, PRICE, workflow, workflowWorld, type TestTool } from "#testing/workflow-world.ts";
import { expressionsOf } from "#crud/workflows/definition/expressions.ts";
import { readWorkflow } from "#crud/workflows/definition/read-workflow.ts";
import type { Step, WorkflowDocument } from "#crud/workflows/model/workflow-document.ts";

const modules = ["events", "crud"] as const;
type World = Awaited<ReturnType<typeof workflowWorld>>;

/** How many deaths of each document are played; `FAULTS=all` plays each. */
const isWhole = process.env["FAULTS"] === "all";
const SEED = Number(process.env["FAULTS_SEED"] ?? 20_261_128);

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
/** What a document is played with. */
interface Played {
  readonly title: string;
  readonly document: WorkflowDocument;
  readonly phase: "completed" | "faulted";
  readonly sample: number;
  readonly tools: Readonly<Record<string, TestTool>>;
  /** `now` is the time of workflows, ms. */
  readonly input: (now: number) => unknown;
  /** Of CEL as workflows have it, unless the document needs less. */
  readonly engine?: { readonly expressionsOf: typeof expressionsOf };
}

const failed = { effect: "failed", problem: new Problem("upstream_error"), status: 500 } as const;
const own = {
  sample: 12,
  input: () => ({ n: 1 }),
  tools: {
    "sys.read": { isRepeatable: true },
    "sys.keyed": { isRepeatable: true },
    "sys.unkeyed": { isRepeatable: true },
    "sys.flaky": { answer: ({ path }, n) => (n === 1 ? failed : { effect: "ok", value: { path } }) },
  },
} as const satisfies Partial<Played>;

const demoFolder = new URL("../../../../config/demo/workflows/", import.meta.url);
const demoDocument = (name: string): WorkflowDocument => {
  const read = readWorkflow(readFileSync(new URL(`${name}.yaml`, demoFolder), "utf8"), `${name}.yaml`);
  assert.ok("value" in read, name);
  return read.value;
};
const ok = (value: unknown) => ({ effect: "ok", value }) as const;
/** Tools of the demo, of which those that delete may be repeated, as their servers declare. */
const demo = {
  sample: 3,
  engine: { expressionsOf },
  tools: {
    "people.demo.get_employee": {
      isRepeatable: true,
      answer: () => ok({ id: "e1", name: "Ada", status: "active", systems: ["mail", "wiki", "payroll"] }),
    },
    "memory.demo.open_nodes": { isRepeatable: true, answer: () => ok({ entities: [], relations: [] }) },
    "memory.demo.delete_entities": { isRepeatable: true },
    "memory.demo.delete_relations": { isRepeatable: true },
  },
} as const satisfies Partial<Played>;
const DAY = 86_400_000;

const all: readonly Played[] = [
  { ...own, title: "completes", document: workflow(steps, { name: "completes" }), phase: "completed" },
  {
    ...own,
    title: "undoes",
    document: workflow([...steps, { kind: "raise", name: "oops", error: { type: "urn:x", status: 400 } }], { name: "undoes" }),
    phase: "faulted",
  },
  { ...demo, title: "offboards", document: demoDocument("offboard"), phase: "completed", input: () => ({ employee_id: "e1" }) },
  {
    ...demo,
    title: "offboards and undoes",
    document: demoDocument("offboard"),
    phase: "faulted",
    input: () => ({ employee_id: "e1" }),
    tools: {
      ...demo.tools,
      "memory.demo.create_relations": {
        answer: ({ path, arguments: given }) => (JSON.stringify(given).includes("payroll") ? failed : ok({ path })),
      },
    },
  },
  {
    ...demo,
    title: "grants access for a time",
    document: demoDocument("grant-access"),
    phase: "completed",
    input: (now) => ({ person: "Dan", resource: "Wiki", until: new Date(now + 2.5 * DAY).toISOString() }),
  },
];

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
        const data = done?.value ?? null;
        await world.signal(run, id, { decision, data, completed_at: "t", decided_by: [] });
      }
      return phase;
    },
    (phase) => ["completed", "faulted", "cancelled"].includes(phase),
    60_000,
  );
};

/** Numbers below `count` that the seed gives; all of them where so many are wanted. */
const sampleOf = (count: number, size: number): readonly number[] => {
  if (isWhole || count <= size) return Array.from({ length: count }, (_none, k) => k);
  let state = SEED;
  const chosen = new Set<number>();
  while (chosen.size < size) chosen.add((state = (state * 1_103_515_245 + 12_345) % 2_147_483_648) % count);
  return [...chosen];
};

const withoutIds = (outcome: Awaited<ReturnType<World["outcome"]>>): unknown => {
  const { cost: _cost, ...rest } = outcome;
  return JSON.parse(JSON.stringify(rest).replaceAll(/(task|run)_[0-9A-Z]{26}/g, "$1"));
};

for (const { title, document, phase, sample, tools, input, engine = {} } of all)
  forEachDatabase(
    `an engine that dies at any statement or call leaves what another finishes: a workflow that ${title}`,
    modules,
    async (t, database) => {
      const world = await workflowWorld(t, database);
      for (const [name, tool] of Object.entries(tools)) world.tools.set(name, tool);
      const start = async () => world.start(document, { input: input(await world.now()) });
      /** Lets an engine die at its k-th step, and another finish. */
      const play = async (k: number) => {
        const death = deathAt(k);
        const run = await start();
        await world.engine({ ...engine, death, leaseSeconds: 5 });
        await Promise.race([finish(world, run.id), death.died]);
        if (death.steps.length > k) {
          await world.ahead(6);
          await using _survivor = await world.engine(engine);
          await finish(world, run.id);
        } else death.kill();
        return { run: run.id, steps: death.steps };
      };
      const whole = await play(1_000_000);
      const count = whole.steps.length;
      const undisturbed = withoutIds(await world.outcome(whole.run));
      assert.ok(count > 60, String(count));
      assert.equal((undisturbed as { phase: string }).phase, phase, JSON.stringify(undisturbed));
      for (const k of sampleOf(count, sample)) {
        const died = await play(k);
        const outcome = await world.outcome(died.run);
        const attempts = await world.attempts(died.run);
        const where = `k = ${k}, after ${died.steps.slice(-3).join(", ")}`;
        assert.deepEqual(withoutIds(outcome), undisturbed, where);
        const used = attempts.filter(({ outcome: how }) => how === "ok" || how === "unknown").length;
        assert.equal(outcome.cost, PRICE * BigInt(used), where);
        assert.equal(await world.charged(died.run), outcome.cost, where);
        assert.ok(attempts.filter(({ outcome: how }) => how === "unknown").length <= 2, where);
        assert.ok(attempts.every(({ outcome: how }) => how !== null));
        const { opened, closed } = await world.auditOf(died.run);
        assert.deepEqual([opened, closed], [attempts.length, attempts.length], where);
      }
    },
    { timeout: isWhole ? 7_200_000 : 300_000 },
  );

forEachDatabase(
  "two engines that die again and again do each effect of many runs once",
  modules,
  async (t, database) => {
    const world = await workflowWorld(t, database);
    for (const [name, tool] of Object.entries(own.tools)) world.tools.set(name, tool);
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
      const { opened, closed } = await world.auditOf(id);
      assert.deepEqual([opened, closed], [used, used], id);
    }
    assert.ok(calls >= 96n);
  },
  { timeout: 300_000 },
);
