import { createHash } from "node:crypto";
import { Problem } from "#contract/problem.ts";
import { answer, type Answer } from "#http/serve.ts";
import type { Answered } from "#membership/graph/graph-reader.ts";
import type { MembershipRoom } from "#membership/room.ts";

const MIN_VERSION = /^[0-9]{1,18}$/;

/** Versions are raised by one for each write; a reader that saw a write can ask not to be answered from before it. */
const requireVersion = (request: Request, version: bigint): void => {
  const least = request.headers.get("x-graph-min-version");
  if (least === null) return;
  if (!MIN_VERSION.test(least))
    throw new Problem("unprocessable", { errors: [{ path: "header.x-graph-min-version", message: "must be a version" }] });
  if (version < BigInt(least)) throw new Problem("graph_behind");
};

/**
 * A policy information answer: exactly the value as body; beside it the version it is true at, until when the clock alone
 * leaves it so, and a tag of its content, by which a caller asks again at no cost (304).
 */
export const pipAnswer = <T>(request: Request, answered: Answered<T>): Answer<T> => {
  requireVersion(request, answered.version);
  const etag = `"${createHash("sha256").update(JSON.stringify(answered.value)).digest("base64url")}"`;
  const held = (request.headers.get("if-none-match") ?? "").split(",").map((tag) => tag.trim().replace(/^W\//, ""));
  return answer(answered.value, {
    ...(held.includes(etag) || held.includes("*") ? { status: 304 } : {}),
    headers: {
      "x-graph-version": String(answered.version),
      "x-graph-source": "sql",
      ...(typeof answered.validUntil === "string" ? { "x-valid-until": answered.validUntil } : {}),
      etag,
      "cache-control": "private, no-cache",
      vary: "Authorization",
    },
  });
};

/** Counts and times one question, whatever becomes of it. */
export const observed = async <T>(room: MembershipRoom, endpoint: string, work: () => Promise<T>): Promise<T> => {
  const started = performance.now();
  let status = "200";
  try {
    return await room.tracing.span(`pip.${endpoint}`, {}, work);
  } catch (error) {
    status = String(error instanceof Problem ? error.status : 500);
    throw error;
  } finally {
    room.metrics.count("membership_pip_requests_total", { endpoint, source: "sql", status });
    room.metrics.observe("membership_pip_seconds", { endpoint, source: "sql" }, (performance.now() - started) / 1000);
  }
};
