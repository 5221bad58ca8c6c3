import { ServerSilent } from "./sql-error.ts";

/** How long one piece of work waits for a server, over all that it asks of it. */
export interface Deadline {
  /** Milliseconds for the next answer, at least 1: what is left, and never more than `most`. */
  left(max: number): number;
  /** Waits for what may come too late; `late` gets it then. Throws `ServerSilent`. */
  waitFor<T>(wanted: Promise<T>, late: (value: T) => void): Promise<T>;
}

const endless: Deadline = { left: (max) => max, waitFor: (wanted) => wanted };

/** Begins now; without a time it waits as long as each answer may take. */
export const createDeadline = (withinMs: number | undefined): Deadline => {
  if (withinMs === undefined) return endless;
  const until = performance.now() + withinMs;
  const left: Deadline["left"] = (max) => Math.max(1, Math.min(max, Math.ceil(until - performance.now())));
  return {
    left,
    waitFor: (wanted, late) =>
      new Promise((resolve, reject) => {
        let isOver = false;
        const timer = setTimeout(() => {
          isOver = true;
          reject(new ServerSilent(`no connection in ${withinMs} ms`));
        }, left(withinMs));
        wanted.then(
          (value) => {
            clearTimeout(timer);
            if (isOver) late(value);
            else resolve(value);
          },
          (error: unknown) => {
            clearTimeout(timer);
            reject(error as Error);
          },
        );
      }),
  };
};
