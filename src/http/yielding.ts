/** Asked between two pieces of work: `undefined` to go on, or what to wait for because others wait for their turn. */
export type Yield = () => Promise<void> | undefined;

interface Worker {
  /** Milliseconds that a slice of it takes. */
  readonly sliceMs: number;
}

/**
 * The event loop of the process: there is one, so all who work in slices share it. One slice a turn of the loop, whoever came first:
 * were each to have its own in the same turn, sockets and timers would wait for all of them together.
 */
const loop = (() => {
  const waiting: { readonly worker: Worker; readonly go: () => void }[] = [];
  /** Who works in this turn, and since when. */
  let working: { readonly worker: Worker; readonly since: number } | undefined;
  let isEnding = false;
  let isCalling = false;

  const begin = (worker: Worker): void => {
    working = { worker, since: performance.now() };
    if (isEnding) return;
    isEnding = true;
    setImmediate(() => {
      isEnding = false;
      working = undefined;
    });
  };
  // Two turns on: whoever stops here began in the middle of one, and the sockets are looked at in between.
  const call = (): void => {
    if (isCalling) return;
    isCalling = true;
    setImmediate(() =>
      setImmediate(() => {
        isCalling = false;
        const next = waiting.shift();
        if (next === undefined) return;
        begin(next.worker);
        if (waiting.length > 0) call();
        next.go();
      }),
    );
  };
  return {
    /** True while this one may go on. */
    mayWork: (worker: Worker): boolean => {
      if (working === undefined && waiting.length === 0) begin(worker);
      return working?.worker === worker && performance.now() - working.since < worker.sliceMs;
    },
    /** Resolves when it is this one's turn. */
    next: (worker: Worker): Promise<void> =>
      new Promise((go) => {
        waiting.push({ worker, go });
        call();
      }),
  };
})();

/**
 * Turns for others once a slice of so many milliseconds is over, or at once where others work already. To be asked between two pieces,
 * never where only one is left or there is only one: that one would wait for nobody's good. Asking costs about a tenth of a microsecond.
 */
export const createYielding = (sliceMs: number): Yield => {
  const worker: Worker = { sliceMs };
  return () => (loop.mayWork(worker) ? undefined : loop.next(worker));
};

/** Longest that a piece of one answer takes, milliseconds, where its steps allow it. */
const PIECE_MS = 8;

/**
 * The same for work that is mostly short: nobody is asked before it took a slice. Made where the work begins, after what it waited for.
 */
export const createYieldingOfLong = (sliceMs = PIECE_MS): Yield => {
  const began = performance.now();
  const turn = createYielding(sliceMs);
  return () => (performance.now() - began < sliceMs ? undefined : turn());
};

/** Work that stops between its pieces, with others' turns in between. */
export const yielding = async <T>(work: Generator<void, T>, turn: Yield): Promise<T> => {
  for (;;) {
    const { done, value } = work.next();
    if (done === true) return value;
    const others = turn();
    if (others !== undefined) await others;
  }
};

/** The same work without a stop: of what is known to be small. */
export const atOnce = <T>(work: Generator<void, T>): T => {
  for (;;) {
    const { done, value } = work.next();
    if (done === true) return value;
  }
};
