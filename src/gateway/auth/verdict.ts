import { Problem, type ProblemCode } from "#contract/problem.ts";
import { problemDetails } from "#contract/problem-details.ts";
import { asProblem } from "#http/problem-body.ts";

/** Besides 200, all that servers know of an answer to "may this pass?". nginx makes 500 for the visitor of anything else. */
const verdicts: ReadonlySet<number> = new Set([400, 401, 403, 503]);

/**
 * Any issue on the way to a verdict as one of the answers that there are: what Sallyport cannot do now is 503, whatever
 * else stands against the request is 403. `reason` says what it was.
 */
export const verifyVerdictOf = (error: unknown): Problem => {
  const problem = asProblem(error);
  if (verdicts.has(problem.status)) return problem;
  const isOurs = problem.status >= 500;
  const code: ProblemCode = isOurs ? "decision_unavailable" : problem.status === 429 ? "overloaded" : "access_denied";
  const { allow: _methodsOfNobody, ...headers } = problem.options.headers ?? {};
  return new Problem(code, {
    detail: problem.options.detail ?? problemDetails[problem.code],
    members: { ...problem.options.members, reason: problem.code },
    headers,
    // What went wrong here is logged; what a client did is no issue of Sallyport.
    cause: isOurs ? (problem.options.cause ?? problem) : undefined,
  });
};
