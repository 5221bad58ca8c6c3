import { Problem, standardMembers, type ProblemBody } from "#contract/problem.ts";
import { problemDetails } from "#contract/problem-details.ts";
import { TextResponse } from "./text-response.ts";

const isStandard: ReadonlySet<string> = new Set(standardMembers);

/** RFC 9457 body of a problem. What a problem says of its own never takes the place of a standard member. */
export const problemBody = (problem: Problem, correlationId: string): ProblemBody => {
  const { type, detail, errors, members = {} } = problem.options;
  return {
    type: type ?? `urn:sallyport:problem:${problem.code}`,
    title: problem.title,
    status: problem.status,
    detail: detail ?? problemDetails[problem.code],
    code: problem.code,
    correlation_id: correlationId,
    errors,
    ...Object.fromEntries(Object.entries(members).filter(([name]) => !isStandard.has(name))),
  };
};

/** What a decision point of somebody else calls its decisions may be anything; only what a header can hold becomes one. */
export const isHeaderText = (value: unknown): value is string => typeof value === "string" && /^[\x21-\x7e]{1,256}$/.test(value);

/** The answer of a refusal: problem+json, never cached, with what its status demands (Retry-After of 429 and 503). */
export const problemResponse = (problem: Problem, correlationId: string): Response => {
  const headers = new Headers({
    "content-type": "application/problem+json",
    "cache-control": "no-store",
    "x-correlation-id": correlationId,
    "x-content-type-options": "nosniff",
    ...problem.options.headers,
  });
  if ((problem.status === 503 || problem.status === 429) && !headers.has("retry-after")) headers.set("retry-after", "1");
  if (problem.status === 401 && !headers.has("www-authenticate")) headers.set("www-authenticate", "Bearer");
  const decisionId = problem.options.members?.["decision_id"];
  if (isHeaderText(decisionId) && !headers.has("x-decision-id")) headers.set("x-decision-id", decisionId);
  return new TextResponse(JSON.stringify(problemBody(problem, correlationId)), { status: problem.status, headers });
};

/** How a refusal is logged; undefined: it is not. That a part cannot do something (501) is documented: nobody has to look at it. */
export const logLevelOf = (status: number): "error" | "info" | undefined => (status < 500 ? undefined : status === 501 ? "info" : "error");

/** Anything thrown, as a `Problem`; what is not one is `internal`, and its text stays inside. */
export const asProblem = (error: unknown): Problem => (error instanceof Problem ? error : new Problem("internal", { cause: error }));
