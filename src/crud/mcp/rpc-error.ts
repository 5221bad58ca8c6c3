import { rpcCodes, type rpcStatuses, type RpcErrorData } from "#contract/json-rpc.ts";
import type { StepUp } from "#contract/step-up.ts";
import type { Problem } from "#contract/problem.ts";

/** Members of a problem that a client of the tool protocol may see. Reason and remedy are for the decision's own page. */
const shown = ["call_id", "decision_id", "access_request"] as const;

/** Where and how strongly to sign in before the call is repeated, in the tool protocol's names. */
const stepUpOf = (problem: Problem): Pick<RpcErrorData, "step_up"> => {
  const asked = problem.options.members?.["step_up"] as StepUp | undefined;
  return asked === undefined ? {} : { step_up: { level: asked.acr_value, max_age_s: asked.max_age_seconds, url: asked.url } };
};

const retryAfter = (problem: Problem): number | undefined => {
  const seconds = Number(problem.options.headers?.["retry-after"]);
  if (Number.isInteger(seconds) && seconds > 0) return seconds;
  return problem.status === 503 || problem.status === 429 ? 1 : undefined;
};

/** `data` of an error, in both dialects. */
export const errorData = (problem: Problem, correlationId: string): RpcErrorData => {
  const seconds = retryAfter(problem);
  return {
    ...Object.fromEntries(
      shown.flatMap((name) => (problem.options.members?.[name] === undefined ? [] : [[name, problem.options.members[name]]])),
    ),
    ...stepUpOf(problem),
    code: problem.code,
    correlation_id: correlationId,
    retry_after_s: seconds,
    ...(problem.options.errors === undefined ? {} : { errors: problem.options.errors.map((issue) => ({ ...issue })) }),
  };
};

/** What a person reads of it; for failures of an upstream with what it said. */
export const messageOf = (problem: Problem): string =>
  problem.options.detail === undefined ? problem.title : `${problem.title}: ${problem.options.detail}`;

export const isRefusal = (problem: Problem): boolean => problem.rpcCode === rpcCodes.refused;

/** HTTP status of the contract's dialect: an error is a 200, but for want of a part of Sallyport, of room, or of a scope. */
export const contractStatus = (problem: Problem): 200 | (typeof rpcStatuses)[number] => {
  if (problem.fails === "internal") return 503;
  if (problem.code === "rate_limited" || problem.code === "overloaded") return 429;
  if (problem.code === "insufficient_scope" || problem.code === "unknown_client") return 403;
  if (problem.code === "too_large" || problem.code === "body_too_large") return 413;
  if (problem.code === "unsupported_media_type") return 415;
  return problem.rpcCode === rpcCodes.parse || problem.code === "duplicate_member" ? 400 : 200;
};
