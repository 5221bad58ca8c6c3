import { Problem } from "#contract/problem.ts";

const MOST_CALLERS = 10_000;
const WINDOW_MS = 60_000;

/** Counts reads of values by caller; throws `rate_limited` (429) beyond the limit a minute. State is this process's. */
export const createValueReadLimit = (parts: { readonly perMinute: number; readonly now: () => Date }): ((caller: string) => void) => {
  const windows = new Map<string, { begins: number; reads: number }>();
  return (caller) => {
    const now = parts.now().getTime();
    let window = windows.get(caller);
    if (window === undefined || now - window.begins >= WINDOW_MS) {
      window = { begins: now, reads: 0 };
      windows.delete(caller);
      if (windows.size >= MOST_CALLERS) windows.delete(windows.keys().next().value ?? "");
      windows.set(caller, window);
    }
    if (++window.reads > parts.perMinute) {
      const wait = Math.max(1, Math.ceil((window.begins + WINDOW_MS - now) / 1000));
      throw new Problem("rate_limited", { headers: { "retry-after": String(wait) } });
    }
  };
};
