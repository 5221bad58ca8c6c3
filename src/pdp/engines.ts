import type { Database } from "#store/database.ts";
import { readStoredBundle, type StoredBundle } from "./bundle/bundle-store.ts";
import { createEngine, type Engine } from "./engine.ts";

/** Engines of bundles that decided before, made when an explanation needs one. */
export interface Engines {
  readonly active: { readonly version: string; readonly engine: Engine };
  /** `undefined`: this version is not stored. */
  of(version: string): Promise<Engine | undefined>;
}

const MOST_KEPT = 4;

export const createEngines = (database: Database, active: StoredBundle): Engines => {
  const current = { version: active.version, engine: createEngine(active.bundle) };
  const former = new Map<string, Engine>();
  return {
    active: current,
    of: async (version) => {
      if (version === current.version) return current.engine;
      const held = former.get(version);
      if (held !== undefined) return held;
      const stored = await readStoredBundle(database, version);
      if (stored === undefined) return undefined;
      const engine = createEngine(stored.bundle);
      const [oldest] = former.keys();
      if (former.size >= MOST_KEPT && oldest !== undefined) former.delete(oldest);
      former.set(version, engine);
      return engine;
    },
  };
};
