import { randomUUID } from "node:crypto";
import { setTimeout as sleep } from "node:timers/promises";
import { followChannel } from "#events/model/follow-channel.ts";
import { Problem } from "#contract/problem.ts";
import { startInterval } from "#http/interval.ts";
import type { Log } from "#telemetry/log.ts";
import type { Metrics } from "#telemetry/metrics.ts";
import { advanceRun } from "./advance-run.ts";
import { CLAIM, HEARTBEAT, RELEASE, type ClaimedRun } from "./ledger.ts";
import { LostLease, openSession, Stopped, type Session, type SessionContext } from "./run-session.ts";
import type { WorkflowDocument } from "#crud/workflows/model/workflow-document.ts";
import type { Expressions, FindDocument } from "./step-calls.ts";
import type { WalkContext } from "./step-place.ts";

export interface EngineContext extends Pick<SessionContext, "database" | "change">, Omit<WalkContext, "session" | "expressions"> {
  /** Of the document's own: errors say where in its file they are. */
  readonly expressionsOf: (document: WorkflowDocument) => Expressions;
  readonly findDocument: FindDocument;
  /** Runs at once. */
  readonly workers: number;
  readonly leaseSeconds: number;
  readonly pollMs: number;
  readonly log: Log;
  readonly metrics: Metrics;
}

/** A run under a lease of this engine. */
interface Held {
  readonly run: ClaimedRun;
  session?: Session;
  over: Promise<void>;
}

const GRACE_MS = 10_000;
/** After a fault of the program itself: its run must not be claimed in a ring. */
const FAULT_WAIT_SECONDS = 60;

/**
 * Claims runs that are due and takes them as far as they go. Several engines share one database: a lease that is not renewed is taken by
 * another, and the fence refuses what its holder still writes. Disposing waits 10 s for open calls.
 */
export const createEngine = async (parts: EngineContext): Promise<AsyncDisposable> => {
  const { database, log, metrics, leaseSeconds, workers } = parts;
  const holder = randomUUID();
  const sessionParts: SessionContext = { database, change: parts.change, holder, leaseMs: leaseSeconds * 1000, metrics };
  const active = new Map<string, Held>();
  let isStopping = false;
  let claiming: Promise<void> | undefined;
  let isWanted = false;

  const release = (run: ClaimedRun, seconds: number): Promise<unknown> => database.run(RELEASE, [run.id, run.epoch, holder, seconds]);

  const hold = async (held: Held): Promise<void> => {
    const { run } = held;
    try {
      const session = (held.session = await openSession(run, await parts.findDocument(run), sessionParts));
      if (isStopping) session.stop();
      if (session.lost.size > 0) metrics.count("workflow_recovered_runs_total", {});
      await advanceRun({ ...parts, session, expressions: parts.expressionsOf(session.document) });
    } catch (error) {
      if (error instanceof LostLease) {
        metrics.count("workflow_lost_leases_total", {});
        return;
      }
      const isStopped = error instanceof Stopped;
      if (!isStopped) log.error("workflow_run_failed", { run_id: run.id, tenant: run.tenant, cause: error });
      const seconds = isStopped ? 0 : error instanceof Problem ? 1 : FAULT_WAIT_SECONDS;
      await release(run, seconds).catch(() => undefined);
    }
  };

  const claim = async (): Promise<void> => {
    do {
      isWanted = false;
      const free = workers - active.size;
      if (free <= 0 || isStopping) return;
      const runs = await database.run(CLAIM, [holder, free, Math.max(1, Math.ceil(free / 2)), leaseSeconds]);
      metrics.count("workflow_claims_total", { result: runs.length > 0 ? "some" : "none" });
      for (const run of runs) {
        if (run.wake_at !== null)
          metrics.observe("workflow_wake_lag_seconds", {}, Math.max(0, Date.parse(run.now) - Date.parse(run.wake_at)) / 1000);
        // Its lease was lost without a heartbeat that noticed.
        active.get(run.id)?.session?.lose();
        const held: Held = { run, over: Promise.resolve() };
        active.set(run.id, held);
        held.over = hold(held).finally(() => {
          if (active.get(run.id) === held) active.delete(run.id);
          look().catch(failed);
        });
      }
    } while (isWanted as boolean);
  };
  /** One look at a time; what is asked for meanwhile is looked for afterwards. */
  const look = (): Promise<void> => {
    isWanted = true;
    return (claiming ??= claim().finally(() => (claiming = undefined)));
  };
  const failed = (cause: unknown): void => log.warn("workflow_claim_failed", { cause });

  const heartbeat = async (): Promise<void> => {
    const mine = [...active];
    if (mine.length === 0) return;
    const sessions = new Map(mine.flatMap(([id, { session }]) => (session === undefined ? [] : [[id, session]])));
    const renewed = await database.run(HEARTBEAT, [holder, mine.map(([id]) => id), mine.map(([, { run }]) => run.epoch), leaseSeconds]);
    for (const { id, desired } of renewed) {
      sessions.get(id)?.renewed();
      if (desired === "revoke") sessions.get(id)?.abort();
      sessions.delete(id);
    }
    for (const session of sessions.values()) session.lose();
  };

  const beat = startInterval({
    everyMs: (leaseSeconds * 1000) / 3,
    work: heartbeat,
    failed: (cause) => log.warn("workflow_heartbeat_failed", { cause }),
  });
  const following = await followChannel({ database, channel: "wf_wake", pollMs: parts.pollMs, look, failed });
  look().catch(failed);

  return {
    [Symbol.asyncDispose]: async () => {
      isStopping = true;
      for (const { session } of active.values()) session?.stop();
      await following[Symbol.asyncDispose]();
      await claiming?.catch(() => undefined);
      const all = [...active.values()];
      const over = Promise.all(all.map((one) => one.over));
      const grace = new AbortController();
      await Promise.race([over, sleep(GRACE_MS, undefined, { signal: grace.signal, ref: false }).catch(() => undefined)]);
      grace.abort();
      for (const { session } of all) session?.abort();
      await over;
      await beat[Symbol.asyncDispose]();
    },
  };
};
