export interface KeptAnswerRules {
  /** Milliseconds that an answer stands. */
  readonly goodMs: number;
  /** Milliseconds after a failure in which nobody asks again. */
  readonly failedMs: number;
  /** What is heard in that time: the last good answer, if there ever was one, or the failure. */
  readonly whileFailed: "last_answer" | "failure";
}

/**
 * An answer that anybody may have asked for, without a credential: whoever comes while one is fetched waits for that one, so
 * many callers at once ask upstream once. `now` in milliseconds. `ask` must end, or nobody is answered ever again.
 */
export const createKeptAnswer = <T>(ask: () => Promise<T>, rules: KeptAnswerRules, now: () => number): (() => Promise<T>) => {
  let under: Promise<T> | undefined;
  let kept: { readonly answer: Promise<T>; readonly until: number } | undefined;
  let good: Promise<T> | undefined;

  const fetch = async (): Promise<T> => {
    let answer: Promise<T>;
    let standsMs = rules.goodMs;
    try {
      answer = Promise.resolve(await ask());
      if (rules.whileFailed === "last_answer") good = answer;
    } catch (error) {
      answer = good ?? Promise.reject<T>(error as Error);
      // Whoever asks hears of it; nobody may.
      answer.catch(() => undefined);
      standsMs = rules.failedMs;
    }
    kept = { answer, until: now() + standsMs };
    return answer;
  };

  return () => {
    if (kept !== undefined && now() < kept.until) return kept.answer;
    under ??= fetch().finally(() => (under = undefined));
    return under;
  };
};
