import { usdFromMicro } from "#contract/ids.ts";
import { Problem, type Issue } from "#contract/problem.ts";
import type { Simulation, SimulationAssumptions } from "#contract/workflows.ts";
import type { EntryDraft } from "#events/audit/entry.ts";
import type { Tool } from "#crud/tools/tool.ts";
import { expressionsOf } from "#crud/workflows/definition/expressions.ts";
import { eachStep } from "#crud/workflows/definition/each-step.ts";
import { Revoked } from "#crud/workflows/engine/call-step.ts";
import type { RunRow, SignalRow, StepError, StepRow } from "#crud/workflows/engine/run-rows.ts";
import type { Write } from "#crud/workflows/engine/run-session.ts";
import type { CallEnding, StepCalls, TaskPort } from "#crud/workflows/engine/step-calls.ts";
import { errorOf, evaluating, StepFailure } from "#crud/workflows/engine/step-errors.ts";
import type { Flow, WalkSession } from "#crud/workflows/engine/step-place.ts";
import { scopeOfRun } from "#crud/workflows/engine/advance-run.ts";
import { createWalk } from "#crud/workflows/engine/walk.ts";
import type { WorkflowDocument } from "#crud/workflows/model/workflow-document.ts";
import { inOrder, placeOf, placesOf, stepsNotTaken, waitOf } from "./simulated-path.ts";
import { exampleOf, expressionsWithUnknown, hasUnknown, showUnknown, UNKNOWN, Undetermined, undetermined } from "./unknown-values.ts";

/** Steps, walks and decisions of one simulation. */
const MAX_STEPS = 1000;
const MAX_WALKS = 1000;
const MAX_DECISIONS = 200;

export interface SimulationContext {
  /** Of the real pipeline; only its decisions are taken. */
  readonly calls: Pick<StepCalls, "decide">;
  readonly findTool: (name: string) => Tool | undefined;
  readonly newId: () => string;
  readonly signal: AbortSignal;
  /** Of the simulation; steps have none. */
  readonly entry: EntryDraft;
}

export interface SimulatedRun {
  readonly document: WorkflowDocument;
  /** Never stored. */
  readonly run: RunRow;
  readonly assume: SimulationAssumptions;
}

interface Call {
  readonly tool: string;
  readonly arguments: unknown;
  readonly decision: string;
  readonly decisionId?: string | undefined;
  readonly costMicro: bigint;
  readonly isAssumed: boolean;
}

/** No tasks, no notifications. */
const noTasks: TaskPort = { openTask: async () => {}, closeTask: async () => {}, notifyPerson: async () => {} };

/** Throws `unprocessable` for an assumption that is of no step, or does not fit its kind. */
const requireAssumable = (document: WorkflowDocument, assume: SimulationAssumptions): void => {
  const steps = new Map(placesOf(document.steps, "/do"));
  const issues = Object.entries(assume).flatMap(([path, { decision, error }]): Issue[] => {
    const step = steps.get(placeOf(path));
    const issue = (message: string, member = ""): Issue[] => [
      { path: `/assume/${path.replaceAll("~", "~0").replaceAll("/", "~1")}${member}`, message },
    ];
    if (step?.kind !== "call" && step?.kind !== "human") return issue("is the path of no call and no task of a person");
    if (step.kind === "call") return decision === undefined ? [] : issue("is of a task of a person", "/decision");
    if (error !== undefined) return issue("is of a call", "/error");
    return decision !== undefined && step.decisions.includes(decision)
      ? []
      : issue(`must be one of ${step.decisions.join(", ")}`, "/decision");
  });
  if (issues.length > 0) throw new Problem("unprocessable", { errors: issues.slice(0, 50) });
};

/** The rows of one simulation, in memory, under a clock that waits move ahead. Rows refuse what is undetermined, and more than 1,000. */
const createSession = ({ document, run: begun }: SimulatedRun, signal: AbortSignal) => {
  let run = begun;
  let now = Date.parse(begun.created_at);
  let stopped: StepError | undefined;
  const steps = new Map<string, StepRow>();
  const signals = new Map<string, SignalRow>();
  const put = (row: StepRow): void => {
    if (stopped !== undefined) throw new Undetermined({ ...stopped, instance: row.path });
    steps.set(row.path, row);
    if (steps.size > MAX_STEPS)
      throw new Undetermined({ ...undetermined(`A simulation has at most ${MAX_STEPS} steps.`), instance: row.path });
  };
  const session: WalkSession = {
    document,
    get run() {
      return run;
    },
    steps,
    lost: new Map(),
    signals,
    now: () => new Date(now),
    signal,
    put,
    post: () => {},
    pending: () => 0,
    setContext: (context) => void (run = { ...run, context }),
    nextDone: () => (run = { ...run, done_seq: run.done_seq + 1 }).done_seq,
    consume: (topic) => void signals.delete(topic),
    write: async (build: () => Write) => build().steps?.forEach(put),
  };
  return {
    session,
    signals,
    stop: (error: StepError): void => void (stopped ??= error),
    moveTo: (time: number): void => void (now = Math.max(now, time)),
  };
};

/**
 * Walks a document as the engine does: real decisions, nothing reserved, written or sent. What a call would give is what is assumed, else the
 * example of the tool's output schema, else unknown. Waits for time pass at once; people decide as is assumed. Throws `unprocessable`.
 */
export const simulateRun = async (simulated: SimulatedRun, parts: SimulationContext): Promise<Simulation> => {
  const { document, assume } = simulated;
  requireAssumable(document, assume);
  const made = new Map<string, Call>();
  const decided = new Map<string, string>();
  const { session, signals, stop, moveTo } = createSession(simulated, parts.signal);
  const steps = [...eachStep(document.steps)].map(({ step }) => step);
  const deciding = steps.flatMap((step) => [
    ...(step.kind === "for" ? [`\${ ${step.in} }`] : []),
    ...(typeof step.exportAs === "string" ? [step.exportAs] : []),
  ]);
  const expressions = expressionsWithUnknown(expressionsOf(document), new Set(deciding), stop);
  let decisions = 0;

  const outputOf = (path: string, tool: Tool | undefined) => {
    const given = assume[path];
    const isGiven = given !== undefined && "output" in given;
    const value = isGiven ? given.output : exampleOf(tool?.definition.outputSchema);
    return { value, isAssumed: isGiven || value !== UNKNOWN };
  };

  const calls: StepCalls = {
    decide: async (call) => {
      const { path } = call;
      const tool = parts.findTool(call.tool);
      const { value, isAssumed } = outputOf(path, tool);
      const error = assume[path]?.error;
      const note = (decision: string, more: Partial<Call> = {}) =>
        made.set(path, { tool: call.tool, arguments: call.arguments, decision, costMicro: 0n, isAssumed: false, ...more });
      const costMicro = tool?.rules.reserveMicro ?? 0n;
      const end = { costMicro, isAssumed: error !== undefined || isAssumed };
      let decisionId = "";
      // Of arguments that nobody knows nothing can be decided.
      if (hasUnknown(call.arguments)) note("unknown", end);
      else {
        if (++decisions > MAX_DECISIONS) {
          const detail = `A simulation asks for at most ${MAX_DECISIONS} decisions.`;
          throw new Undetermined({ ...undetermined(detail), instance: path });
        }
        try {
          ({ decisionId } = await parts.calls.decide({ ...call, isSimulation: true }));
        } catch (cause) {
          if (cause instanceof Problem) {
            const id = cause.options.members?.["decision_id"];
            note(cause.code, { decisionId: typeof id === "string" ? id : undefined });
          }
          throw cause;
        }
        note("permit", { ...end, decisionId });
      }
      const problem = new Problem("upstream_error", { detail: error?.detail });
      const ending: CallEnding = error === undefined ? { effect: "ok", value } : { effect: "failed", problem, status: error.status };
      // Nobody writes it.
      const { entry } = parts;
      return {
        isRepeatable: true,
        decisionId,
        reserve: async () => ({
          reservation: undefined,
          isLapsed: false,
          entry,
          release: async () => {},
          invoke: async () => ({ ending, close: { entry, charge: undefined } }),
        }),
      };
    },
    postCharge: () => {},
    deliverCharge: async () => {},
  };

  /** Answers the tasks for which a decision is assumed. */
  const answer = (waiting: readonly StepRow[]): boolean => {
    let isAnswered = false;
    for (const { path, task_id: topic } of waiting) {
      const given = assume[path];
      if (topic === null || given?.decision === undefined) continue;
      const { decision, output: data = UNKNOWN } = given;
      decided.set(path, decision);
      signals.set(topic, {
        topic,
        signal_id: "",
        payload: { decision, data, completed_at: session.now().toISOString(), decided_by: UNKNOWN },
      });
      isAnswered = true;
    }
    return isAnswered;
  };

  const deadline = Date.parse(simulated.run.deadline);
  const walk = createWalk({
    session,
    calls,
    tasks: noTasks,
    expressions,
    newId: parts.newId,
    deniedGraceMs: deadline - session.now().getTime(),
  });
  const forward = async (): Promise<Flow> => {
    const scope = scopeOfRun(session);
    for (let walks = 0; walks < MAX_WALKS; walks++) {
      if (session.now().getTime() >= deadline)
        return { kind: "failed", error: { ...errorOf("timeout", "The run took too long."), instance: "/do" } };
      const flow = await walk.list(document.steps, "/do", { scope, tries: [], deadline });
      if (flow.kind !== "parked") return flow;
      const waiting = [...session.steps.values()].filter(({ status }) => status === "waiting");
      if (answer(waiting.filter(({ reason }) => reason === "human"))) continue;
      const times = waiting.filter(({ reason }) => reason === "timer" || reason === "retry");
      if (times.length === 0) return flow;
      const due = times.map(({ wake_at: at }) => (at === null ? Infinity : Date.parse(at)));
      // The time of a step or the run may be over before; of a task of a person it is not waited for.
      moveTo(Math.min(...due, times.length === waiting.length ? flow.wakeAt : Infinity));
    }
    throw new Undetermined(undetermined(`A simulation waits at most ${MAX_WALKS} times.`));
  };

  const errors: StepError[] = [];
  const outcomeOf = async (): Promise<Simulation["outcome"]> => {
    try {
      const flow = await forward();
      if (flow.kind === "parked") return "waiting";
      if (flow.kind === "done") {
        const { as } = document.output;
        evaluating(() => expressions.evaluate(as, { ...scopeOfRun(session), output: flow.value }));
        return "completed";
      }
      errors.push(flow.error);
    } catch (error) {
      if (error instanceof Undetermined) {
        errors.push(error.error);
        return "undetermined";
      }
      if (error instanceof StepFailure) errors.push({ ...error.error, instance: "/output" });
      else if (error instanceof Revoked) errors.push(errorOf("authorization", error.message));
      else throw error;
    }
    return "faulted";
  };
  const outcome = await outcomeOf();
  const rows = inOrder(session.steps);
  if (outcome === "waiting")
    errors.push(
      ...rows.flatMap(({ path, status, error }) => (status === "waiting" && error !== null ? [{ ...error, instance: path }] : [])),
    );

  const costs = [...made.values()].filter(({ decision }) => decision === "permit" || decision === "unknown");
  return {
    path: rows
      .filter(({ status }) => status !== "skipped")
      .map((row) => {
        const { path, kind } = row;
        const call = made.get(path);
        const decision = call?.decision ?? decided.get(path);
        return {
          path,
          kind,
          ...(call === undefined ? {} : { tool: call.tool, arguments: showUnknown(call.arguments) }),
          assumed: call?.isAssumed ?? decided.has(path),
          ...(decision === undefined ? {} : { decision }),
          ...(call?.decisionId === undefined || call.decisionId === "" ? {} : { decision_id: call.decisionId }),
          cost_usd: usdFromMicro(call?.costMicro ?? 0n),
          ...waitOf(row),
        };
      }),
    not_taken: [...stepsNotTaken(document.steps, session.steps, errors[0]?.instance)],
    outcome,
    cost: { usd: usdFromMicro(costs.reduce((sum, { costMicro }) => sum + costMicro, 0n)), steps: costs.length },
    errors,
  };
};
