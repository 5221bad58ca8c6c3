import { isRequestId, requestIdIssue } from "#contract/ids.ts";
import { Problem } from "#contract/problem.ts";
import type { Answer } from "#gateway/model/answer.ts";
import type { Inbound } from "#gateway/model/inbound.ts";

/** The request's own id, to be passed on. Throws `invalid_request`. */
export const parseRequestId = (inbound: Inbound): string | undefined => {
  const id = inbound.headers.get("x-request-id");
  if (id === undefined || isRequestId(id)) return id;
  throw new Problem("invalid_request", { errors: [requestIdIssue] });
};

const isAuthzen = (path: string): boolean =>
  path.startsWith("/access/v1/") || path.startsWith("/api/pdp/") || path === "/.well-known/authzen-configuration";

/** Gives `X-Request-ID` back unchanged on every answer of an AuthZEN path, whatever part answered. */
export const echoRequestId = (inbound: Inbound, answer: Answer): Answer => {
  const id = inbound.headers.get("x-request-id");
  if (id !== undefined && isRequestId(id) && isAuthzen(inbound.target.path)) answer.headers.set("x-request-id", id);
  return answer;
};
