import { randomUUID } from "node:crypto";
import { Problem } from "#contract/problem.ts";
import type { Change } from "#events/change.ts";
import type { Engines } from "#pdp/engines.ts";
import type { DecisionLog } from "#pdp/records/decision-log.ts";
import type { Administrator } from "#pdp/rollout/guard-administration.ts";
import { entryOf } from "#pdp/rollout/tell.ts";
import type { Database } from "#store/database.ts";
import type { Log } from "#telemetry/log.ts";
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

export interface ReplaysParts {
  readonly database: Database;
  readonly change: Change;
  readonly records: DecisionLog;
  readonly engines: Engines;
  readonly keepDays: number;
  readonly log: Log;
  readonly now: () => Date;
  /** Between two looks for one to go on with. */
  readonly lookMs?: number;
}

const LOOK_MS = 2_000;
const MOST_RUNNING = 5;

export const createReplays = (parts: ReplaysParts): Replays => {
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
    for (;;) {
      const replay = closing ? undefined : await store.claim(holder);
      if (replay === undefined) return;
      await run(replay);
    }
  };
  const kick = (): void => {
    if (closing) return;
    // What failed is tried again by the next look: the row is still held, and goes on when its holder was silent for ten seconds.
    working ??= work()
      .catch((cause: unknown) => log.warn("pdp_replay_interrupted", { cause }))
      .finally(() => (working = undefined));
  };
  const looking = setInterval(kick, parts.lookMs ?? LOOK_MS).unref();
  const purging = setInterval(
    () =>
      void store
        .purge(new Date(parts.now().getTime() - parts.keepDays * 86_400_000))
        .catch((cause: unknown) => log.warn("pdp_purge_failed", { cause })),
    3_600_000,
  ).unref();

  const read: Replays["read"] = async (id, tenant) => {
    const replay = await store.find(id, tenant);
    if (replay === undefined) throw new Problem("not_found", { detail: "There is no such replay." });
    return replay;
  };

  return {
    read,
    start: async (admin, tenant, { version, filter, most }) => {
      if ((await store.running(tenant)) >= MOST_RUNNING)
        throw new Problem("too_many", { detail: `At most ${MOST_RUNNING} replays run at a time. Stop one, or wait.` });
      const id = `replay:${randomUUID()}`;
      await parts.change(async (sql) => {
        await store.insert(sql, { id, tenant, version, filter, most }, admin.by.subject);
        return { result: undefined, entries: [entryOf(admin.by, "replay_started", version, { replay_id: id, most })] };
      });
      kick();
      return id;
    },
    stop: async (admin, id, tenant) => {
      const { version } = await read(id, tenant);
      await parts.change(async (sql) => ({
        result: undefined,
        entries: (await store.stop(sql, id, tenant)) ? [entryOf(admin.by, "replay_stopped", version, { replay_id: id })] : [],
      }));
    },
    [Symbol.asyncDispose]: async () => {
      closing = true;
      clearInterval(looking);
      clearInterval(purging);
      await working;
      await store.release(holder).catch((cause: unknown) => log.warn("pdp_replay_interrupted", { cause }));
    },
  };
};
