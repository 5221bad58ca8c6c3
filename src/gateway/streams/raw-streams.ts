import { discard, isEventStream, type Answer } from "#gateway/model/answer.ts";
import type { Proxy, ProxyCall } from "#gateway/proxy/proxy.ts";
import type { Recognised } from "#gateway/steps/recognise.ts";
import { endableBody } from "./endable-body.ts";
import { isListening } from "#gateway/model/is-listening.ts";
import type { ConfigWatch } from "#events/streams/config-watch.ts";
import { watchRight } from "./right-watch.ts";
import type { StreamOwner, StreamPlace, StreamRegistry } from "./stream-registry.ts";

export interface RawCall extends ProxyCall {
  /** Recognises and decides again; throws when who asked may no more. */
  readonly recheck: () => Promise<number>;
}

const MAX_TIMER_MS = 2_147_483_647;

/** When the credential ends by itself, in milliseconds since 1970. Of a session the watch asks. */
const expiryOf = (who: Recognised): number | undefined => (who.kind === "bearer" ? who.caller.expiresAt * 1000 : undefined);

const ownerOf = ({ who, inbound }: RawCall): StreamOwner => ({
  sessionRef: who.kind === "session" ? who.record.ref : undefined,
  clientAddress: inbound.clientAddress,
});

/**
 * Streams that are passed on byte for byte: whatever a streaming row without a session brings, and event streams of any other
 * row. Nothing is put in; but they end with the credential that they were opened with, with the right to them, and with the
 * process. An event stream ends as if its upstream had ended it; any other body, which may not look complete, breaks off.
 *
 * Streaming rows are counted, with no other request: at most the registry's total at once. Throws `too_many_streams` (429).
 */
export const createRawStreams = (parts: {
  /** Of these streams alone: relayed ones have places of their own. */
  readonly registry: StreamRegistry;
  readonly rightChanges: ConfigWatch;
  readonly now: () => Date;
}): ((proxy: Proxy, call: RawCall) => Promise<Answer>) => {
  const { registry, rightChanges, now } = parts;

  const govern = (call: RawCall, answer: Answer, source: ReadableStream<Uint8Array>, place: StreamPlace) => {
    const { who, inbound } = call;
    const isWhole = isEventStream(answer) && !answer.headers.has("content-length");
    let expiry: NodeJS.Timeout | undefined;
    const { body, end } = endableBody(source, () => {
      clearTimeout(expiry);
      watch.stop();
      place.release();
    });
    const expiresAt = expiryOf(who);
    const watchClock = (): void => {
      if (expiresAt === undefined) return;
      const left = expiresAt - now().getTime();
      if (left <= 0) end(isWhole);
      else expiry = setTimeout(watchClock, Math.min(left, MAX_TIMER_MS)).unref();
    };
    const watch = watchRight({
      rightChanges,
      now,
      // Where nobody decides, the end of the caller is what may move.
      tenant: who.kind === "none" ? undefined : who.principal.tenant,
      recheck: call.recheck,
      lost: () => end(isWhole),
    });
    watchClock();
    place.opened({
      bye: (reason) => {
        // An answer under way has until the deadline.
        if (reason !== "drain" || (isWhole && isListening(inbound))) end(isWhole);
      },
      recheck: watch.soon,
    });
    return { watch, answer: { status: answer.status, headers: answer.headers, body } };
  };

  /** An answer to more than listening is given whatever else streams; it counts among the requests under way. */
  const placeOf = (call: RawCall, answer: Answer): StreamPlace => {
    if (!isListening(call.inbound)) return registry.adopt(ownerOf(call));
    try {
      return registry.claim(ownerOf(call));
    } catch (error) {
      discard(answer, error);
      throw error;
    }
  };

  /** A row that was not known to stream: what it brings may be no stream at all. */
  const pass = async (proxy: Proxy, call: RawCall): Promise<Answer> => {
    const answer = await proxy.forward(call);
    if (!(answer.body instanceof ReadableStream) || !isEventStream(answer)) return answer;
    const governed = govern(call, answer, answer.body, placeOf(call, answer));
    // Its session may have ended while the upstream was asked, when there was no place yet to be told at.
    governed.watch.now();
    return governed.answer;
  };

  const stream = async (proxy: Proxy, call: RawCall): Promise<Answer> => {
    const isServed = isListening(call.inbound) || !registry.isDraining;
    const place = isServed ? registry.claim(ownerOf(call)) : registry.adopt(ownerOf(call));
    try {
      const answer = await proxy.forward(call);
      if (answer.body instanceof ReadableStream) return govern(call, answer, answer.body, place).answer;
      place.release();
      return answer;
    } catch (error) {
      place.release();
      throw error;
    }
  };

  return (proxy, call) => (call.route.row.streaming ? stream(proxy, call) : pass(proxy, call));
};
