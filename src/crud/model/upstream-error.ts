import { Problem } from "#contract/problem.ts";

/**
 * What a failed call did at its upstream, as far as is known: `not_sent` nothing left Sallyport; `failed` the upstream
 * did not do it; `done` it did, but its answer is of no use; `unknown` it was sent, and what came of it cannot be told.
 */
export type Effect = "not_sent" | "failed" | "done" | "unknown";

type UsedSecrets = readonly Readonly<Record<string, unknown>>[];

export class UpstreamError extends Error {
  override readonly name = "UpstreamError";
  readonly problem: Problem;
  readonly effect: Effect;
  readonly status: number | undefined;
  /** What the upstream asked for before the next try, milliseconds. */
  readonly retryAfterMs: number | undefined;
  /** Another try would be answered alike. */
  readonly isFinal: boolean;
  /** Credentials that were read for the call, for its record; absent where it is not known. */
  readonly secrets: UsedSecrets | undefined;

  constructor(
    problem: Problem,
    effect: Effect,
    more: {
      readonly status?: number | undefined;
      readonly retryAfterMs?: number | undefined;
      readonly isFinal?: boolean;
      readonly secrets?: UsedSecrets | undefined;
    } = {},
  ) {
    super(problem.message, { cause: problem });
    this.problem = problem;
    this.effect = effect;
    this.status = more.status;
    this.retryAfterMs = more.retryAfterMs;
    this.isFinal = more.isFinal ?? false;
    this.secrets = more.secrets;
  }
}

/**
 * An answer that is not read, because others of the tenant, or of all tenants, take all the memory that they may. A read may be tried again. What acts is
 * done, and must not look as if it could be. The status shows that the upstream is well.
 */
export const beyondShare = (isReadOnly: boolean, status?: number): UpstreamError => {
  const detail = "Too many bytes of answers of your tenant, or of all tenants, are in use now.";
  return isReadOnly
    ? new UpstreamError(new Problem("overloaded", { detail, headers: { "retry-after": "1" } }), "failed", { status })
    : new UpstreamError(new Problem("output_too_large", { detail: `${detail} The operation is done.` }), "done", { status, isFinal: true });
};

/** The problem of a call that was opened and then failed, with what is known of that. */
export class FailedCall extends Problem {
  /** What the upstream answered, where it did. */
  readonly upstreamStatus: number | undefined;
  /** Nothing was done, and another try may be answered otherwise. */
  readonly isRetryable: boolean;
  readonly costMicro: bigint;
  /** The record of the call could not be closed yet. */
  readonly isAuditPending: boolean;

  constructor(problem: Problem, failure: UpstreamError, closed: { readonly costMicro: bigint; readonly isAuditPending: boolean }) {
    super(problem.code, problem.options);
    this.upstreamStatus = failure.status;
    this.isRetryable = !failure.isFinal && (failure.effect === "not_sent" || failure.effect === "failed");
    this.costMicro = closed.costMicro;
    this.isAuditPending = closed.isAuditPending;
  }
}

/**
 * What is heard of a row that is not there, and of one that is another's: the same answer at the same price, with no status of
 * the upstream on record, or either would tell which of the two it was.
 */
export const absentRow = (): UpstreamError => new UpstreamError(new Problem("not_found"), "failed", { isFinal: true });
