import { Problem } from "#contract/problem.ts";
import { createYielding, type Yield } from "#http/yielding.ts";

export interface GroupCommit<T> {
  /** Resolves when the row is committed; rejects with `decision_not_recorded` when it could not be in time, at once when too much waits. */
  commit(row: T): Promise<void>;
  /** Takes the row and writes it soon. Throws `decision_not_recorded` when what was taken before could not be written, or was lost. */
  defer(row: T): void;
  /** Resolves when all that was taken so far is written, or has failed. */
  flush(): Promise<void>;
  /** False while the last write failed, or something was lost that nobody was told of yet. */
  isWritable(): boolean;
  /** Writes what is left, once; then takes nothing more. */
  close(): Promise<void>;
}

export interface GroupCommitOptions<T, Made> {
  /**
   * What is written of a row. Made when its group is, so that nobody's answer waits for it who need not, and a slice of the
   * group at a time; within a large row it asks for turns itself. A row that it throws for is refused alone; one that nobody
   * waits for is lost: `lost` is told, and the next deferred one is refused.
   */
  readonly make: (row: T, turn: Yield) => Made | Promise<Made>;
  readonly lost: (cause: unknown) => void;
  /** One transaction for all of them. */
  readonly write: (rows: readonly Made[]) => Promise<void>;
  /** How long a committed row waits for company. */
  readonly windowMs: number;
  /** How long a deferred row may wait. */
  readonly deferMs: number;
  readonly maxRows: number;
  /** A commit that takes longer is refused. It leaves the queue; what is being written by then may still land. */
  readonly timeoutMs: number;
  /** Most that waits or is being written, by `weigh`; what comes beyond it is refused. */
  readonly maxWaiting: number;
  /** What a row counts for; 1 unless given. */
  readonly weigh?: (row: T) => number;
}

/** Between tries of what nobody waits for, while the store does not take it. */
const RETRY_MS = 500;

/** Milliseconds of making rows after which others have a turn. */
const SLICE_MS = 4;

interface Waiting<T, Made> {
  readonly row: T;
  readonly settle?: (error?: unknown) => void;
  /** Kept for the next try. */
  made?: { readonly row: Made };
}
type Ready<T, Made> = Waiting<T, Made> & Required<Pick<Waiting<T, Made>, "made">>;

/**
 * Writes rows of many callers in few transactions, in order, one transaction at a time: while one is under way the next one
 * fills up, so a slow store makes larger groups, not more of them.
 */
export const createGroupCommit = <T, Made = T>(options: GroupCommitOptions<T, Made>): GroupCommit<T> => {
  const weigh = options.weigh ?? (() => 1);
  let waiting = new Set<Waiting<T, Made>>();
  /** Of all that waits or is being written. */
  let weight = 0;
  let timer: NodeJS.Timeout | undefined;
  let due = Number.POSITIVE_INFINITY;
  let running: Promise<void> | undefined;
  let failed = false;
  let hasLost = false;
  let closed = false;

  const isFull = (row: T): boolean => weight > 0 && weight + weigh(row) > options.maxWaiting;
  const add = (one: Waiting<T, Made>): void => {
    waiting.add(one);
    weight += weigh(one.row);
  };
  const done = (group: readonly Waiting<T, Made>[]): void => {
    for (const { row } of group) weight -= weigh(row);
  };

  const schedule = (withinMs: number): void => {
    const at = performance.now() + withinMs;
    if (closed || running !== undefined || at >= due) return;
    clearTimeout(timer);
    due = at;
    timer = setTimeout(() => void run(), waiting.size >= options.maxRows ? 0 : withinMs);
  };

  const run = (): Promise<void> => {
    clearTimeout(timer);
    due = Number.POSITIVE_INFINITY;
    if (running !== undefined) return running;
    const all = [...waiting];
    const group = all.slice(0, options.maxRows);
    // Not emptied but made anew: the tables that an old set has outgrown hold what was in them until all memory is looked through.
    waiting = new Set(all.slice(options.maxRows));
    if (group.length === 0) return Promise.resolve();
    running = writeGroup(group).finally(() => {
      running = undefined;
      if (waiting.size > 0) schedule([...waiting].some((one) => one.settle !== undefined) ? 0 : failed ? RETRY_MS : options.deferMs);
    });
    return running;
  };

  /** Those of the group whose rows could be made. */
  const makeRows = async (group: readonly Waiting<T, Made>[]): Promise<readonly Ready<T, Made>[]> => {
    const ready: Ready<T, Made>[] = [];
    const turn = createYielding(SLICE_MS);
    for (const [index, one] of group.entries()) {
      try {
        if (one.made === undefined) {
          const row = options.make(one.row, turn);
          one.made = { row: row instanceof Promise ? await row : row };
        }
        ready.push(one as Ready<T, Made>);
      } catch (cause) {
        if (one.settle === undefined) {
          hasLost = true;
          options.lost(cause);
        } else one.settle(cause);
      }
      const others = index + 1 < group.length ? turn() : undefined;
      if (others !== undefined) await others;
    }
    return ready;
  };

  const writeGroup = async (taken: readonly Waiting<T, Made>[]): Promise<void> => {
    const group = await makeRows(taken);
    try {
      if (group.length === 0) return;
      await options.write(group.map(({ made }) => made.row));
      failed = false;
      for (const one of group) one.settle?.();
    } catch (error) {
      failed = true;
      for (const one of group) one.settle?.(error);
      // Nobody waits for these: they are tried again with the next group.
      const kept = group.filter((one) => one.settle === undefined);
      waiting = new Set([...kept, ...waiting]);
    } finally {
      done(taken.filter((one) => !waiting.has(one)));
    }
  };

  const commit: GroupCommit<T>["commit"] = (row) =>
    new Promise((resolve, reject) => {
      const refuse = (cause: unknown) => reject(new Problem("decision_not_recorded", { cause }));
      if (closed) return refuse("closed");
      if (isFull(row)) return refuse("too much waits");
      const limit = setTimeout(() => {
        if (waiting.delete(one)) done([one]);
        refuse("timeout");
      }, options.timeoutMs);
      const settle = (error?: unknown): void => {
        clearTimeout(limit);
        if (error === undefined) resolve();
        else refuse(error);
      };
      const one: Waiting<T, Made> = { row, settle };
      add(one);
      schedule(options.windowMs);
    });

  const flush = async (): Promise<void> => {
    if (running !== undefined) await running;
    while (waiting.size > 0) {
      await run();
      if (failed) return;
    }
  };

  return {
    commit,
    defer: (row) => {
      if (hasLost) {
        hasLost = false;
        throw new Problem("decision_not_recorded");
      }
      if (failed && waiting.size > 0) {
        schedule(0);
        throw new Problem("decision_not_recorded");
      }
      if (closed || isFull(row)) throw new Problem("decision_not_recorded");
      add({ row });
      schedule(options.deferMs);
    },
    flush,
    isWritable: () => !failed && !hasLost,
    close: async () => {
      closed = true;
      clearTimeout(timer);
      await flush();
    },
  };
};
