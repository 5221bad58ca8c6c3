import { Problem } from "#contract/problem.ts";
import type { Database } from "#store/database.ts";

/** Longest work of the server at one search; see `Statement`. */
export const searchTimeout = { timeoutMs: 10_000 } as const;

/** Without the index all texts are read. */
const SCAN_MS = 200;
/** The embedded database serves nobody else meanwhile, and breaks nothing off. */
const EMBEDDED_MS = 400;

/** Whether the index of trigrams finds the term: it needs three letters or digits in a row. */
export const isIndexed = (term: string): boolean => /[\p{L}\p{N}]{3}/u.test(term);

/** Milliseconds that a search for this term, or for none, has. */
export const searchMs = (kind: Database["kind"], term: string | undefined): number => {
  if (term !== undefined && !isIndexed(term)) return SCAN_MS;
  return kind === "pglite" ? EMBEDDED_MS : searchTimeout.timeoutMs;
};

/** For a condition that a search asks at each row: behind its time it takes none any more, and `requireInTime` hears of it. */
export const inTime = (ms: string): string => `(clock_timestamp() < statement_timestamp() + ${ms}::int * interval '1 millisecond')`;

export const tooBroad = (cause?: unknown): Problem => new Problem("narrow_the_search", { cause });

/** Throws `narrow_the_search` for rows of a search that had to stop. */
export const requireInTime = (rows: readonly { readonly late: boolean }[]): void => {
  if (rows.some(({ late }) => late)) throw tooBroad();
};

/** Does work one after the other. */
export type InTurn = <T>(work: () => Promise<T>) => Promise<T>;

/** Throws `busy` where so many are waiting already. */
export const createQueue = (max: number): InTurn => {
  let pending = 0;
  let last: Promise<unknown> = Promise.resolve();
  return async (work) => {
    if (pending > max) throw new Problem("busy", { detail: "Too many searches at once.", headers: { "retry-after": "1" } });
    pending += 1;
    const turn = last.then(work).finally(() => void (pending -= 1));
    last = turn.catch(() => undefined);
    return turn;
  };
};
