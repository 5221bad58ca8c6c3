import type { Problem } from "#contract/problem.ts";
import { problemBody, problemResponse } from "./problem-body.ts";
import { TextResponse } from "./text-response.ts";

/** Where directories push users and groups. */
export const SCIM_PREFIX = "/scim/v2";
/** Also of a path with empty segments, which is refused. */
export const isScimPath = (path: string): boolean => /^\/+scim\/+v2(?:\/|$)/.test(path);

/** An Error message of RFC 7644, 3.12. */
export const scimErrorBody = (status: number, detail: string, scimType?: string): object => ({
  schemas: ["urn:ietf:params:scim:api:messages:2.0:Error"],
  status: String(status),
  ...(scimType === undefined ? {} : { scimType }),
  detail,
});

/** The answer of a refusal to a client of SCIM, with the headers that any refusal has. */
export const scimRefusal = (problem: Problem, correlationId: string): Response => {
  const { headers } = problemResponse(problem, correlationId);
  headers.set("content-type", "application/scim+json");
  const { detail, title } = problemBody(problem, correlationId);
  return new TextResponse(JSON.stringify(scimErrorBody(problem.status, detail ?? title)), { status: problem.status, headers });
};
