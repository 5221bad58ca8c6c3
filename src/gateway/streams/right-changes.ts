import type { LiveBus } from "#events/live-bus.ts";
import type { Log } from "#telemetry/log.ts";

/** Tells when something of a tenant moved that a right may hang on. */
export interface RightChanges {
  /** The returned function ends it. */
  watch(tenant: string, moved: () => void): () => void;
}

const KINDS: ReadonlySet<string> = new Set(["policy", "graph", "delegation", "session"]);

/** One reader of a tenant's configuration stream for all who watch that tenant; none while nobody does. */
export const createRightChanges = (parts: { readonly bus: Pick<LiveBus, "subscribe">; readonly log: Log }): RightChanges => {
  const tenants = new Map<string, { readonly watchers: Set<() => void>; readonly stop: AbortController }>();

  const read = async (tenant: string, watchers: Set<() => void>, signal: AbortSignal): Promise<void> => {
    const tell = (): void => {
      for (const moved of watchers) moved();
    };
    // A reader that fell behind begins anew; what it missed counts as moved.
    while (!signal.aborted) {
      try {
        for await (const frame of parts.bus.subscribe({ stream: "config", tenant, subject: [], seesAll: true, signal })) {
          if (frame.kind === "resync" || (frame.kind === "event" && KINDS.has(frame.event.kind ?? ""))) tell();
        }
      } catch (cause) {
        parts.log.warn("right_changes_interrupted", { cause });
      }
      if (signal.aborted) return;
      tell();
      await new Promise((resolve) => setTimeout(resolve, 1000).unref());
    }
  };

  return {
    watch: (tenant, moved) => {
      const held = tenants.get(tenant) ?? { watchers: new Set<() => void>(), stop: new AbortController() };
      if (!tenants.has(tenant)) {
        tenants.set(tenant, held);
        void read(tenant, held.watchers, held.stop.signal);
      }
      held.watchers.add(moved);
      return () => {
        held.watchers.delete(moved);
        if (held.watchers.size > 0 || tenants.get(tenant) !== held) return;
        tenants.delete(tenant);
        held.stop.abort();
      };
    },
  };
};
