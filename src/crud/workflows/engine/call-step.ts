import { Problem } from "#contract/problem.ts";
import { callIdOf, idOf } from "./run-ids.ts";
import { END_ATTEMPT, OPEN_ATTEMPT } from "./ledger.ts";
import type { OpenAttempt, StepError, StepRow, WaitReason } from "./run-rows.ts";
import { LostLease } from "./run-session.ts";
import type { CallEnding, Charge, InvokedStep, ReservedStep, StepCall } from "./step-calls.ts";
import { catches, errorOf, evaluating, refusalOf, StepFailure, validationError } from "./step-errors.ts";
import { failedRow, flowOf, rowOf, type Flow, type Place, type WalkContext } from "./step-place.ts";

/** A step that calls a tool: of a document, or one that undoes another. */
export interface Effect {
  readonly tool: string;
  readonly purpose: StepCall["purpose"];
  readonly onUnknown: "retry" | "ask" | "fail";
  /** Evaluated at the first entry. */
  readonly input: () => unknown;
  /** Row and what else becomes of a result. Throws `StepFailure`. */
  readonly done: (value: unknown) => StepRow;
  readonly maxAttemptMs?: number | undefined;
}

/** The agent or its delegation may no longer act. */
export class Revoked extends Error {}

/** Attempts after which an outcome that stays unknown is no longer tried again by itself. */
const MAX_REPEATS = 5;
const BUDGET_WAIT_MS = 900_000;
const MAX_BACKOFF_MS = 60_000;

/**
 * Decides, reserves, opens (T1), invokes and closes (T2) a call. What is stored wins: a result is returned, a lost attempt is closed as
 * unknown first. Throws `Revoked` and what the session throws.
 */
export const callStep = async (parts: WalkContext, place: Place, effect: Effect): Promise<Flow> => {
  const { session, calls, tasks, newId } = parts;
  const { path } = place;
  const nowMs = (): number => session.now().getTime();
  const inMs = (delay: number): string => new Date(nowMs() + delay).toISOString();
  const wait = (reason: WaitReason, wakeAt: string | null, more: Partial<StepRow> = {}): StepRow =>
    rowOf(parts, place, { status: "waiting", reason, wake_at: wakeAt, ...more });

  const unknownRow = (isRepeatable: boolean, delayMs: number): StepRow => {
    const attempt = session.steps.get(path)?.attempt ?? 1;
    if ((isRepeatable || effect.onUnknown === "retry") && attempt < MAX_REPEATS) return wait("retry", inMs(delayMs));
    const error: StepError = {
      type: "urn:sallyport:error:unknown_outcome",
      status: 504,
      detail: "It was sent; whether it was done is unknown.",
    };
    // Nothing around it retries it either.
    if (effect.onUnknown === "fail") return failedRow(parts, { ...place, tries: [] }, error);
    const id = idOf("task", newId());
    const { owner } = session.document;
    const fields = { title: `Was ${effect.tool} done?`, assign: [owner] };
    const decisions = ["retry", "succeeded", "failed"];
    session.post((sql) =>
      tasks.openTask(sql, {
        id,
        run: session.run,
        path,
        kind: "unknown_outcome",
        decisions,
        fields,
        dueAt: undefined,
        expiresAt: undefined,
        owner,
      }),
    );
    return rowOf(parts, place, { status: "unknown", reason: "unknown_outcome", task_id: id, error: { ...error, instance: path } });
  };

  const end = async (number: number, { outcome, close, row }: { outcome: string; close: InvokedStep["close"]; row: () => StepRow }) => {
    const { charge } = close;
    await session.write(() => ({
      steps: [row()],
      entries: [close.entry],
      cost: charge,
      post: (sql) => {
        sql.post(END_ATTEMPT, [session.run.id, path, number, outcome, charge?.micro ?? 0n]);
        if (charge !== undefined) calls.postCharge(sql, charge);
      },
    }));
    if (charge !== undefined) void calls.deliverCharge(charge);
  };

  /** Of a holder that is gone: whether it was done cannot be determined, so all of it is charged. */
  const closeLost = async (lost: OpenAttempt): Promise<void> => {
    const { call_id: callId, reservation_id: reservationId, held_micro: micro, held_steps: steps } = lost;
    const { correlation_id: correlationId } = session.run;
    const charge: Charge | undefined =
      reservationId === null ? undefined : { callId, reservationId, micro, steps, outcome: "unknown", correlationId };
    const data = { reason: "process_ended" };
    const entry = { ...lost.entry, phase: "close" as const, outcome: "unknown" as const, code: "outcome_unknown", data };
    await end(lost.attempt, { outcome: "unknown", close: { entry, charge }, row: () => unknownRow(lost.is_repeatable, 0) });
    session.lost.delete(path);
  };

  const answered = (row: StepRow): boolean => {
    const signal = session.signals.get(row.task_id ?? "");
    if (signal === undefined) return false;
    const { decision, data } = signal.payload;
    session.consume(signal.topic, path);
    if (decision === "succeeded") session.put(effect.done(data ?? null));
    else if (decision === "retry") session.put(wait("retry", inMs(0), { task_id: null }));
    else session.put(failedRow(parts, place, errorOf("communication", "The owner answered that it was not done.")));
    return true;
  };

  const refused = (problem: Problem, input: unknown): Flow => {
    const stored = session.steps.get(path);
    const kind = refusalOf(problem);
    const detail = `${problem.code}: ${problem.message}`;
    const note = (reason: WaitReason, wakeAt: string | null, type: Parameters<typeof errorOf>[0] = "authorization"): Flow => {
      const row = wait(reason, wakeAt, { input, error: { ...errorOf(type, detail, problem.status), title: problem.code } });
      session.put(row);
      return flowOf(row);
    };
    switch (kind) {
      case "invalid":
        throw new StepFailure(validationError(problem));
      case "revoked":
      case "denied": {
        if (kind === "revoked" && session.run.agent !== null && effect.purpose === "step") throw new Revoked(detail, { cause: problem });
        const error = { ...errorOf("authorization", detail), title: problem.code };
        const until = stored?.reason === "denied" && stored.wake_at !== null ? stored.wake_at : inMs(parts.deniedGraceMs);
        if (place.tries.some((one) => catches(one, error, parts.expressions)) || nowMs() >= Date.parse(until)) throw new StepFailure(error);
        return note("denied", until);
      }
      case "budget": {
        const seconds = Number(problem.options.headers?.["retry-after"]);
        return note("budget", inMs(seconds > 0 ? seconds * 1000 : BUDGET_WAIT_MS));
      }
      case "unavailable":
        return note("unavailable", inMs(Math.min(Math.max(nowMs() - Date.parse(place.startedAt), 1000), MAX_BACKOFF_MS)), "communication");
      default:
        return note(kind, null, "authorization");
    }
  };

  const endedRow = (ending: CallEnding, isRepeatable: boolean): StepRow => {
    try {
      if (ending.effect === "ok") return effect.done(ending.value);
    } catch (error) {
      if (error instanceof StepFailure) return failedRow(parts, place, error.error);
      throw error;
    }
    const { effect: how, problem, status } = ending;
    const attempt = session.steps.get(path)?.attempt ?? 1;
    if (how === "unknown") return unknownRow(isRepeatable, Math.min(1000 * 2 ** (attempt - 1), MAX_BACKOFF_MS));
    const isLate = problem.code === "upstream_timeout" || nowMs() >= place.deadline;
    const error = isLate ? errorOf("timeout", problem.message) : communicationError(problem, status);
    if (how === "not_sent" && refusalOf(problem) === "reauth") return wait("reauth", null, { error });
    // A part of Sallyport failed, or it stops: nothing was sent.
    if (how === "not_sent" && (problem.fails === "internal" || session.signal.aborted)) return wait("unavailable", inMs(1000), { error });
    return failedRow(parts, place, error);
  };

  let { agent } = session.run;
  for (let lapsed = 0; ;) {
    const row = session.steps.get(path);
    const lost = session.lost.get(path);
    if (row?.status === "running" && lost !== undefined) {
      await closeLost(lost);
      continue;
    }
    if (row?.status === "unknown" && answered(row)) continue;
    if (row !== undefined && ["done", "failed", "unknown"].includes(row.status)) return flowOf(row);
    if (row?.reason === "retry" && row.wake_at !== null && Date.parse(row.wake_at) > nowMs()) return flowOf(row);
    const input = row?.input ?? evaluating(effect.input);
    const attempt = (row?.attempt ?? 0) + 1 + lapsed;
    const callId = callIdOf(session.run.id, path, attempt);
    const limits = [place.deadline - nowMs(), effect.maxAttemptMs ?? Infinity].map((ms) => Math.min(ms, 86_400_000));
    const signal = AbortSignal.any([session.signal, AbortSignal.timeout(Math.max(0, Math.ceil(Math.min(...limits))))]);
    let reserved: ReservedStep;
    let isRepeatable: boolean;
    try {
      const { run } = session;
      const decided = await calls.decide({
        run,
        path,
        callId,
        tool: effect.tool,
        arguments: input,
        purpose: effect.purpose,
        agent,
        signal,
      });
      reserved = await decided.reserve();
      ({ isRepeatable } = decided);
      if (reserved.isLapsed) {
        await reserved.release();
        lapsed++;
        continue;
      }
      const { reservation, entry } = reserved;
      await session
        .write(() => ({
          isStart: true,
          steps: [rowOf(parts, place, { status: "running", attempt, input, task_id: null })],
          entries: [entry],
          post: (sql) =>
            sql.post(OPEN_ATTEMPT, [
              run.id,
              path,
              attempt,
              run.tenant,
              callId,
              reservation?.id ?? null,
              reservation?.micro ?? 0n,
              reservation?.steps ?? 0,
              isRepeatable,
              decided.decisionId,
              JSON.stringify(entry),
              run.epoch,
            ]),
        }))
        .catch(async (error: unknown) => {
          // After a lost lease it may be open: the next holder uses what is reserved.
          if (!(error instanceof LostLease)) await reserved.release();
          throw error;
        });
    } catch (error) {
      if (!(error instanceof Problem)) throw error;
      if (effect.purpose === "compensation" && agent !== null && refusalOf(error) === "revoked") {
        agent = null;
        continue;
      }
      return refused(error, input);
    }
    const { ending, close } = await reserved.invoke(`${session.run.id}:${path}`);
    await end(attempt, { outcome: ending.effect, close, row: () => endedRow(ending, isRepeatable) });
  }
};

const communicationError = (problem: Problem, status: number | undefined): StepError => ({
  ...errorOf("communication", `${problem.code}: ${problem.message}`, status ?? problem.status),
  title: problem.code,
});
