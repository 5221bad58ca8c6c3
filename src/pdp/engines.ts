import { AsyncLocalStorage } from "node:async_hooks";
import { Problem } from "#contract/problem.ts";
import type { Sql } from "#store/database.ts";
import { createEngine, type Engine } from "./engine.ts";
import { readStoredBundle } from "./rollout/version-store.ts";

/** A version that can be asked. */
export interface Version {
  readonly version: string;
  readonly engine: Engine;
}

/** What decides at one moment, with what decides beside it. Never changes: another moment has another one. */
export interface Deciding extends Version {
  readonly epoch: bigint;
  readonly shadow?: Version;
}

/** The one place that anybody takes a version from. */
export interface Engines {
  /** What decides: inside `during` always the same. Throws `pdp_unavailable` when this process cannot know any more. */
  current(): Deciding;
  /** Everything that the work asks, however long it takes, sees the version that decided when it began. */
  during<T>(work: () => T): T;
  /** The engine of any stored version; `undefined`: it is not stored. Throws `BundleRefused` if it cannot be read. */
  of(version: string): Promise<Engine | undefined>;
  /** From now on this decides. Work that is under way ends as it began. */
  follow(next: Deciding): void;
}

const MOST_KEPT = 4;

export const createEngines = (parts: {
  readonly sql: Sql;
  readonly first: Deciding;
  /** False: this process has not seen for too long what should decide. */
  readonly knows: () => boolean;
}): Engines => {
  let now = parts.first;
  const pinned = new AsyncLocalStorage<{ deciding?: Deciding }>();
  const kept = new Map<string, Engine>();

  const keep = (version: string, engine: Engine): Engine => {
    kept.delete(version);
    kept.set(version, engine);
    const [oldest] = kept.keys();
    if (kept.size > MOST_KEPT && oldest !== undefined) kept.delete(oldest);
    return engine;
  };

  const fresh = (): Deciding => {
    if (!parts.knows())
      throw new Problem("pdp_unavailable", {
        detail: "The version of the policies that should decide cannot be read.",
        headers: { "retry-after": "1" },
      });
    return now;
  };

  return {
    current: () => {
      const pin = pinned.getStore();
      if (pin === undefined) return fresh();
      pin.deciding ??= fresh();
      return pin.deciding;
    },
    during: (work) => pinned.run({}, work),
    of: async (version) => {
      if (version === now.version) return now.engine;
      if (version === now.shadow?.version) return now.shadow.engine;
      const held = kept.get(version);
      if (held !== undefined) return keep(version, held);
      const bundle = await readStoredBundle(parts.sql, version);
      return bundle === undefined ? undefined : keep(version, createEngine(bundle));
    },
    follow: (next) => {
      keep(now.version, now.engine);
      now = next;
    },
  };
};
