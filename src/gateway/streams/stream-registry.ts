import { Problem } from "#contract/problem.ts";
import type { ByeReason } from "#events/streams/stream.ts";
import { noAddressCount, type AddressCount } from "#gateway/limits/address-count.ts";
import type { EndReason, SessionChange } from "#gateway/sessions/session-store.ts";

/** An open stream of a session. */
export interface OpenStream {
  /** Says why, and ends it. */
  bye(reason: ByeReason): void;
  /** Looks again whether its session lives and may have it; one that cannot is ended, and its client comes back. */
  recheck?(): void;
}

/** Whose streams they are counted among. */
export interface StreamOwner {
  /** The session that they end with, if there is one. */
  readonly sessionRef?: string | undefined;
  readonly clientAddress: string;
}

export interface StreamRegistry {
  /** Takes a place for a stream. Throws `too_many_streams` (429), and `stopping` (503). */
  claim(whose: StreamOwner): StreamPlace;
  /** Takes a place whether or not there is one: for a stream that has begun already. */
  adopt(whose: StreamOwner): StreamPlace;
  /** A session ended, here or in another process: its streams end with it. */
  sessionChanged(change: SessionChange): void;
  /** Some ends may not have been told: every stream looks again for itself. */
  recheck(): void;
  /** Ends every stream, and no new one is claimed. */
  drain(): void;
  /** Ends those that still go on: there is no more time. */
  cut(): void;
  readonly isDraining: boolean;
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
  person_ended: "revoked",
};

interface Held {
  stream: OpenStream | undefined;
  ended: ByeReason | undefined;
}

/** Streams of this process, by session: so many a session, so many in all. */
export const createStreamRegistry = (parts: {
  /** Streams that one session may hold; as many as there are in all unless given. */
  readonly perSession?: number;
  readonly total: number;
  /** Streams by address, these and others; unlimited unless given. */
  readonly ofAddress?: AddressCount;
  /** Hears how many there are now. */
  readonly counted?: (open: number) => void;
}): StreamRegistry => {
  const { total, perSession = total, ofAddress = noAddressCount, counted = () => {} } = parts;
  const all = new Set<Held>();
  const bySession = new Map<string, Set<Held>>();
  let isDraining = false;

  const end = (places: Iterable<Held>, reason: ByeReason): void => {
    for (const place of places) {
      place.ended = reason;
      place.stream?.bye(reason);
    }
  };

  const adopt = ({ sessionRef, clientAddress }: StreamOwner): StreamPlace => {
    const leave = ofAddress.enter(clientAddress);
    const place: Held = { stream: undefined, ended: undefined };
    const ofSession = sessionRef === undefined ? undefined : (bySession.get(sessionRef) ?? new Set<Held>());
    if (sessionRef !== undefined && ofSession !== undefined) bySession.set(sessionRef, ofSession.add(place));
    all.add(place);
    counted(all.size);
    return {
      opened: (stream) => {
        place.stream = stream;
        // The session may have ended while the upstream was being asked.
        if (place.ended !== undefined) stream.bye(place.ended);
      },
      release: () => {
        if (!all.delete(place)) return;
        leave();
        counted(all.size);
        if (sessionRef === undefined || ofSession === undefined) return;
        ofSession.delete(place);
        if (ofSession.size === 0 && bySession.get(sessionRef) === ofSession) bySession.delete(sessionRef);
      },
    };
  };

  return {
    adopt,
    claim: (whose) => {
      const { sessionRef, clientAddress } = whose;
      if (isDraining) throw new Problem("stopping", { headers: { "retry-after": "5" } });
      const held = sessionRef === undefined ? 0 : (bySession.get(sessionRef)?.size ?? 0);
      const refusal = (): Problem => new Problem("too_many_streams", { headers: { "retry-after": "5" } });
      if (held >= perSession || all.size >= total) throw refusal();
      const place = adopt(whose);
      if (!ofAddress.isOver(clientAddress)) return place;
      place.release();
      throw refusal();
    },
    sessionChanged: (change) => {
      if (change.kind === "ended") end(bySession.get(change.ref) ?? [], byeOf[change.reason ?? "admin"] ?? "revoked");
    },
    recheck: () => {
      for (const { stream } of all) {
        if (stream?.recheck !== undefined) stream.recheck();
        else stream?.bye("upstream");
      }
    },
    drain: () => {
      isDraining = true;
      end(all, "drain");
    },
    cut: () => end(all, "limit"),
    get isDraining() {
      return isDraining;
    },
    get open() {
      return all.size;
    },
    limit: total,
  };
};
