import type { ServiceParts } from "#authn/callers/service-parts.ts";
import { Problem } from "#contract/problem.ts";
import { followChannel, followPollMs } from "#events/model/follow-channel.ts";
import type { Bundle } from "#pdp/bundle/bundle.ts";
import { sharedEngine, type Engine } from "#pdp/engine/engine.ts";
import { readBundleApart, type Examiner } from "#pdp/lifecycle/examine/examiner.ts";
import { createEngines, type DecidingVersion, type Engines, type Version } from "#pdp/engine/engines.ts";
import { POINTER_CHANNEL, readPointer, type Pointer } from "./pointer.ts";
import { readContent, readStoredBundle } from "./version-store.ts";

/** A process that follows the pointer: its engines, and whether it still knows what should decide. */
export interface Follower {
  readonly engines: Engines;
  /** Reads the pointer and follows it before it resolves. Throws when it cannot. */
  refresh(): Promise<void>;
  /** False: what decides here may not be what should. */
  knows(): boolean;
  [Symbol.asyncDispose](): Promise<void>;
}

export interface FollowerParts extends Pick<ServiceParts, "database" | "log" | "metrics"> {
  readonly examiner: Examiner;
  /** Between two looks at the pointer, for a hint that was lost. */
  readonly pollMs?: number;
  /** Longest time without a look that succeeded. */
  readonly blindMs?: number;
  /** Milliseconds that only ever grow; a wall clock may jump. */
  readonly elapsedMs?: () => number;
  /** False: each action is parsed with the first question about it, which costs less where few are asked about. */
  readonly isWarmed?: boolean;
}

const BLIND_MS = 10_000;

/**
 * Follows the pointer: told by a notification, and looking once a second where other processes are. A version is read (after the start
 * beside the event loop), compiled and warmed before it takes the other's place at once; one that cannot be read takes nobody's place,
 * and after ten seconds this process says that it does not know what decides.
 */
export const followPointer = async (parts: FollowerParts): Promise<Follower> => {
  const { database, examiner, log, metrics } = parts;
  const elapsed = parts.elapsedMs ?? (() => performance.now());
  const pollMs = followPollMs(parts);
  let seenAt = Number.NEGATIVE_INFINITY;
  let held: DecidingVersion | undefined;
  let isServing = false;

  /** Parsed into Cedar in small steps, so that the first questions find it so. */
  const engineOf = async (bundle: Bundle): Promise<Engine> => {
    const engine = sharedEngine(bundle);
    if (parts.isWarmed !== false) await engine.warm();
    return engine;
  };
  const openAtStart = async (version: string): Promise<Engine | undefined> => {
    const bundle = await readStoredBundle(database, version);
    return bundle === undefined ? undefined : engineOf(bundle);
  };
  const open = async (version: string): Promise<Engine | undefined> => {
    const content = await readContent(database, version);
    return content === undefined ? undefined : engineOf(await readBundleApart(examiner, content.files, "urgent"));
  };
  const load = async (version: string): Promise<Version> => {
    if (held?.version === version) return { version, engine: held.engine };
    if (held?.shadow?.version === version) return held.shadow;
    const engine = await (isServing ? engines.of(version) : openAtStart(version));
    if (engine === undefined) throw new Error(`the version ${version} is not stored`);
    return { version, engine };
  };

  const decidingBy = async (pointer: Pointer): Promise<DecidingVersion> => {
    const active = await load(pointer.active);
    // A shadow that cannot be read is only not asked: nothing depends on it. One that nobody has looked at yet is looked for again.
    const shadow =
      pointer.shadow === null
        ? undefined
        : await load(pointer.shadow).catch((cause: unknown) => {
            if (cause instanceof Problem && cause.code === "busy") throw cause;
            log.error("pdp_shadow_unreadable", { version: pointer.shadow, cause });
            return undefined;
          });
    return { ...active, epoch: pointer.epoch, shadow };
  };

  const look = async (): Promise<DecidingVersion> => {
    const at = elapsed();
    const pointer = await readPointer(database);
    if (pointer === undefined) throw new Error("no version of the policies was ever activated");
    const isNews = held?.epoch !== pointer.epoch;
    if (isNews) {
      const next = await decidingBy(pointer);
      // Another look may have got further while this one read files.
      if (held === undefined || held.epoch < next.epoch) {
        show(held, next);
        held = next;
        if (isServing) {
          engines.follow(next);
          log.info("pdp_policies_followed", { version: next.version, shadow: next.shadow?.version, epoch: String(next.epoch) });
        }
      }
    }
    seenAt = Math.max(seenAt, at);
    // What took long to compile says nothing of now: a start on a busy machine must not end blind.
    return isNews && elapsed() - at > pollMs ? look() : (held as DecidingVersion);
  };

  const show = (before: DecidingVersion | undefined, next: DecidingVersion): void => {
    if (before !== undefined) metrics.forget("pdp_bundle_info", { version: before.version, state: "active" });
    if (before?.shadow !== undefined) metrics.forget("pdp_bundle_info", { version: before.shadow.version, state: "shadow" });
    metrics.set("pdp_bundle_info", { version: next.version, state: "active" }, 1);
    if (next.shadow !== undefined) metrics.set("pdp_bundle_info", { version: next.shadow.version, state: "shadow" }, 1);
  };

  const knows = (): boolean => elapsed() - seenAt <= (parts.blindMs ?? BLIND_MS);
  const first = await look();
  const engines = createEngines({ open, first, knows });
  isServing = true;

  const following = await followChannel({
    database,
    pollMs,
    look,
    channel: POINTER_CHANNEL,
    failed: (cause) => log.warn("pdp_pointer_unread", { cause }),
  });

  return {
    engines,
    refresh: async () => void (await look()),
    knows,
    [Symbol.asyncDispose]: async () => following[Symbol.asyncDispose](),
  };
};
