import type { Metrics } from "#telemetry/metrics.ts";
import type { SessionStore } from "./session-store.ts";

/** How many sessions live, as the metrics show it. */
export interface LivingGauge {
  /** Counts and shows. Throws `session_store_unavailable`; what was shown then stays. */
  count(): Promise<void>;
  /** The same in the background, at most once a second: after a sign-in, and after an end. */
  countSoon(): void;
}

const PAUSE_MS = 1000;

/** Counts the store, so every replica shows all sessions; `bff_active_sessions_total`. */
export const createLivingGauge = (parts: {
  readonly store: Pick<SessionStore, "count">;
  readonly metrics: Metrics;
  readonly now: () => Date;
}): LivingGauge => {
  let isCounting = false;
  let isStale = false;
  const count = async (): Promise<void> => {
    parts.metrics.set("bff_active_sessions_total", {}, await parts.store.count(parts.now()));
  };
  const countSoon = (): void => {
    if (isCounting) {
      isStale = true;
      return;
    }
    isCounting = true;
    // A store that is away is told by those who need it; the sweep counts again.
    void count()
      .catch(() => undefined)
      .then(() => {
        setTimeout(() => {
          isCounting = false;
          if (!isStale) return;
          isStale = false;
          countSoon();
        }, PAUSE_MS).unref();
      });
  };
  return { count, countSoon };
};
