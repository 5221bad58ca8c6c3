import type { IncomingMessage } from "node:http";
import type { ListenerLimits } from "./listener-limits.ts";

const BYTES_PER_SECOND = 1024;
/** Looks in the free time. */
const LOOKS = 10;

/**
 * Watches a body arrive, whoever reads it, and calls `tooSlow` once where it keeps us waiting for longer than it may. Time in which its
 * buffer is full is the reader's, not the client's. The returned function ends the watch; so does the end of the body.
 */
export const watchBody = (
  request: IncomingMessage,
  { bodyFreeMs }: Pick<ListenerLimits, "bodyFreeMs">,
  tooSlow: () => void,
): (() => void) => {
  const before = request.socket.bytesRead;
  const everyMs = bodyFreeMs / LOOKS;
  let waitedMs = 0;
  let timer: NodeJS.Timeout | undefined;
  let isOver = false;
  const stop = (): void => {
    isOver = true;
    clearInterval(timer);
  };
  const look = (): void => {
    if (request.complete || request.destroyed) {
      stop();
      return;
    }
    if (request.readableLength >= request.readableHighWaterMark) return;
    waitedMs += everyMs;
    if (waitedMs < bodyFreeMs + ((request.socket.bytesRead - before) / BYTES_PER_SECOND) * 1000) return;
    stop();
    tooSlow();
  };
  // Most bodies come in one piece with their head: what is whole by the next tick needs no clock.
  process.nextTick(() => {
    if (!isOver && !request.complete) timer = setInterval(look, everyMs).unref();
  });
  return stop;
};

export const hasBody = ({ headers }: IncomingMessage): boolean =>
  headers["transfer-encoding"] !== undefined || (headers["content-length"] ?? "0") !== "0";
