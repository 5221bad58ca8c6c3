import type { Problem } from "#contract/problem.ts";

/**
 * What a failed call did at its upstream, as far as is known: `not_sent` nothing left the house; `failed` the upstream
 * did not do it; `done` it did, but its answer is of no use; `unknown` it was sent, and what came of it cannot be told.
 */
export type Effect = "not_sent" | "failed" | "done" | "unknown";

export class UpstreamFault extends Error {
  override readonly name = "UpstreamFault";
  readonly problem: Problem;
  readonly effect: Effect;
  readonly status: number | undefined;
  /** What the upstream asked for before the next try, milliseconds. */
  readonly retryAfterMs: number | undefined;
  /** Another try would be answered alike. */
  readonly isFinal: boolean;

  constructor(
    problem: Problem,
    effect: Effect,
    more: { readonly status?: number; readonly retryAfterMs?: number | undefined; readonly isFinal?: boolean } = {},
  ) {
    super(problem.message, { cause: problem });
    this.problem = problem;
    this.effect = effect;
    this.status = more.status;
    this.retryAfterMs = more.retryAfterMs;
    this.isFinal = more.isFinal ?? false;
  }
}
