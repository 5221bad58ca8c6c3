import type { IncomingMessage } from "node:http";
import type { Problem } from "#contract/problem.ts";
import { watchBody } from "#http/body-clock.ts";
import type { ListenerLimits } from "#http/listener-limits.ts";
import { ingressProblem } from "#gateway/model/ingress-problem.ts";
import type { InboundBody } from "#gateway/model/inbound.ts";

export interface RequestBody extends InboundBody {
  /** True when nobody asked for it, or all of it was read: then the next request on the connection can be told from it. */
  isSettled(): boolean;
  /** The rest cannot be read: the client broke its framing, or left. */
  fail(reason: Problem): void;
}

/** Who takes the bytes. `chunk` answers whether more is wanted at once. */
interface Sink {
  chunk(bytes: Buffer): boolean;
  end(): void;
  fail(reason: Problem): void;
}

/** The body of a raw request, with back-pressure: nothing is read before somebody asks, and only as much as they take. */
export const createRequestBody = (
  request: IncomingMessage,
  length: number | undefined,
  limits: Pick<ListenerLimits, "bodyFreeMs">,
  onFirstRead: () => void,
): RequestBody => {
  let failure: Problem | undefined;
  let sink: Sink | undefined;
  let stopClock = (): void => {};
  let hasBegun = false;
  let isDone = false;
  let hasEnded = false;

  const fail = (reason: Problem): void => {
    if (isDone) return;
    isDone = true;
    failure = reason;
    stopClock();
    request.pause();
    sink?.fail(reason);
  };
  const begin = (target: Sink): void => {
    sink = target;
    if (failure !== undefined) {
      target.fail(failure);
      return;
    }
    request.pause();
    request.on("data", (chunk: Buffer) => {
      if (!isDone && !target.chunk(chunk)) request.pause();
    });
    request.on("end", () => {
      stopClock();
      if (isDone) return;
      isDone = true;
      hasEnded = true;
      target.end();
    });
    request.on("error", (cause) => fail(ingressProblem("bad_framing", { cause })));
    request.on("close", () => {
      if (!isDone) fail(ingressProblem("bad_framing", { detail: "The connection closed inside the body." }));
    });
  };
  const wantMore = (): void => {
    if (!hasBegun) {
      hasBegun = true;
      onFirstRead();
      stopClock = watchBody(request, limits, () => fail(ingressProblem("request_timeout", { detail: "The body arrives too slowly." })));
    }
    if (!isDone) request.resume();
  };
  const stop = (): void => {
    isDone = true;
    stopClock();
    request.pause();
  };

  return {
    length,
    fail,
    failure: () => failure,
    isSettled: () => hasEnded || (sink === undefined && request.complete),
    whole: () =>
      new Promise((resolve, reject) => {
        const chunks: Buffer[] = [];
        begin({
          chunk: (bytes) => chunks.push(bytes) > 0,
          end: () => resolve(chunks.length === 1 ? (chunks[0] as Buffer<ArrayBuffer>) : Buffer.concat(chunks)),
          fail: reject,
        });
        wantMore();
      }),
    stream: () =>
      new ReadableStream<Uint8Array>(
        {
          start: (controller) =>
            begin({
              chunk: (bytes) => {
                controller.enqueue(bytes);
                return (controller.desiredSize ?? 0) > 0;
              },
              end: () => controller.close(),
              fail: (reason) => controller.error(reason),
            }),
          pull: wantMore,
          cancel: stop,
        },
        { highWaterMark: 0 },
      ),
  };
};
