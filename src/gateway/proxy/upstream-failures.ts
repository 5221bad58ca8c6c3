import { Problem, type ProblemCode } from "#contract/problem.ts";
import { untrustedCode } from "#http/trusting-fetch.ts";
import { ExchangeFailure } from "./exchange.ts";
import type { UpstreamCall } from "./upstream.ts";

const malformed = /^(?:HPE_|UND_ERR_(?:RESPONSE|RES_|HEADERS_OVERFLOW))/;
const repeatable: ReadonlySet<string> = new Set(["GET", "HEAD", "OPTIONS"]);

/** The time that the caller gave was shorter than the row's: that it ran out says nothing of the upstream. */
export const hurried = new Error("the caller's own deadline");
/** Nobody was asked: there was no place. */
export const saturated = new Error("no place in time");

/** Whether sending it twice does what sending it once does. */
export const isRepeatable = (call: Pick<UpstreamCall, "method" | "retry">): boolean =>
  call.retry === "idempotent" || repeatable.has(call.method);

/** What a failed exchange is called towards the client. Anything but an `ExchangeFailure` stays what it is. */
export const problemOfFailure = (failure: unknown, call: UpstreamCall): unknown => {
  if (!(failure instanceof ExchangeFailure)) return failure;
  const { cause } = failure;
  if (cause instanceof Problem) return cause;
  const { code: given, name } = cause as { code?: unknown; name?: unknown };
  const code = typeof given === "string" ? given : "";
  if (untrustedCode(cause) !== undefined && !failure.wasAnswered) return new Problem("upstream_tls_failed", { cause });
  if (!failure.wasSent) return new Problem("upstream_unavailable", { cause });
  if (malformed.test(code) || name === "HTTPParserError" || cause instanceof TypeError)
    return new Problem("upstream_bad_response", { cause });
  // It was sent and nobody knows what became of it; whoever asked again could do it twice.
  return new Problem(isRepeatable(call) ? "upstream_error" : "upstream_outcome_unknown", { cause });
};

const absent: ReadonlySet<ProblemCode> = new Set([
  "upstream_timeout",
  "upstream_tls_failed",
  "upstream_unavailable",
  "upstream_bad_response",
  "upstream_error",
  "upstream_outcome_unknown",
  "pdp_unavailable",
]);

/** Whether what was thrown is the upstream's own failing: not the client's leaving or hurry, nor our want of places. */
export const isUpstreamError = (error: unknown): boolean =>
  error instanceof Problem && absent.has(error.code) && error.options.cause !== hurried && error.options.cause !== saturated;

/** A server before the upstream says that nobody answers there. Services of Sallyport say so of others, and are there. */
export const isGatewayStatus = (status: number): boolean => status === 502 || status === 503 || status === 504;
