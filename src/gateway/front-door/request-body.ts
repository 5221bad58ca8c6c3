import type { IncomingMessage } from "node:http";
import { Problem } from "#contract/problem.ts";
import type { InboundBody } from "./inbound.ts";

/** A body may wait 10 s for free, then each KiB buys one more second. */
const FREE_MS = 10_000;
const BYTES_PER_SECOND = 1024;

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

/**
 * The body of a raw request, with back-pressure: nothing is read before somebody asks, and only as much as they take. Time
 * counts only while we wait for the client, never while the reader is busy.
 */
export const createRequestBody = (request: IncomingMessage, length: number | undefined, onFirstRead: () => void): RequestBody => {
  let failure: Problem | undefined;
  let sink: Sink | undefined;
  let waitedMs = 0;
  let received = 0;
  let since = 0;
  let timer: NodeJS.Timeout | undefined;
  let hasBegun = false;
  let isDone = false;
  let hasEnded = false;

  const stopClock = (): void => {
    if (timer === undefined) return;
    clearTimeout(timer);
    timer = undefined;
    waitedMs += performance.now() - since;
  };
  const fail = (reason: Problem): void => {
    if (isDone) return;
    isDone = true;
    failure = reason;
    stopClock();
    request.pause();
    sink?.fail(reason);
  };
  const startClock = (): void => {
    if (timer !== undefined) return;
    since = performance.now();
    const allowed = Math.max(FREE_MS + (received / BYTES_PER_SECOND) * 1000 - waitedMs, 1);
    timer = setTimeout(() => fail(new Problem("request_timeout", { detail: "The body arrives too slowly." })), allowed);
    timer.unref();
  };

  const begin = (target: Sink): void => {
    sink = target;
    if (failure !== undefined) {
      target.fail(failure);
      return;
    }
    request.pause();
    request.on("data", (chunk: Buffer) => {
      stopClock();
      received += chunk.byteLength;
      if (isDone) return;
      if (target.chunk(chunk)) startClock();
      else request.pause();
    });
    request.on("end", () => {
      stopClock();
      if (isDone) return;
      isDone = true;
      hasEnded = true;
      target.end();
    });
    request.on("error", (cause) => fail(new Problem("bad_framing", { cause })));
    request.on("close", () => {
      if (!isDone) fail(new Problem("bad_framing", { detail: "The connection closed inside the body." }));
    });
  };
  const wantMore = (): void => {
    if (!hasBegun) {
      hasBegun = true;
      onFirstRead();
    }
    if (isDone) return;
    startClock();
    request.resume();
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
