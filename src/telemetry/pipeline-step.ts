import type { ProblemCode } from "#contract/problem.ts";

/** One step of a pipeline, as its module runs it and `docs/explanation/pipelines.md` shows it. */
export interface PipelineStep {
  /** Its span in a trace; absent: part of the span before it. */
  readonly span?: string;
  /** The function, as the pipeline's code names it. */
  readonly call: string;
  /** Below `src/`: the file of that function. */
  readonly file: string;
  /** One sentence without its subject, for the table. */
  readonly does: string;
  /** It runs in place of the step before it. */
  readonly isAlternative?: true;
  /** The usual codes by which it refuses. */
  readonly refuses?: readonly ProblemCode[];
}
