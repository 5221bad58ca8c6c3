import { Problem } from "#contract/problem.ts";

/** Keeps calls from a decision point that does not answer, so that whoever waits for it is told at once. */
export interface PointBreaker {
  /** Throws `pdp_unavailable` while it is open. */
  guard(): void;
  /** What became of an attempt. */
  note(answered: boolean): void;
  /** The attempt ended without saying anything of the decision point. */
  release(): void;
}

const KEPT = 10;
const FAILURES = 5;
const WITHIN_MS = 10_000;
const OPEN_MS = 5_000;

/** Opens for 5 s on 5 failures among the last 10 attempts within 10 s; then one call tries, and its outcome decides. */
export const createPointBreaker = (now: () => Date): PointBreaker => {
  let outcomes: { readonly at: number; readonly answered: boolean }[] = [];
  let openUntil: number | undefined;
  let isTrying = false;

  const open = (at: number): void => {
    openUntil = at + OPEN_MS;
    outcomes = [];
    isTrying = false;
  };
  return {
    guard: () => {
      if (openUntil === undefined) return;
      if (now().getTime() < openUntil || isTrying)
        throw new Problem("pdp_unavailable", { cause: "the breaker is open", headers: { "retry-after": "1" } });
      isTrying = true;
    },
    release: () => {
      isTrying = false;
    },
    note: (answered) => {
      const at = now().getTime();
      if (openUntil !== undefined) {
        if (!answered) open(at);
        // What was under way before it opened says nothing of now; only the trial closes it.
        else if (isTrying) {
          openUntil = undefined;
          isTrying = false;
        }
        return;
      }
      outcomes = [...outcomes.filter((outcome) => outcome.at > at - WITHIN_MS), { at, answered }].slice(-KEPT);
      if (outcomes.filter((outcome) => !outcome.answered).length >= FAILURES) open(at);
    },
  };
};
