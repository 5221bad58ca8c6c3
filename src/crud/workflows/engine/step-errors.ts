import type { Problem } from "#contract/problem.ts";
import { ERROR_TYPES, type Retry, type TryStep } from "#crud/workflows/model/workflow-document.ts";
import type { StepError, WaitReason } from "./run-rows.ts";
import type { Expressions, Scope } from "./step-calls.ts";

type Kind = "authorization" | "communication" | "configuration" | "expression" | "runtime" | "timeout" | "validation";
const statuses: Readonly<Record<Kind, number>> = {
  authorization: 403,
  communication: 502,
  configuration: 400,
  expression: 400,
  runtime: 500,
  timeout: 408,
  validation: 400,
};

export const errorOf = (kind: Kind, detail: string, status = statuses[kind]): StepError => ({
  type: `${ERROR_TYPES}${kind}`,
  status,
  detail,
});

/** An error that a `try` may catch. */
export class StepFailure extends Error {
  readonly error: StepError;
  constructor(error: StepError, cause?: unknown) {
    super(error.detail ?? error.title ?? error.type, { cause });
    this.error = error;
  }
}

/** What an expression throws is an error of its step. */
export const evaluating = <T>(work: () => T): T => {
  try {
    return work();
  } catch (cause) {
    if (cause instanceof StepFailure) throw cause;
    throw new StepFailure(errorOf("expression", cause instanceof Error ? cause.message : "cannot be evaluated"), cause);
  }
};

const codes: Readonly<Record<string, Exclude<WaitReason, "retry" | "timer" | "human" | "unknown_outcome"> | "revoked" | "invalid">> = {
  step_up_required: "step_up",
  no_token_available: "reauth",
  steps_exhausted: "budget",
  budget_exhausted: "budget",
  rate_exceeded: "budget",
  rate_limited: "budget",
  call_limit_exceeded: "budget",
  outside_hours: "budget",
  delegation_required: "revoked",
  delegation_inactive: "revoked",
  delegation_ended: "revoked",
  invalid_arguments: "invalid",
  invalid_params: "invalid",
  mapping_error: "invalid",
};

/** Why a call may not be opened: what the step waits for, that its authority is gone, or that its arguments are wrong. */
export const refusalOf = (problem: Problem) => codes[problem.code] ?? (problem.status >= 500 ? "unavailable" : "denied");

export const validationError = (problem: Problem): StepError =>
  errorOf("validation", [problem.message, ...(problem.options.errors ?? []).map(({ path, message }) => `${path} ${message}`)].join("; "));

const OLD_TYPES = "https://serverlessworkflow.io/spec/1.0.0/errors/";
const typeOf = (type: string): string => (type.startsWith(OLD_TYPES) ? ERROR_TYPES + type.slice(OLD_TYPES.length) : type);

/** A `try` around a step, with the variables of its place. */
export interface Trying {
  readonly step: TryStep;
  readonly scope: Scope;
}

/** Whether a `catch` takes the error. A condition that cannot be evaluated takes none. */
export const catches = ({ step, scope }: Trying, error: StepError, { isTrue }: Expressions): boolean => {
  const { catch: rules } = step;
  const { type, ...wanted } = rules.errors ?? {};
  if (type !== undefined && typeOf(type) !== typeOf(error.type)) return false;
  if (Object.entries(wanted).some(([name, value]) => value !== undefined && error[name as keyof StepError] !== value)) return false;
  return holds(rules, { ...scope, [rules.as]: error }, isTrue);
};

const holds = (rules: Pick<Retry, "when" | "exceptWhen">, scope: Scope, isTrue: Expressions["isTrue"]): boolean => {
  try {
    return (rules.when === undefined || isTrue(rules.when, scope)) && (rules.exceptWhen === undefined || !isTrue(rules.exceptWhen, scope));
  } catch {
    return false;
  }
};

/** A step that failed: its error, how often one was taken before, and since when. */
export interface Tried {
  readonly error: StepError;
  readonly retries: number;
  readonly elapsedMs: number;
}

/** Milliseconds until the failed step runs again; undefined: it does not. */
export const retryDelay = ({ step, scope }: Trying, { error, retries, elapsedMs }: Tried, { isTrue }: Expressions): number | undefined => {
  const { retry, as } = step.catch;
  if (retry === undefined || retries + 1 >= retry.maxAttempts || !holds(retry, { ...scope, [as]: error }, isTrue)) return undefined;
  const { kind, factor, incrementMs } = retry.backoff;
  const { fromMs, toMs } = retry.jitter ?? { fromMs: 0, toMs: 0 };
  const base = kind === "exponential" ? retry.delayMs * factor ** retries : retry.delayMs + (kind === "linear" ? incrementMs * retries : 0);
  const delay = Math.min(base + fromMs + Math.random() * (toMs - fromMs), 365 * 86_400_000);
  return retry.maxDurationMs !== undefined && elapsedMs + delay > retry.maxDurationMs ? undefined : delay;
};
