import { AsyncLocalStorage } from "node:async_hooks";
import { LRUCache } from "lru-cache";
import { Problem } from "#contract/problem.ts";
import type { Engine } from "./engine.ts";

/** A version that can be asked. */
export interface Version {
  readonly version: string;
  readonly engine: Engine;
}

/** What decides at one moment, with what decides beside it. Never changes: another moment has another one. */
export interface DecidingVersion extends Version {
  readonly epoch: bigint;
  readonly shadow?: Version;
}

/** The one place that anybody takes a version from. */
export interface Engines {
  /** What decides: inside `during` always the same. Throws `pdp_unavailable` when this process cannot know any more. */
  current(): DecidingVersion;
  /** Everything that the work asks, however long it takes, sees the version that decided when it began. */
  during<T>(work: () => T): T;
  /** The engine of any stored version; `undefined`: it is not stored. Throws as `open` does. */
  of(version: string): Promise<Engine | undefined>;
  /** From now on this decides. Work that is under way ends as it began. */
  follow(next: DecidingVersion): void;
}

const MAX_KEPT = 4;

export const createEngines = (parts: {
  /** The engine of a stored version, ready to be asked; `undefined`: it is not stored. */
  readonly open: (version: string) => Promise<Engine | undefined>;
  readonly first: DecidingVersion;
  /** False: this process has not seen for too long what should decide. */
  readonly knows: () => boolean;
}): Engines => {
  let now = parts.first;
  const pinned = new AsyncLocalStorage<{ deciding?: DecidingVersion }>();
  /** Those under way among them, so that who asks at the same time opens one. */
  const kept = new LRUCache<string, Promise<Engine | undefined>>({ max: MAX_KEPT });

  const keep = (version: string, engine: Promise<Engine | undefined>): Promise<Engine | undefined> => {
    kept.set(version, engine);
    return engine;
  };
  const open = async (version: string): Promise<Engine | undefined> => {
    const opened = await parts.open(version).catch((error: unknown) => {
      kept.delete(version);
      throw error;
    });
    if (opened === undefined) kept.delete(version);
    return opened;
  };

  const fresh = (): DecidingVersion => {
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
      return keep(version, kept.get(version) ?? open(version));
    },
    follow: (next) => {
      void keep(now.version, Promise.resolve(now.engine));
      now = next;
    },
  };
};
