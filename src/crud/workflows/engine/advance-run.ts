import type { TransactionSql } from "#store/database.ts";
import { Revoked } from "./call-step.ts";
import type { RunRow, StepRow, WaitReason } from "./run-rows.ts";
import { Changed, Stopped, type Session, type Write } from "./run-session.ts";
import { errorOf, evaluating, StepFailure } from "./step-errors.ts";
import { cancelBelow, requireSize, type Flow, type WalkContext, type WalkSession } from "./step-place.ts";
import { stepsToUndo, undoStep } from "./undo.ts";
import { createWalk } from "./walk.ts";

/** Of several things that a run waits for the first is its reason. */
const reasons: readonly WaitReason[] = [
  "unknown_outcome",
  "human",
  "step_up",
  "reauth",
  "denied",
  "budget",
  "unavailable",
  "retry",
  "timer",
];

const reasonOf = (steps: Iterable<StepRow>): WaitReason | null => {
  const waiting = new Set([...steps].flatMap(({ status, reason }) => (status === "waiting" || status === "unknown" ? [reason] : [])));
  return reasons.find((reason) => waiting.has(reason)) ?? null;
};

const dateOf = (milliseconds: number): Date | null => (Number.isFinite(milliseconds) ? new Date(milliseconds) : null);

/** Variables of the first list of a run. */
export const scopeOfRun = ({ run, now }: Pick<WalkSession, "run" | "now">) => ({
  input: run.input,
  context: run.context ?? {},
  steps: {},
  run: { id: run.id, workflow: run.name, version: run.version, started_at: run.created_at },
  caller: { sub: run.subject, agent: run.agent, tenant: run.tenant },
  now: now(),
});

/**
 * Takes a run as far as it goes: to its end, or to where it waits. Its lease ends with the last transaction. Throws `LostLease`; `Stopped`
 * where the engine stops; and faults of the database.
 */
export const advanceRun = async (parts: WalkContext & { readonly session: Session }): Promise<void> => {
  const { session, expressions, tasks } = parts;
  const { document } = session;
  const leave = (run: Write["run"], more: Partial<Write> & { readonly wakeAt?: number } = {}): Promise<void> =>
    session.write(() => ({ ...more, run, leave: { wakeAt: dateOf(more.wakeAt ?? Infinity) } }));

  const forward = async (): Promise<void> => {
    const deadline = Date.parse(session.run.deadline);
    const scope = scopeOfRun(session);
    const isLate = session.now().getTime() >= deadline;
    const flow: Flow = isLate
      ? { kind: "failed", error: { ...errorOf("timeout", "The run took too long."), instance: "/do" } }
      : await createWalk(parts).list(document.steps, "/do", { scope, tries: [], deadline });
    if (flow.kind === "parked") {
      const { run } = session;
      const reason = reasonOf(session.steps.values());
      // Of one that waits for the same still its initiator knows.
      const isNews = (reason === "step_up" || reason === "reauth") && run.reason !== reason;
      const post = isNews ? { post: (sql: TransactionSql) => tasks.notifyPerson(sql, run, { event: reason, to: run.subject }) } : {};
      return leave({ phase: "waiting", reason }, { ...post, wakeAt: Math.min(flow.wakeAt, deadline) });
    }
    if (flow.kind === "failed") return fail(flow.error);
    cancelBelow(parts, "/");
    try {
      const { as } = document.output;
      const ended = { ...scope, steps: flow.steps ?? {}, context: session.run.context ?? {}, output: flow.value };
      const output = as === undefined ? flow.value : evaluating(() => expressions.evaluate(as, ended));
      requireSize(output);
      await leave({ phase: "completed", reason: null, output });
    } catch (error) {
      if (!(error instanceof StepFailure)) throw error;
      await fail({ ...error.error, instance: "/output" });
    }
  };

  const fail = async (error: NonNullable<RunRow["error"]>): Promise<void> => {
    cancelBelow(parts, "/");
    if (stepsToUndo(parts).length === 0) return leave({ phase: "faulted", reason: "error", error });
    await session.write(() => ({ run: { phase: "undoing", reason: "fault", undo_for: "fault", error } }));
    return undo();
  };

  const undo = async (): Promise<void> => {
    let isIncomplete = false;
    const steps = stepsToUndo(parts);
    for (const step of steps) {
      const flow = step.status === "undone" ? undefined : await undoStep(parts, step);
      if (flow?.kind === "parked") return leave({ phase: "undoing", reason: session.run.reason }, { wakeAt: flow.wakeAt });
      if (flow?.kind === "failed") isIncomplete = true;
    }
    const isCancelled = session.run.undo_for === "cancel";
    if (isIncomplete)
      return leave(
        { phase: "faulted", reason: "compensation_incomplete" },
        { post: (sql) => tasks.notifyPerson(sql, session.run, { event: "compensation_incomplete", to: document.owner }) },
      );
    return leave({ phase: isCancelled ? "cancelled" : "faulted", reason: steps.length === 0 ? "operator" : "compensated", undo_for: null });
  };

  /** What a verb asked for while somebody had the lease. */
  const obey = async (desired: NonNullable<RunRow["desired"]>): Promise<void> => {
    const isDesired = true;
    if (desired === "suspend" || desired === "revoke")
      return leave({ phase: "suspended", reason: desired === "revoke" ? "revoked" : "operator" }, { isDesired });
    if (session.run.phase !== "undoing") cancelBelow(parts, "/");
    if (desired === "cancel") return leave({ phase: "cancelled", reason: "operator", undo_for: null }, { isDesired });
    await session.write(() => ({ run: { phase: "undoing", reason: "cancel", undo_for: "cancel" }, isDesired }));
    return undo();
  };

  for (;;) {
    const { desired, phase } = session.run;
    session.begin();
    try {
      return await (desired !== null ? obey(desired) : phase === "undoing" ? undo() : forward());
    } catch (error) {
      if (error instanceof Revoked) return obey("revoke");
      if (!(error instanceof Changed) && !(error instanceof Stopped && session.run.desired !== null)) throw error;
    }
  }
};
