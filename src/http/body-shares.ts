import { Problem } from "#contract/problem.ts";

/** A body of more than that is large: reading, checking and recording it costs the loop that everybody shares. */
export const LARGE_BODY_BYTES = 65_536;
const AT_ONCE = 2;
const MAX_WAITING = 16;

/** One request's claim to a place among its caller's large bodies; given back when it is answered. */
export interface BodyShare extends Disposable {
  /** Resolves when there is a place; a second time at once. Throws `rate_limited` when too many of this caller wait already. */
  take(): Promise<void>;
}

interface Places {
  held: number;
  readonly waiting: (() => void)[];
}

/**
 * Large bodies of each caller in this process: two are read and served at once, sixteen more wait unread, the rest is refused. Whoever
 * sends many at once waits for themselves; everybody else's turn comes after two at most.
 */
export const createBodyShares = (): ((caller: string) => BodyShare) => {
  const callers = new Map<string, Places>();
  const leave = (caller: string, places: Places): void => {
    const next = places.waiting.shift();
    if (next !== undefined) next();
    else if (--places.held === 0) callers.delete(caller);
  };
  const enter = async (caller: string): Promise<Places> => {
    const places = callers.get(caller) ?? { held: 0, waiting: [] };
    callers.set(caller, places);
    if (places.held < AT_ONCE) places.held += 1;
    else if (places.waiting.length < MAX_WAITING) await new Promise<void>((go) => places.waiting.push(go));
    else throw new Problem("rate_limited", { detail: "Too many large bodies of yours are under way.", headers: { "retry-after": "1" } });
    return places;
  };
  return (caller) => {
    let entered: Promise<Places> | undefined;
    return {
      take: async () => void (await (entered ??= enter(caller))),
      [Symbol.dispose]: () =>
        void entered?.then(
          (places) => leave(caller, places),
          () => undefined,
        ),
    };
  };
};

/** Kept at the request itself: a weak map of all requests costs each collection of young objects. */
const share = Symbol("share of large bodies");
type Shared = Request & { [share]?: BodyShare };

/** From now on a large body of this request wants a place. */
export const withShare = (request: Shared, wanted: BodyShare): void => {
  request[share] = wanted;
};

/** Waits for the place that a large body of this request wants, if it wants one. */
export const takeShare = async (request: Shared): Promise<void> => request[share]?.take();
