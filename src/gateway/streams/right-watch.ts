import { Problem } from "#contract/problem.ts";
import type { ConfigWatch } from "#events/config-watch.ts";
import type { ByeReason } from "#events/stream.ts";

const RECHECK_MS = 60_000;
const PAUSE_MS = 1000;

/** The right of an open stream, asked again and again. */
export interface RightWatch {
  now(): void;
  /** At most once a second. */
  soon(): void;
  stop(): void;
}

/** Not decidable is not permitted: the client comes back and is refused or let in. */
const reasonOf = (error: unknown): ByeReason => {
  const code = error instanceof Problem ? error.code : "internal";
  if (code === "step_up_required") return "step_up";
  return code === "access_denied" || code === "unauthenticated" ? "revoked" : "upstream";
};

/**
 * Asks each minute, and when the graph, policies or delegations of the tenant move, whether who opened a stream may still
 * have it. `tenant` undefined: nobody's in particular, nothing of it moves.
 */
export const watchRight = (parts: {
  readonly rightChanges: ConfigWatch;
  readonly tenant: string | undefined;
  /** Throws when the stream may not go on. */
  readonly recheck: () => Promise<void>;
  readonly lost: (reason: ByeReason) => void;
}): RightWatch => {
  let pause: NodeJS.Timeout | undefined;
  let askedAt = performance.now();
  const ask = (): void => {
    askedAt = performance.now();
    parts.recheck().catch((error: unknown) => parts.lost(reasonOf(error)));
  };
  const soon = (): void => {
    pause ??= setTimeout(
      () => {
        pause = undefined;
        ask();
      },
      Math.max(0, askedAt + PAUSE_MS - performance.now()),
    ).unref();
  };
  const timer = setInterval(ask, RECHECK_MS).unref();
  const unwatch = parts.tenant === undefined ? () => {} : parts.rightChanges.watch(parts.tenant, soon);
  return {
    now: ask,
    soon,
    stop: () => {
      clearInterval(timer);
      clearTimeout(pause);
      unwatch();
    },
  };
};
