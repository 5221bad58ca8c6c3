import { Problem } from "#contract/problem.ts";
import type { EndReason, SessionChange } from "#gateway/sessions/session-store.ts";

/** Why the gateway ends a stream. */
export type ByeReason = "signed_out" | "expired" | "revoked" | "step_up" | "drain" | "slow" | "limit" | "upstream";

/** An open stream of a session. */
export interface OpenStream {
  /** Says why, and ends it. */
  bye(reason: ByeReason): void;
  /** Looks again whether its session lives and may have it; one that cannot is ended, and its client comes back. */
  recheck?(): void;
}

export interface StreamRegistry {
  /** Takes a place for a stream of this session. Throws `too_many_streams` (429). */
  claim(sessionRef: string): StreamPlace;
  /** A session ended, here or in another process: its streams end with it. */
  sessionChanged(change: SessionChange): void;
  /** Some ends may not have been told: every stream looks again for itself. */
  recheck(): void;
  /** Ends every stream. */
  drain(): void;
  readonly open: number;
  readonly limit: number;
}

export interface StreamPlace {
  /** From now on the stream can be ended from outside. */
  opened(stream: OpenStream): void;
  release(): void;
}

const byeOf: Readonly<Record<EndReason, ByeReason>> = {
  logout: "signed_out",
  everywhere: "signed_out",
  backchannel: "signed_out",
  replaced: "signed_out",
  idle: "expired",
  absolute: "expired",
  refresh_denied: "revoked",
  refresh_unknown: "revoked",
  binding: "revoked",
  admin: "revoked",
  policy: "revoked",
};

/** All event streams of this process, by session: so many a session, so many in all. */
export const createStreamRegistry = (limits: { readonly perSession: number; readonly total: number }): StreamRegistry => {
  const bySession = new Map<string, Set<{ stream: OpenStream | undefined; ended: ByeReason | undefined }>>();
  let total = 0;
  let isDraining = false;

  const end = (places: Iterable<{ stream: OpenStream | undefined; ended: ByeReason | undefined }>, reason: ByeReason): void => {
    for (const place of places) {
      place.ended = reason;
      place.stream?.bye(reason);
    }
  };

  return {
    claim: (sessionRef) => {
      const held = bySession.get(sessionRef) ?? new Set();
      if (isDraining) throw new Problem("stopping");
      if (held.size >= limits.perSession || total >= limits.total)
        throw new Problem("too_many_streams", { headers: { "retry-after": "5" } });
      const place: { stream: OpenStream | undefined; ended: ByeReason | undefined } = { stream: undefined, ended: undefined };
      held.add(place);
      bySession.set(sessionRef, held);
      total += 1;
      return {
        opened: (stream) => {
          place.stream = stream;
          // The session may have ended while the upstream was being asked.
          if (place.ended !== undefined) stream.bye(place.ended);
        },
        release: () => {
          if (!held.delete(place)) return;
          total -= 1;
          if (held.size === 0 && bySession.get(sessionRef) === held) bySession.delete(sessionRef);
        },
      };
    },
    sessionChanged: (change) => {
      if (change.kind === "ended") end([...(bySession.get(change.ref) ?? [])], byeOf[change.reason ?? "admin"] ?? "revoked");
    },
    recheck: () => {
      for (const place of [...bySession.values()].flatMap((places) => [...places])) {
        if (place.stream?.recheck !== undefined) place.stream.recheck();
        else place.stream?.bye("upstream");
      }
    },
    drain: () => {
      isDraining = true;
      end(
        [...bySession.values()].flatMap((places) => [...places]),
        "drain",
      );
    },
    get open() {
      return total;
    },
    limit: limits.total,
  };
};
