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

/**
 * The body of a raw request as a stream with back-pressure: nothing is read before somebody asks, and only as much as
 * they take. Time counts only while we wait for the client, never while the reader is busy.
 */
export const createRequestBody = (request: IncomingMessage, length: number | undefined, onFirstRead: () => void): RequestBody => {
  let failure: Problem | undefined;
  let controller: ReadableStreamDefaultController<Uint8Array> | undefined;
  let waitedMs = 0;
  let received = 0;
  let since = 0;
  let timer: NodeJS.Timeout | undefined;
  let hasBegun = false;
  let isDone = false;
  let isAsked = false;
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
    controller?.error(reason);
  };
  const startClock = (): void => {
    if (timer !== undefined) return;
    since = performance.now();
    const allowed = Math.max(FREE_MS + (received / BYTES_PER_SECOND) * 1000 - waitedMs, 1);
    timer = setTimeout(() => fail(new Problem("request_timeout", { detail: "The body arrives too slowly." })), allowed);
    timer.unref();
  };

  const start = (target: ReadableStreamDefaultController<Uint8Array>): void => {
    controller = target;
    if (failure !== undefined) {
      target.error(failure);
      return;
    }
    request.pause();
    request.on("data", (chunk: Buffer) => {
      stopClock();
      received += chunk.byteLength;
      if (isDone) return;
      target.enqueue(chunk);
      if ((target.desiredSize ?? 0) > 0) startClock();
      else request.pause();
    });
    request.on("end", () => {
      stopClock();
      if (isDone) return;
      isDone = true;
      hasEnded = true;
      target.close();
    });
    request.on("error", (cause) => fail(new Problem("bad_framing", { cause })));
    request.on("close", () => fail(new Problem("bad_framing", { detail: "The connection closed inside the body." })));
  };

  return {
    length,
    fail,
    failure: () => failure,
    isSettled: () => hasEnded || (!isAsked && request.complete),
    stream: () => {
      isAsked = true;
      return new ReadableStream<Uint8Array>(
        {
          start,
          pull: () => {
            if (!hasBegun) {
              hasBegun = true;
              onFirstRead();
            }
            if (isDone) return;
            startClock();
            request.resume();
          },
          cancel: () => {
            isDone = true;
            stopClock();
            request.pause();
          },
        },
        { highWaterMark: 0 },
      );
    },
  };
};
