import { issueOfJson } from "#contract/json-members.ts";
import { Problem } from "#contract/problem.ts";
import { parseStrictJson } from "#http/strict-json.ts";

/**
 * A body as the decision point reads it: what has no canonical form is bad input of the protocol (`invalid_request`). A batch alone goes
 * on with it, so that each of its items is answered for itself (`parse-ask.ts`).
 */
export const parsePdpBody = (bytes: Uint8Array, members: number | undefined): unknown => {
  const value = parseStrictJson(bytes, { depth: 64, keepsUnfit: true, members });
  if (typeof value === "object" && value !== null && "evaluations" in value) return value;
  const message = issueOfJson(value);
  if (message !== undefined) throw new Problem("invalid_request", { errors: [{ path: "/", message }] });
  return value;
};
