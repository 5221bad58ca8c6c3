import type { LiveBus } from "./live-bus.ts";
import type { Log } from "#telemetry/log.ts";

/** Kinds of events that change who may read a stream. */
export const rightKinds: ReadonlySet<string> = new Set(["policy", "graph", "delegation", "session"]);

export type ConfigWatch = ReturnType<typeof createConfigWatch>;

/**
 * Tells when something of a tenant moved that an answer hangs on, and costs nothing while nothing moves. One reader of a tenant's
 * configuration stream for all who watch that tenant; none while nobody does. Events of other kinds move nothing: money that a call
 * spends changes nobody's rights.
 */
export const createConfigWatch = (parts: {
  readonly bus: Pick<LiveBus, "subscribe">;
  readonly kinds: ReadonlySet<string>;
  readonly log: Log;
}) => {
  const tenants = new Map<string, { readonly watchers: Set<() => void>; readonly stop: AbortController }>();

  const read = async (tenant: string, watchers: Set<() => void>, signal: AbortSignal): Promise<void> => {
    const tell = (): void => {
      for (const moved of watchers) moved();
    };
    // A reader that fell behind begins anew; what it missed counts as moved, and so does what was before it stood.
    while (!signal.aborted) {
      try {
        for await (const frame of parts.bus.subscribe({ stream: "config", tenant, subject: [], seesAll: true, signal })) {
          if (frame.kind === "bye" && frame.reason === "drain") return;
          const isNews =
            frame.kind === "event" ? parts.kinds.has(frame.event.kind ?? "") : frame.kind === "start" || frame.kind === "resync";
          if (isNews) tell();
        }
      } catch (cause) {
        parts.log.warn("config_watch_interrupted", { cause });
      }
      if (!signal.aborted) await new Promise((resolve) => setTimeout(resolve, 1000).unref());
    }
  };

  return {
    /** The returned function ends it. */
    watch: (tenant: string, moved: () => void): (() => void) => {
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
