/** Between two checks that changes ask for. */
const PAUSE_MS = 1000;

/** A check of an open stream: each `everyMs`, and `soon` after a change, then at most once a second. */
export interface Recheck {
  now(): void;
  soon(): void;
  stop(): void;
}

export const startRecheck = (everyMs: number, check: () => void): Recheck => {
  // Opening a stream is a check of its own.
  let askedAt = performance.now();
  let pause: NodeJS.Timeout | undefined;
  const now = (): void => {
    clearTimeout(pause);
    pause = undefined;
    askedAt = performance.now();
    check();
  };
  const timer = setInterval(now, everyMs).unref();
  return {
    now,
    soon: () => {
      pause ??= setTimeout(now, Math.max(0, askedAt + PAUSE_MS - performance.now())).unref();
    },
    stop: () => {
      clearInterval(timer);
      clearTimeout(pause);
    },
  };
};
