import { randomUUID } from "node:crypto";
import type { TestContext } from "node:test";
import type { Problem } from "#contract/problem.ts";
import { createChange } from "#events/changes/create-change.ts";
import { createUuids } from "#events/model/uuid.ts";
import { ABSENT, celInputs, compileCel } from "#parsing/cel.ts";
import { statement, type Database, type TransactionSql } from "#store/database.ts";
import { silentLog, type Log } from "#telemetry/log.ts";
import { createMetrics } from "#telemetry/metrics.ts";
import { createSealer } from "#authn/sealing/seal.ts";
import { createValueSeals } from "#crud/model/sealed-values.ts";
import { wireNameOf } from "#crud/workflows/definition/workflow-tool.ts";
import { createEngine, type EngineContext } from "#crud/workflows/engine/engine.ts";
import type { RunRow, StepRow } from "#crud/workflows/engine/run-rows.ts";
import { signal } from "#crud/workflows/engine/signals.ts";
import { startRun, type RunCaller } from "#crud/workflows/engine/start-run.ts";
import type {
  CallEnding,
  Charge,
  Expressions,
  ReservedStep,
  StepCall,
  StepCalls,
  TaskDraft,
  TaskPort,
} from "#crud/workflows/engine/step-calls.ts";
import type { CallStep, HumanStep, Step, WorkflowDocument } from "#crud/workflows/model/workflow-document.ts";
import { cleanUp } from "./clean-up.ts";
import { testEvents } from "./events.ts";
import { until } from "./until.ts";

/** Expressions over CEL, as far as tests of the engine need them. */
const testExpressions: Expressions = {
  evaluate: (value, scope) => {
    if (typeof value === "string") {
      const [, text] = /^\$\{ (.*) \}$/s.exec(value) ?? [];
      return text === undefined ? value : evaluateText(text, scope);
    }
    if (Array.isArray(value)) return value.map((item) => testExpressions.evaluate(item, scope));
    if (typeof value !== "object" || value === null) return value;
    return Object.fromEntries(Object.entries(value).map(([name, item]) => [name, testExpressions.evaluate(item, scope)]));
  },
  isTrue: (condition, scope) => evaluateText(condition, scope) === true,
};
const evaluateText = (text: string, scope: Readonly<Record<string, unknown>>): unknown => {
  const value = compileCel(text, Object.fromEntries(Object.keys(scope).map((name) => [name, "dyn"])))(celInputs(scope));
  if (value === ABSENT) throw new Error(`no such key: ${text}`);
  return value;
};

export const workflow = (steps: readonly Step[], more: Partial<WorkflowDocument> = {}): WorkflowDocument => ({
  name: "test",
  tenant: undefined,
  version: "1.0.0",
  title: "Test",
  summary: "",
  tags: [],
  places: {},
  owner: "person:owner",
  mcp: { isEnabled: false, waitMs: 0, annotations: {} },
  input: { type: "object" },
  output: {},
  timeoutMs: 30 * 86_400_000,
  steps,
  ...more,
});
export const call = (name: string, tool: string, more: Partial<CallStep> = {}): CallStep => ({
  kind: "call",
  name,
  tool,
  with: {},
  onUnknown: "ask",
  ...more,
});
export const human = (name: string, more: Partial<HumanStep> = {}): HumanStep => ({
  kind: "human",
  name,
  taskKind: "approval",
  title: "Approve",
  assign: ["person:cleo"],
  required: 1,
  decisions: ["approve", "reject"],
  separationOfDuties: true,
  expiresMs: 14 * 86_400_000,
  onReject: "raise",
  onExpire: "raise",
  ...more,
});

/** How values are sealed and digested in tests. */
export const testSealing = {
  seals: createValueSeals(async () => createSealer([new Uint8Array(32)], "test")),
  digestKey: new Uint8Array(32),
};

/** Where a step or a case goes on. */
export const goTo = (target: string): { readonly then: string } => JSON.parse(`{"then":${JSON.stringify(target)}}`) as { then: string };

export const ben: RunCaller = {
  caller: { sub: "person:ben", tenant: "tenant:acme", scopes: new Set(["workflows.start"]), amr: [] },
  correlationId: "c-1",
};

/** How a tool of the double behaves; `n` counts its calls from 1. */
export interface TestTool {
  readonly isRepeatable?: boolean;
  readonly answer?: (call: StepCall, n: number) => CallEnding | Promise<CallEnding>;
  /** Of its n-th decision. */
  readonly refuse?: (call: StepCall, n: number) => Problem | undefined;
}

/** Dollars in micro that each call reserves. */
export const PRICE = 1000n;

const MONEY = `create table public.test_charge (call_id uuid primary key, micro bigint not null, steps int not null, outcome text not null,
  acknowledged boolean not null default false)`;
const CHARGE = statement("t.charge", "insert into public.test_charge values ($1::uuid, $2, $3::int, $4) on conflict do nothing");
const ACKNOWLEDGE = statement("t.acknowledge", "update public.test_charge set acknowledged = true where call_id = $1::uuid");

/** Counts what an engine asks of others; at the k-th its process dies: nothing is answered from then on. */
export interface Death {
  /** Whether the engine is dead now. */
  tick(what: string): boolean;
  /** Never resolves once the engine is dead. */
  step(what: string): Promise<void>;
  readonly steps: readonly string[];
  kill(): void;
  /** Resolves with the death. */
  readonly died: Promise<void>;
}
export const deathAt = (k: number): Death => {
  const steps: string[] = [];
  const died = Promise.withResolvers<void>();
  let isDead = false;
  const kill = (): void => {
    isDead = true;
    died.resolve();
  };
  const tick = (what: string): boolean => {
    if (!isDead) steps.push(what);
    if (steps.length > k) kill();
    return isDead;
  };
  return { steps, died: died.promise, kill, tick, step: (what) => (tick(what) ? new Promise(() => undefined) : Promise.resolve()) };
};
const never = deathAt(Infinity);

class Dead extends Error {}

/** A database that dies with the engine: what was sent may have happened; a transaction that was open is rolled back. */
const mortal = (database: Database, death: Death): Database => ({
  kind: database.kind,
  run: async (one, values) => {
    await death.step(`before ${one.name}`);
    const rows = await database.run(one, values);
    await death.step(`after ${one.name}`);
    return rows;
  },
  transaction: async (work, options) => {
    const live = (name: string): void => {
      if (death.tick(name)) throw new Dead();
    };
    await death.step("before the transaction");
    const result = await database
      .transaction(async (sql) => {
        const made = await work({
          post: (one, values) => sql.post(one, values),
          run: async (one, values) => {
            live(`before ${one.name}`);
            const rows = await sql.run(one, values);
            live(`after ${one.name}`);
            return rows;
          },
          script: (text) => sql.script(text),
        });
        live("before the commit");
        return made;
      }, options)
      .catch((error: unknown) => (error instanceof Dead ? new Promise<never>(() => undefined) : Promise.reject(error)));
    await death.step("after the commit");
    return result;
  },
  listen: (channel, received, regained) => database.listen(channel, received, regained),
  notify: (channel, payload) => database.notify(channel, payload),
  script: (text) => database.script(text),
  isListening: () => database.isListening(),
  ready: () => database.ready(),
  [Symbol.asyncDispose]: () => Promise.resolve(),
});

/** A database, doubles of the pipeline, the tasks and the upstreams, and engines over them. */
export const workflowWorld = async (t: TestContext, database: Database) => {
  const events = await testEvents(t, database);
  await database.script(MONEY);
  const documents = new Map<string, WorkflowDocument>();
  const tools = new Map<string, TestTool>();
  const counts = new Map<string, number>();
  const next = (key: string): number => {
    counts.set(key, (counts.get(key) ?? 0) + 1);
    return counts.get(key) ?? 0;
  };
  /** What upstreams did, by run: each key once where the tool honours it. */
  const effects: {
    readonly run: string;
    readonly tool: string;
    readonly key: string;
    readonly arguments: unknown;
    readonly value: unknown;
  }[] = [];
  const reservations = new Map<string, { readonly id: string; state: "held" | "released" | "settled" }>();
  const tasks = new Map<string, TaskDraft & { status: string }>();
  const notified: string[] = [];
  const newId = createUuids(() => new Date());

  const callsOf = (death: Death): StepCalls => ({
    decide: async (stepCall) => {
      await death.step("before decide");
      const { tool: name, run, callId, path } = stepCall;
      const tool = tools.get(name) ?? {};
      const problem = tool.refuse?.(stepCall, next(`decide ${run.id} ${name}`));
      if (problem !== undefined) throw problem;
      await death.step("after decide");
      return {
        isRepeatable: tool.isRepeatable ?? false,
        decisionId: "d_test",
        reserve: async (): Promise<ReservedStep> => {
          await death.step("before reserve");
          const known = reservations.get(callId) ?? { id: randomUUID(), state: "held" as const };
          reservations.set(callId, known);
          await death.step("after reserve");
          const correlationId = run.correlation_id;
          const draft = {
            tenant: run.tenant,
            category: "tool_call" as const,
            actor: { subject: run.subject, kind: "person" as const },
            via: { service: "crud" },
            resource: { type: "tool", id: name },
            correlationId,
            actId: callId,
          };
          return {
            reservation: { id: known.id, micro: PRICE, steps: 1 },
            isLapsed: known.state !== "held",
            entry: { ...draft, phase: "open", outcome: "pending", data: { tool: name } },
            release: async () => {
              await death.step("before release");
              if (known.state === "held") known.state = "released";
            },
            invoke: async (key) => {
              await death.step("before invoke");
              const n = next(`invoke ${run.id} ${name}`);
              const ending: CallEnding = (await tool.answer?.(stepCall, n)) ?? { effect: "ok", value: { tool: name, path } };
              const isRepeated = (tool.isRepeatable ?? false) && effects.some((one) => one.key === key);
              if ((ending.effect === "ok" || ending.effect === "unknown") && !isRepeated)
                effects.push({
                  run: run.id,
                  tool: name,
                  key,
                  arguments: stepCall.arguments,
                  value: "value" in ending ? ending.value : null,
                });
              await death.step("after invoke");
              const outcome = ending.effect === "ok" || ending.effect === "unknown" ? ending.effect : "failed";
              const micro = ending.effect === "ok" || ending.effect === "unknown" ? PRICE : 0n;
              const charge: Charge = { callId, reservationId: known.id, micro, steps: 1, outcome, correlationId };
              return {
                ending,
                close: { entry: { ...draft, phase: "close", outcome: outcome === "failed" ? "error" : outcome, data: {} }, charge },
              };
            },
          };
        },
      };
    },
    postCharge: (sql, { callId, micro, steps, outcome }) => sql.post(CHARGE, [callId, micro, steps, outcome]),
    deliverCharge: async ({ callId }) => {
      await death.step("before deliver");
      const known = reservations.get(callId);
      if (known !== undefined) known.state = "settled";
      await database.run(ACKNOWLEDGE, [callId]);
    },
  });

  const taskPort: TaskPort = {
    openTask: async (_sql, task) => void tasks.set(task.id, { ...task, status: "PENDING" }),
    closeTask: async (_sql, id, status) => {
      const task = tasks.get(id);
      if (task?.status === "PENDING") task.status = status;
    },
    notifyPerson: async (_sql, run, { event }) => void notified.push(`${run.id} ${event}`),
  };

  const world = {
    ...events,
    database,
    tools,
    effects,
    tasks,
    notified,
    reservations,
    metrics: createMetrics(),
    newId,
    findDocument: async ({ name }: { readonly name: string }): Promise<WorkflowDocument> => {
      const document = documents.get(name);
      if (document === undefined) throw new Error(`no ${name}`);
      return document;
    },
    publish: (document: WorkflowDocument): WorkflowDocument => {
      // Runs have the name of the tool.
      documents.set(wireNameOf(document.name), document);
      return document;
    },
    start: async (document: WorkflowDocument, more: { input?: unknown; by?: RunCaller; idempotencyKey?: string } = {}) => {
      world.publish(document);
      const { input = {}, by = ben, idempotencyKey } = more;
      return (await startRun({ change: events.change, newId, ...testSealing }, { document, configVersion: 1, input, by, idempotencyKey }))
        .run;
    },
    /** An engine; disposed of when the test ends, unless it is dead. */
    engine: async (more: Partial<EngineContext> & { readonly death?: Death; readonly log?: Log } = {}) => {
      const { death = never, log = silentLog, ...rest } = more;
      const own = death === never ? database : mortal(database, death);
      const change = createChange({ database: own, recorder: events.recorder, bus: events.bus });
      const engine = await createEngine({
        database: own,
        change,
        calls: callsOf(death),
        tasks: taskPort,
        expressionsOf: () => testExpressions,
        newId,
        deniedGraceMs: 86_400_000,
        findDocument: world.findDocument,
        workers: 4,
        leaseSeconds: 30,
        pollMs: 50,
        log,
        metrics: world.metrics,
        ...rest,
      });
      let isOver = death !== never;
      const end = async (): Promise<void> => {
        if (!isOver) await engine[Symbol.asyncDispose]();
        isOver = true;
      };
      cleanUp(t, end);
      return { [Symbol.asyncDispose]: end };
    },
    run: async (id: string): Promise<RunRow> => {
      const [row] = await database.run<RunRow>(statement("t.run", "select * from crud.wf_run where id = $1"), [id]);
      if (row === undefined) throw new Error("no such run");
      return row;
    },
    steps: async (id: string): Promise<Readonly<Record<string, StepRow>>> =>
      Object.fromEntries(
        (await database.run<StepRow>(statement("t.steps", "select * from crud.wf_step where run_id = $1"), [id])).map((row) => [
          row.path,
          row,
        ]),
      ),
    /** Waits until a run is in one of these phases without a lease. */
    until: async (id: string, ...phases: string[]): Promise<RunRow & { lease_by: string | null }> =>
      until(
        () => world.run(id) as Promise<RunRow & { lease_by: string | null }>,
        (row) => row.lease_by === null && (phases.length === 0 ? row.wake_at === null : phases.includes(row.phase)),
        10_000,
      ),
    /** The time of workflows, ms. */
    now: async (): Promise<number> => {
      const [row] = await database.run<{ ms: number }>(
        statement("t.now", "select (extract(epoch from crud.wf_now()) * 1000)::float8 as ms"),
      );
      return row?.ms ?? 0;
    },
    /** Moves the time of workflows ahead. */
    ahead: (seconds: number) =>
      database.run(statement("t.ahead", "insert into crud.wf_clock values (make_interval(secs => $1::float8))"), [seconds]),
    /** Moves it to the moment at which a run is due that nobody has, and that waits for this. */
    skipWait: (id: string, reason: string | null = null) =>
      database.run(
        statement(
          "t.skip",
          `insert into crud.wf_clock select wake_at - crud.wf_now() from crud.wf_run
           where id = $1 and lease_by is null and wake_at > crud.wf_now() and ($2::text is null or reason = $2)`,
        ),
        [id, reason],
      ),
    /** Answers an open task of a run, the only one unless its step is named. */
    answer: async (run: string, payload: Readonly<Record<string, unknown>>, step = "") => {
      const task = await until(
        () => [...tasks.values()].find((one) => one.run.id === run && one.status === "PENDING" && one.path.endsWith(step)),
        (found) => found !== undefined,
      );
      if (task === undefined) throw new Error("no such task");
      task.status = "COMPLETED";
      await world.signal(run, task.id, payload);
      return task;
    },
    /** Charges of a run's calls as they were posted, micro-USD. */
    charged: async (id: string): Promise<bigint> => {
      const [row] = await database.run<{ micro: bigint }>(
        statement(
          "t.charged",
          `select coalesce(sum(c.micro), 0)::int8 as micro from public.test_charge c join crud.wf_attempt a on a.call_id = c.call_id
           where a.run_id = $1`,
        ),
        [id],
      );
      return row?.micro ?? 0n;
    },
    /** How many entries of a run's calls were opened, and how many of these have exactly one end. */
    auditOf: async (id: string): Promise<{ readonly opened: number; readonly closed: number }> => {
      await events.integrator.integrate();
      const [row] = await database.run<{ opened: number; closed: number }>(
        statement(
          "t.audit_of",
          `select count(*)::int4 as opened, count(*) filter (where e.opens = 1 and e.closes = 1)::int4 as closed from (
             select count(*) filter (where a.phase = 'open') as opens, count(*) filter (where a.phase = 'close') as closes
             from events.audit_entry a join crud.wf_attempt w on w.call_id::text = a.act_id::text
             where w.run_id = $1 group by a.act_id) e`,
        ),
        [id],
      );
      return row ?? { opened: 0, closed: 0 };
    },
    attempts: (id: string) =>
      database.run<{ readonly path: string; readonly attempt: number; readonly outcome: string | null }>(
        statement("t.attempts", "select path, attempt, outcome from crud.wf_attempt where run_id = $1 order by path, attempt"),
        [id],
      ),
    signal: (run: string, topic: string, payload: Readonly<Record<string, unknown>>, signalId = "s-1") =>
      database.transaction((sql: TransactionSql) => signal(sql, { run, tenant: "tenant:acme", topic, signalId, payload })),
    /** Everything that a run left behind, without what differs from run to run. */
    outcome: async (id: string) => {
      const { phase, reason, output, error, context, cost_micro: cost } = await world.run(id);
      const steps = Object.values(await world.steps(id))
        .map(({ path, status, output: value }) => [path, status, value] as const)
        .toSorted(([one], [other]) => (one < other ? -1 : 1));
      const done = effects.filter((one) => one.run === id).map(({ tool, arguments: given }) => JSON.stringify([tool, given]));
      return { phase, reason, output, error, context, cost, steps, effects: done.toSorted() };
    },
  };
  return world;
};
