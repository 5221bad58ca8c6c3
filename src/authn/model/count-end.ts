import { Problem } from "#contract/problem.ts";

/** Does the work and counts how it ended: `ok`, a refusal by its code, anything else as `error`. */
export const countEnd = async <T>(count: (status: string) => void, work: () => Promise<T>): Promise<T> => {
  try {
    const done = await work();
    count("ok");
    return done;
  } catch (error) {
    count(error instanceof Problem ? error.code : "error");
    throw error;
  }
};
