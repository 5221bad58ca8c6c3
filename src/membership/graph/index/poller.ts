import { AsyncLocalStorage } from "node:async_hooks";

/** When something is looked at, and how much the last look is worth. */
export interface Poller {
  /** Somebody asks: looks go on for as long as that is not long ago. */
  asked(): void;
  /** One look at once, or one more behind the one that is under way. */
  hurry(): void;
  /** A look that was sent then has seen all that there was. */
  confirm(sent: number): void;
  /** No look that was sent before now counts. */
  doubt(): void;
  /** Whether the last look that counts was sent within the bound, by either clock: one stands still while a machine sleeps. */
  isFresh(): boolean;
  stalenessMs(): number;
  /** Waits for the look under way. */
  [Symbol.asyncDispose](): Promise<void>;
}

export interface PollerParts {
  readonly everyMs: number;
  readonly boundMs: number;
  readonly idleMs: number;
  readonly look: () => Promise<void>;
  /** Told of a look that failed otherwise than the one before. */
  readonly failed: (cause: unknown) => void;
}

/** Between two looks that fail one after the other. */
const MAX_MS = 5_000;

// A look belongs to no request, whatever was under way when it began.
const apart = AsyncLocalStorage.snapshot();

/** Looks while somebody asks, and at nothing while nobody does: an instance that stands idle does nothing. */
export const createPoller = (parts: PollerParts): Poller => {
  let timer: NodeJS.Timeout | undefined;
  let looking: Promise<void> | undefined;
  let isAgain = false;
  let isOver = false;
  let said: string | undefined;
  let failures = 0;
  let askedAt = Number.NEGATIVE_INFINITY;
  let doubtedAt = Number.NEGATIVE_INFINITY;
  let confirmed = Number.NEGATIVE_INFINITY;
  /** The wall clock then. */
  let confirmedWall = Number.NEGATIVE_INFINITY;

  const round = async (): Promise<void> => {
    clearTimeout(timer);
    timer = undefined;
    try {
      await parts.look();
      [said, failures] = [undefined, 0];
    } catch (cause) {
      if (!isOver && said !== String(cause)) parts.failed(cause);
      [said, failures] = [String(cause), failures + 1];
    }
    looking = undefined;
    if (isOver) return;
    const [wasAgain, wait] = [isAgain, Math.min(MAX_MS, parts.everyMs * 2 ** failures)];
    isAgain = false;
    if (wasAgain && failures === 0) begin();
    else if (wasAgain || performance.now() - askedAt < parts.idleMs) timer = setTimeout(begin, wait).unref();
  };
  const begin = (): void => {
    looking = apart(round);
  };
  const hurry = (): void => {
    if (isOver) return;
    if (looking !== undefined) isAgain = true;
    else if (failures === 0) begin();
  };
  const stalenessMs = (): number => Math.max(performance.now() - confirmed, Date.now() - confirmedWall);
  return {
    asked: () => {
      askedAt = performance.now();
      if (timer === undefined && looking === undefined && !isOver) begin();
    },
    hurry,
    confirm: (sent) => {
      if (sent < doubtedAt) return;
      confirmed = sent;
      confirmedWall = Date.now() - (performance.now() - sent);
    },
    doubt: () => {
      doubtedAt = performance.now();
      confirmed = Number.NEGATIVE_INFINITY;
      hurry();
    },
    isFresh: () => stalenessMs() <= parts.boundMs,
    stalenessMs,
    [Symbol.asyncDispose]: async () => {
      isOver = true;
      clearTimeout(timer);
      await looking;
    },
  };
};
