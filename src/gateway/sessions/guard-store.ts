import { Problem } from "#contract/problem.ts";

/** What the session store answers. Whatever it throws is `session_store_unavailable`: nobody is signed out by mistake. */
export const guardStore = async <T>(work: () => Promise<T>): Promise<T> => {
  try {
    return await work();
  } catch (cause) {
    throw new Problem("session_store_unavailable", { cause, headers: { "retry-after": "5" } });
  }
};
