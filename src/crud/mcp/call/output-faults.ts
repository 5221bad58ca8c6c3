import { Problem, type Fault } from "#contract/problem.ts";
import { createWorkThread } from "#documents/work-thread.ts";
import type { Tool } from "#crud/mcp/tool.ts";

export interface OutputQuestion {
  readonly schema: Readonly<Record<string, unknown>>;
  /** JSON. */
  readonly text: string;
}

/** An answer of so many characters is held against its schema within some ten milliseconds. */
const SMALL = 131_072;

const thread = createWorkThread<OutputQuestion, readonly Fault[]>({
  module: new URL("./output-thread.ts", import.meta.url),
  name: "outputs",
  mostMs: 10_000,
  ended: (cause) => new Problem("output_invalid", { detail: "The answer could not be held against the schema.", cause }),
});

/** What is wrong with an answer by the schema that the tool promises: small ones are looked at here, large ones in a thread. Throws `output_invalid`. */
export const outputFaults = async ({ rules, definition }: Tool, value: unknown, text: string): Promise<readonly Fault[]> => {
  if (rules.checkOutput === undefined || definition.outputSchema === undefined) return [];
  return text.length <= SMALL ? rules.checkOutput(value) : thread.ask({ schema: definition.outputSchema, text });
};
