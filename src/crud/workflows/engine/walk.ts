import { createYieldingOfLong } from "#http/yielding.ts";
import type {
  CallStep,
  ForkStep,
  ForStep,
  Step,
  StepKind,
  SwitchStep,
  TryStep,
  WaitStep,
} from "#crud/workflows/model/workflow-document.ts";
import { callStep } from "./call-step.ts";
import { humanStep } from "./human-step.ts";
import type { StepRow } from "./run-rows.ts";
import type { Scope } from "./step-calls.ts";
import { catches, errorOf, evaluating, StepFailure, type Trying } from "./step-errors.ts";
import { cancelBelow, doneRow, failedRow, flowOf, rowOf, type Flow, type Place, type WalkContext } from "./step-place.ts";

/** Rows of pure steps that may wait for the next transaction of a call. */
const MAX_PENDING = 200;
const MAX_ITEMS = 10_000;
const blocks: ReadonlySet<StepKind> = new Set(["do", "for", "fork", "try"]);

/** What a list of steps inherits. */
export interface Frame {
  readonly scope: Scope;
  readonly tries: readonly Trying[];
  readonly deadline: number;
}

/**
 * Walks lists of steps from the top: what is stored as done gives its stored value, so that a walk may begin anew at any time. Pure steps
 * are put with the session; calls commit by themselves. Work yields the event loop.
 */
export const createWalk = (parts: WalkContext) => {
  const { session, expressions } = parts;
  const turn = createYieldingOfLong();

  const list = async (steps: readonly Step[], path: string, frame: Frame): Promise<Flow> => {
    let value: unknown;
    let known = frame.scope["steps"] as Scope;
    for (let at = 0; at < steps.length;) {
      const step = steps[at] as Step;
      const others = turn();
      if (others !== undefined) await others;
      if (session.pending() >= MAX_PENDING) await session.write(() => ({}));
      const flow = await task(step, `${path}/${step.name}`, { ...frame, scope: { ...frame.scope, steps: known } });
      if (flow.kind !== "done") return flow;
      value = flow.value ?? value;
      known = { ...known, [step.name]: flow.value ?? null };
      const then = flow.next ?? step.then ?? "continue";
      if (flow.isEnd === true || then === "end") return { kind: "done", value, steps: known, isEnd: true };
      if (then === "exit") break;
      at = then === "continue" ? at + 1 : steps.findIndex(({ name }, index) => name === then && index > at);
      if (at < 0) throw new StepFailure(errorOf("configuration", `No later step is named ${then}.`));
    }
    return { kind: "done", value, steps: known };
  };

  const task = async (step: Step, path: string, frame: Frame): Promise<Flow> => {
    const row = session.steps.get(path);
    if (row !== undefined && ["done", "skipped", "failed", "undone"].includes(row.status)) return settled(step, row);
    const startedAt = row?.started_at ?? session.now().toISOString();
    const deadline = Math.min(frame.deadline, step.timeoutMs === undefined ? Infinity : Date.parse(startedAt) + step.timeoutMs);
    const scope = { ...frame.scope, context: session.run.context ?? {}, now: new Date(startedAt) };
    const place: Place = { path, kind: step.kind, scope, tries: frame.tries, deadline, startedAt };
    try {
      if (row === undefined) {
        const condition = step.if;
        if (condition !== undefined && !evaluating(() => expressions.isTrue(condition, scope))) {
          const skipped = rowOf(parts, place, { status: "skipped" });
          session.put(skipped);
          return flowOf(skipped);
        }
        // Its timeout counts from here.
        if (blocks.has(step.kind) && step.timeoutMs !== undefined) session.put(rowOf(parts, place, { status: "running" }));
      }
      const isAnswered = session.signals.has(row?.task_id ?? "");
      if (step.timeoutMs !== undefined && !isAnswered && session.now().getTime() >= deadline)
        throw new StepFailure(errorOf("timeout", `It took longer than ${step.timeoutMs} ms.`));
      if (row?.reason === "retry" && row.wake_at !== null && Date.parse(row.wake_at) > session.now().getTime()) return flowOf(row);
      const flow = await walkers[step.kind](step as never, place);
      return flow.kind === "parked" ? { ...flow, wakeAt: Math.min(flow.wakeAt, deadline) } : flow;
    } catch (error) {
      if (!(error instanceof StepFailure)) throw error;
      return failed(step, place, error);
    }
  };

  const settled = (step: Step, row: StepRow): Flow =>
    step.kind === "switch" && row.status === "done" ? { kind: "done", next: String(row.output) } : flowOf(row);

  /** An error of a block is not retried: what is inside of it was. */
  const failed = (step: Step, place: Place, failure: StepFailure): Flow => {
    const isBlock = blocks.has(step.kind);
    if (isBlock) cancelBelow(parts, `${place.path}/`);
    const asked = session.steps.get(place.path);
    const row = failedRow(parts, isBlock ? { ...place, tries: [] } : place, failure.error);
    // Its timeout passed before an answer came.
    const task = asked?.reason === "human" ? asked.task_id : null;
    if (task !== null) session.post((sql) => parts.tasks.closeTask(sql, task, "EXPIRED"));
    session.put(row);
    return flowOf(row);
  };

  const done = (step: Step, place: Place, raw: unknown): Flow => {
    const row = doneRow(parts, place, { raw, shaping: step });
    session.put(row);
    return settled(step, row);
  };

  /** What a block's own list came to. */
  const close = (step: Step, place: Place, flow: Flow): Flow =>
    flow.kind !== "done" ? flow : { ...done(step, place, flow.value), ...(flow.isEnd === true ? { isEnd: true } : {}) };

  const inner = ({ scope, tries, deadline }: Place, more: Partial<Frame> = {}): Frame => ({ scope, tries, deadline, ...more });

  const forStep = async (step: ForStep, place: Place): Promise<Flow> => {
    let row = session.steps.get(place.path);
    if (row === undefined || row.input === null) {
      const items = evaluating(() => expressions.evaluate(`\${ ${step.in} }`, place.scope));
      if (!Array.isArray(items) || items.length > MAX_ITEMS)
        throw new StepFailure(errorOf("expression", `A loop runs over a list of at most ${MAX_ITEMS} items.`));
      session.put((row = rowOf(parts, place, { status: "running", input: items })));
    }
    const items = row.input as readonly unknown[];
    const beginning = `${place.path}[`;
    // The last iteration that was entered: its condition held then, and those before it are over.
    const entered = Math.max(
      -1,
      ...session.steps.keys().flatMap((path) => (path.startsWith(beginning) ? [Number.parseInt(path.slice(beginning.length))] : [])),
    );
    let value: unknown;
    for (let at = Math.max(0, entered); at < items.length; at++) {
      // Each round has its own moment: a condition may wait for one.
      const scope = { ...place.scope, context: session.run.context ?? {}, now: session.now(), [step.each]: items[at], [step.at]: at };
      const condition = step.while;
      if (condition !== undefined && at !== entered && !evaluating(() => expressions.isTrue(condition, scope))) break;
      const flow = await list(step.steps, `${beginning}${at}]`, inner(place, { scope }));
      if (flow.kind !== "done") return flow;
      value = flow.value ?? value;
      if (flow.isEnd === true) return close(step, place, flow);
    }
    return done(step, place, value);
  };

  /** All branches end or wait; one that failed ends those that wait. */
  const forkStep = async (step: ForkStep, place: Place): Promise<Flow> => {
    const ends = await Promise.allSettled(step.branches.map((branch) => list([branch], place.path, inner(place))));
    const flows = ends.map((end) => {
      if (end.status === "rejected") throw end.reason;
      return end.value;
    });
    const failure = flows.find(({ kind }) => kind === "failed");
    const isEnd = flows.some((flow) => flow.kind === "done" && flow.isEnd === true);
    if (failure !== undefined || isEnd) cancelBelow(parts, `${place.path}/`);
    if (failure !== undefined) return failure;
    const parked = flows.flatMap((flow) => (flow.kind === "parked" ? [flow.wakeAt] : []));
    if (parked.length > 0 && !isEnd) return { kind: "parked", wakeAt: Math.min(...parked) };
    const value = flows.map((flow) => (flow.kind === "done" ? (flow.value ?? null) : null));
    return close(step, place, { kind: "done", value, isEnd });
  };

  const tryStep = async (step: TryStep, place: Place): Promise<Flow> => {
    const trying: Trying = { step, scope: place.scope };
    const flow = await list(step.steps, `${place.path}/try`, inner(place, { tries: [trying, ...place.tries] }));
    if (flow.kind !== "failed" || !catches(trying, flow.error, expressions)) return close(step, place, flow);
    cancelBelow(parts, `${place.path}/try/`);
    const scope = { ...place.scope, context: session.run.context ?? {}, [step.catch.as]: flow.error };
    return close(step, place, await list(step.catch.steps, `${place.path}/catch`, inner(place, { scope })));
  };

  const switchStep = (step: SwitchStep, place: Place): Flow => {
    const taken = step.cases.find(({ when }) => when === undefined || evaluating(() => expressions.isTrue(when, place.scope)));
    if (taken === undefined) throw new StepFailure(errorOf("configuration", "No case applies."));
    const { outputAs: _none, ...shaping } = step;
    const row = doneRow(parts, place, { raw: taken.then, shaping });
    session.put(row);
    return settled(step, row);
  };

  const waitStep = (step: WaitStep, place: Place): Flow => {
    const over = Date.parse(place.startedAt) + step.waitMs;
    if (session.now().getTime() >= over) return done(step, place, undefined);
    const row = rowOf(parts, place, { status: "waiting", reason: "timer", wake_at: new Date(over).toISOString() });
    if (session.steps.get(place.path)?.status !== "waiting") session.put(row);
    return flowOf(row);
  };

  const call = (step: CallStep, place: Place): Promise<Flow> =>
    callStep(parts, place, {
      tool: step.tool,
      purpose: "step",
      onUnknown: step.onUnknown,
      input: () => expressions.evaluate(step.with, place.scope),
      done: (raw) => doneRow(parts, place, { raw, shaping: step }),
      maxAttemptMs: place.tries.find((one) => one.step.catch.retry !== undefined)?.step.catch.retry?.maxAttemptMs,
    });

  const walkers: { readonly [K in StepKind]: (step: Extract<Step, { kind: K }>, place: Place) => Flow | Promise<Flow> } = {
    call,
    human: (step, place) => humanStep(parts, place, step),
    set: (step, place) =>
      done(
        step,
        place,
        evaluating(() => expressions.evaluate(step.set, place.scope)),
      ),
    do: async (step, place) => close(step, place, await list(step.steps, place.path, inner(place))),
    raise: (step, place) => {
      const { type, status, title, detail } = step.error;
      const texts = evaluating(() => expressions.evaluate({ title, detail }, place.scope)) as { title?: unknown; detail?: unknown };
      const said = Object.entries(texts).filter(([, text]) => text !== undefined && text !== null);
      throw new StepFailure({ type, status, ...Object.fromEntries(said.map(([name, text]) => [name, String(text)])) });
    },
    wait: waitStep,
    switch: switchStep,
    fork: forkStep,
    for: forStep,
    try: tryStep,
  };

  return { list };
};
