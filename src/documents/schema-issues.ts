import { Problem, type Fault } from "#contract/problem.ts";
import { TOO_MUCH_WORK, type SchemaCheck } from "./foreign-schema.ts";
import { createWorkThread, type WorkAsker } from "./work-thread.ts";

/** JSON, for a number that is stored as its text is no more than an object once it is copied to a thread. */
export interface SchemaQuestion {
  readonly schema: string;
  readonly text: string;
  readonly maxIssues?: number | undefined;
}

class Unfinished extends Error {}

export interface SchemaCaller extends WorkAsker {
  /** The value's JSON, where it was made. */
  readonly text?: string;
  /** As many issues as are looked for; 50 unless given. */
  readonly maxIssues?: number;
}

const thread = createWorkThread<SchemaQuestion, readonly Fault[]>({
  module: new URL("./schema-thread.ts", import.meta.url),
  name: "schemas",
  mostMs: 5000,
  heapMebibytes: 256,
  maxWaiting: 64,
  ended: (cause, why) => {
    if (why === "late" || why === "memory" || why === "cancelled") return new Unfinished(why, { cause });
    if (why === "full")
      return new Problem("overloaded", { detail: "Too many large values wait to be checked.", headers: { "retry-after": "5" } });
    return new Problem("internal", { detail: "The thread that checks values did not start, or failed.", cause });
  },
});

/**
 * The issues of a value by a schema: here as long as that takes about 5 ms by count, else in a thread, one tenant after the other; what takes
 * seconds there, too, is `TOO_MUCH_WORK`. Throws `overloaded` where too many of the tenant wait.
 */
export const schemaIssues = async (check: SchemaCheck, value: unknown, asker: SchemaCaller = {}): Promise<readonly Fault[]> => {
  const found = check(value, undefined, asker.maxIssues);
  if (found !== TOO_MUCH_WORK) return found;
  try {
    return await thread.ask({ schema: check.text, text: asker.text ?? JSON.stringify(value), maxIssues: asker.maxIssues }, asker);
  } catch (error) {
    if (error instanceof Unfinished) return TOO_MUCH_WORK;
    throw error;
  }
};
