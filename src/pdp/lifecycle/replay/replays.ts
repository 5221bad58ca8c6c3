import type { ServiceParts } from "#authn/callers/service-parts.ts";
import { randomUUID } from "node:crypto";
import { Problem } from "#contract/problem.ts";
import { startInterval } from "#http/interval.ts";
import type { Engines } from "#pdp/engine/engines.ts";
import type { DecisionLog } from "#pdp/records/decision-log.ts";
import type { Administrator } from "#pdp/lifecycle/rollout/guard-administration.ts";
import { policyEntry } from "#pdp/lifecycle/rollout/policy-events.ts";
import { replayStore, type Replay, type ReplayFilter } from "./replay-store.ts";
import { runReplay } from "./run-replay.ts";

/** Replays of recorded decisions in the background, one at a time a process. They survive the process: another one goes on. */
export interface Replays {
  start(
    admin: Administrator,
    tenant: string,
    asked: { readonly version: string; readonly filter: ReplayFilter; readonly most: number },
  ): Promise<string>;
  /** Throws `not_found`; another tenant's replay does not exist. */
  read(id: string, tenant: string): Promise<Replay>;
  /** Throws `not_found`. One that ended already stays as it is. */
  stop(admin: Administrator, id: string, tenant: string): Promise<void>;
  [Symbol.asyncDispose](): Promise<void>;
}

/** What is started here begins at once; this is for what another process left, which is noticed after ten seconds of its silence. */
const LOOK_MS = 10_000;
const MAX_RUNNING = 5;

export const createReplays = (
  parts: Pick<ServiceParts, "database" | "change" | "log" | "now"> & {
    readonly records: DecisionLog;
    readonly engines: Engines;
    readonly keepDays: number;
    /** Between two looks for one to go on with. */
    readonly lookMs?: number;
  },
): Replays => {
  const { database, records, engines, log } = parts;
  const store = replayStore(database);
  const holder = randomUUID();
  let closing = false;
  let working: Promise<void> | undefined;

  const run = async (replay: Replay): Promise<void> => {
    const engine = await engines.of(replay.version).catch(() => undefined);
    if (engine === undefined) {
      log.warn("pdp_replay_failed", { replay_id: replay.id, version: replay.version, cause: "the version cannot be read" });
      await store.save(replay.id, holder, replay.progress, "failed");
      return;
    }
    await runReplay(replay, engine, records, async (progress, done) => {
      const mine = await store.save(replay.id, holder, progress, done ? "done" : "running");
      return mine && !closing;
    });
  };

  const work = async (): Promise<void> => {
    for (const { id, version } of await store.giveUp())
      log.error("pdp_replay_failed", { replay_id: id, version, cause: "it was tried too often and came no further" });
    for (;;) {
      const replay = closing ? undefined : await store.claim(holder);
      if (replay === undefined) return;
      await run(replay);
    }
  };
  const release = async (): Promise<void> => {
    await store.release(holder).catch((cause: unknown) => log.warn("pdp_replay_interrupted", { cause }));
  };
  const kick = async (): Promise<void> => {
    if (closing) return;
    // What failed is let go and tried again by the next look of anybody, so many times.
    working ??= work()
      .catch((cause: unknown) => {
        log.warn("pdp_replay_interrupted", { cause });
        return release();
      })
      .finally(() => (working = undefined));
    await working;
  };
  const failed = (cause: unknown): void => log.warn("pdp_purge_failed", { cause });
  const looking = startInterval({ everyMs: parts.lookMs ?? LOOK_MS, work: kick, failed });
  const purging = startInterval({
    everyMs: 3_600_000,
    work: () => store.purge(new Date(parts.now().getTime() - parts.keepDays * 86_400_000)),
    failed,
  });

  const read: Replays["read"] = async (id, tenant) => {
    const replay = await store.find(id, tenant);
    if (replay === undefined) throw new Problem("not_found", { detail: "There is no such replay." });
    return replay;
  };

  return {
    read,
    start: async (admin, tenant, { version, filter, most }) => {
      if ((await store.running(tenant)) >= MAX_RUNNING)
        throw new Problem("too_many", { detail: `At most ${MAX_RUNNING} replays run at a time. Stop one, or wait.` });
      const id = `replay:${randomUUID()}`;
      await parts.change(async (sql) => {
        await store.insert(sql, { id, tenant, version, filter, most }, admin.by.subject);
        return { result: undefined, entries: [policyEntry(admin.by, "replay_started", version, { replay_id: id, most })] };
      });
      void kick();
      return id;
    },
    stop: async (admin, id, tenant) => {
      const { version } = await read(id, tenant);
      await parts.change(async (sql) => ({
        result: undefined,
        entries: (await store.stop(sql, id, tenant)) ? [policyEntry(admin.by, "replay_stopped", version, { replay_id: id })] : [],
      }));
    },
    [Symbol.asyncDispose]: async () => {
      closing = true;
      await Promise.all([looking[Symbol.asyncDispose](), purging[Symbol.asyncDispose](), working]);
      await release();
    },
  };
};
