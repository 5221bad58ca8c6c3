import { Problem } from "#contract/problem.ts";
import type { ConfigWatch } from "#events/streams/config-watch.ts";
import type { ByeReason } from "#events/streams/stream.ts";
import { startRecheck, type Recheck } from "#events/streams/recheck.ts";

const RECHECK_MS = 60_000;
const MAX_TIMER_MS = 2_147_483_647;

/** Not decidable is not permitted: the client comes back and is refused or let in. */
const reasonOf = (error: unknown): ByeReason => {
  const code = error instanceof Problem ? error.code : "internal";
  if (code === "step_up_required") return "step_up";
  if (code === "no_token_available") return "expired";
  return code === "access_denied" || code === "unauthenticated" ? "revoked" : "upstream";
};

/**
 * Asks each minute, and when the graph, policies or delegations of the tenant move, whether who opened a stream may still
 * have it, and at the moment when something of the session runs out. `tenant` undefined: nobody's in particular, nothing of it moves.
 */
export const watchRight = (parts: {
  readonly rightChanges: ConfigWatch;
  readonly tenant: string | undefined;
  /** Until when nothing runs out by itself, milliseconds since 1970; never unless given. */
  readonly until?: number;
  readonly now: () => Date;
  /** Answers until when nothing runs out; throws when the stream may not go on. */
  readonly recheck: () => Promise<number>;
  readonly lost: (reason: ByeReason) => void;
}): Recheck => {
  let clock: NodeJS.Timeout | undefined;
  let isStopped = false;
  const wait = (until: number): void => {
    clearTimeout(clock);
    if (isStopped || until === Infinity) return;
    clock = setTimeout(check.now, Math.min(Math.max(0, until - parts.now().getTime()), MAX_TIMER_MS)).unref();
  };
  const check = startRecheck(RECHECK_MS, () => {
    parts.recheck().then(wait, (error: unknown) => parts.lost(reasonOf(error)));
  });
  wait(parts.until ?? Infinity);
  const unwatch = parts.tenant === undefined ? () => {} : parts.rightChanges.watch(parts.tenant, check.soon);
  return {
    ...check,
    stop: () => {
      isStopped = true;
      check.stop();
      clearTimeout(clock);
      unwatch();
    },
  };
};
