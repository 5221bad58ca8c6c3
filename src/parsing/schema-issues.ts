import { Problem, type Issue } from "#contract/problem.ts";
import { TOO_MUCH_WORK, type SchemaCheck } from "./foreign-schema.ts";
import type { Place } from "./schema-rules.ts";
import { createWorkThread, type WorkCaller } from "./work-thread.ts";

/** JSON, for a number that is stored as its text is no more than an object once it is copied to a thread. */
export interface SchemaQuestion {
  readonly schema: string;
  readonly text: string;
  readonly isPlaced: boolean;
}
export interface SchemaAnswer {
  readonly issues: readonly Issue[];
  readonly integers: readonly Place[] | undefined;
}

class Unfinished extends Error {}

export interface SchemaCaller extends WorkCaller {
  /** The value's JSON, where it was made. */
  readonly text?: string;
  /** Filled with the places of texts where an integer may be. */
  readonly integers?: Place[];
}

const thread = createWorkThread<SchemaQuestion, SchemaAnswer>({
  module: new URL("./schema-thread.ts", import.meta.url),
  name: "schemas",
  maxMs: 5000,
  heapMebibytes: 256,
  threads: 2,
  maxWaiting: 64,
  ended: (cause, why) => {
    if (why === "late" || why === "memory" || why === "cancelled") return new Unfinished(why, { cause });
    if (why === "full")
      return new Problem("overloaded", { detail: "Too many large values wait to be checked.", headers: { "retry-after": "5" } });
    return new Problem("internal", { detail: "The thread that checks values did not start, or failed.", cause });
  },
});

/**
 * The issues of a value by a schema: here as long as that takes about 5 ms by count, else in one of two threads, of
 * which a tenant has one at a time; what takes more than about a second there, too, is `TOO_MUCH_WORK`. Throws
 * `overloaded` where too many of the tenant wait.
 */
export const schemaIssues = async (check: SchemaCheck, value: unknown, caller: SchemaCaller = {}): Promise<readonly Issue[]> => {
  const { integers } = caller;
  const found = check(value, undefined, integers);
  if (found !== TOO_MUCH_WORK) return found;
  try {
    const question = { schema: check.text, text: caller.text ?? JSON.stringify(value), isPlaced: integers !== undefined };
    const answer = await thread.ask(question, caller);
    for (const place of answer.integers ?? []) integers?.push(place);
    return answer.issues;
  } catch (error) {
    if (error instanceof Unfinished) return TOO_MUCH_WORK;
    throw error;
  }
};
