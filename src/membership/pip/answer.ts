import { hash } from "node:crypto";
import { graphVersionText } from "#contract/membership.ts";
import { Problem } from "#contract/problem.ts";
import { namesState, tagsOf } from "#http/entity-tags.ts";
import { answer, type Answer } from "#http/serve.ts";
import type { Answered, GraphReader } from "#membership/graph/graph-reader.ts";
import type { MembershipContext } from "#membership/context/context.ts";

const minVersionOf = (request: Request): bigint | undefined => {
  const least = request.headers.get("x-graph-min-version");
  if (least === null) return undefined;
  if (!graphVersionText.safeParse(least).success)
    throw new Problem("unprocessable", { errors: [{ path: "header.x-graph-min-version", message: "must be a version" }] });
  return BigInt(least);
};

/** Versions are raised by one for each write; a reader that saw a write can ask not to be answered from before it. Throws `graph_behind`. */
export const askAtLeast = async <T>(
  request: Request,
  reader: GraphReader,
  question: (reader: GraphReader) => Promise<Answered<T>>,
): Promise<Answered<T>> => {
  const least = minVersionOf(request);
  const answered = await question(least === undefined ? reader : await reader.since(least));
  if (least !== undefined && answered.version < least) throw new Problem("graph_behind");
  return answered;
};

/** Headers that say which version an answer is of, and where it was read. */
export const originOf = ({ version, source }: Pick<Answered<unknown>, "version" | "source">): Record<string, string> => ({
  "x-graph-version": String(version),
  "x-graph-source": source ?? "sql",
});

/**
 * A policy information answer: exactly the value as body; beside it the version it is true at, until when the clock alone
 * leaves it so, and a tag of its content, by which a caller asks again at no cost (304).
 */
export const pipAnswer = <T>(request: Request, answered: Answered<T>): Answer<T> => {
  const text = JSON.stringify(answered.value);
  const etag = `"${hash("sha256", text, "base64url")}"`;
  return answer(answered.value, {
    text,
    ...(namesState(tagsOf(request.headers, "if-none-match"), etag) ? { status: 304 } : {}),
    headers: {
      ...originOf(answered),
      ...(typeof answered.validUntil === "string" ? { "x-valid-until": answered.validUntil } : {}),
      etag,
      "cache-control": "private, no-cache",
      vary: "Authorization",
    },
  });
};

/** Tells what an answer was read from, and gives it back. */
type Note = <A extends Pick<Answered<unknown>, "source">>(answered: A) => A;

/** Neither the graph in memory nor the database answers. */
const refusalOf = (error: unknown): unknown =>
  error instanceof Problem && error.code === "store_unavailable"
    ? new Problem("graph_unavailable", { cause: error, headers: { "retry-after": "1" } })
    : error;

/** Counts and times one question, whatever becomes of it. Throws `graph_unavailable`. */
export const observed = async <T>(context: MembershipContext, endpoint: string, work: (note: Note) => Promise<T>): Promise<T> => {
  const started = performance.now();
  let status = "200";
  let source: "index" | "sql" = "sql";
  const note: Note = (answered) => {
    source = answered.source ?? "sql";
    return answered;
  };
  try {
    return await context.tracing.span(`pip.${endpoint}`, {}, () => work(note));
  } catch (error) {
    status = String(error instanceof Problem ? error.status : 500);
    throw refusalOf(error);
  } finally {
    context.metrics.count("membership_pip_requests_total", { endpoint, source, status });
    context.metrics.observe("membership_pip_seconds", { endpoint, source }, (performance.now() - started) / 1000);
  }
};
