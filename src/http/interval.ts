import { AsyncLocalStorage } from "node:async_hooks";

/** Work that comes round by itself until it is disposed of, which waits for the round under way. */
export interface Interval {
  /** Aborted when no further round comes: what takes long looks at it between its steps. */
  readonly signal: AbortSignal;
  [Symbol.asyncDispose](): Promise<void>;
}

export interface IntervalParts {
  readonly everyMs: number;
  readonly work: (signal: AbortSignal) => Promise<unknown>;
  /** Told of a round that failed otherwise than the one before. */
  readonly failed: (cause: unknown) => void;
}

/** Rounds of many processes do not meet: each waits a tenth more or less. */
const JITTER = 0.1;

// A round belongs to no request, whatever was under way when the loop began.
const apart = AsyncLocalStorage.snapshot();

/** A round begins `everyMs` after the one before has ended, and keeps no process alive. What fails time after time is told once. */
export const startInterval = ({ everyMs, work, failed }: IntervalParts): Interval => {
  const stop = new AbortController();
  let timer: NodeJS.Timeout | undefined;
  let running: Promise<void> = Promise.resolve();
  let said: string | undefined;
  const round = async (): Promise<void> => {
    try {
      await work(stop.signal);
      said = undefined;
    } catch (cause) {
      if (said !== String(cause)) failed(cause);
      said = String(cause);
    }
    next();
  };
  const next = (): void => {
    if (stop.signal.aborted) return;
    const wait = everyMs * (1 - JITTER + Math.random() * 2 * JITTER);
    timer = setTimeout(() => void (running = apart(round)), wait).unref();
  };
  next();
  return {
    signal: stop.signal,
    [Symbol.asyncDispose]: async () => {
      stop.abort();
      clearTimeout(timer);
      await running;
    },
  };
};
