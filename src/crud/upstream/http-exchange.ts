import type { Dispatcher } from "undici";
import { Problem } from "#contract/problem.ts";
import { gatherBytes } from "#http/read-bytes.ts";
import type { Claim } from "#http/shares.ts";
import { untrustedCode } from "#http/trusting-fetch.ts";
import { wasNeverSent } from "#http/was-never-sent.ts";
import { UpstreamError, beyondShare } from "#crud/model/upstream-error.ts";
import { ACCEPTED_ENCODINGS, readAnswer, tooLarge, type AnswerBody } from "./answer-body.ts";
import { AddressRefused } from "./guarded-agent.ts";

export interface Exchange {
  readonly origin: string;
  readonly path: string;
  readonly method: string;
  readonly headers: Readonly<Record<string, string>>;
  readonly body?: string | Uint8Array;
  readonly timeoutMs: number;
  readonly maxBytes: number;
  /** Takes the bytes of the answer, and of it unpacked. Those of any but a success are given back at once, the others by its owner. */
  readonly claim: Claim;
  /** Bytes that are neither JSON nor text are an answer too. */
  readonly takesBinary?: boolean;
  /** Nothing is changed by it: a lost answer is a failure, not an unknown outcome. */
  readonly isReadOnly: boolean;
  readonly signal: AbortSignal;
}

export interface ExchangeReply extends AnswerBody {
  readonly status: number;
  readonly headers: Readonly<Record<string, string>>;
}

const codeOf = (error: unknown): string => {
  const code = (error as { code?: unknown } | null)?.code;
  return typeof code === "string" ? code : "";
};

const transportError = (error: unknown, exchange: Exchange): UpstreamError => {
  if (error instanceof AddressRefused) {
    const detail =
      error.reason === "not_found"
        ? "The upstream's name is not known."
        : "The upstream's address may not be dialled: one that is not public only where an administrator names it in network.allow of the system.";
    return new UpstreamError(new Problem("upstream_error", { detail, cause: error }), "not_sent", {
      isFinal: error.reason !== "not_found",
    });
  }
  const code = codeOf(error);
  if (untrustedCode(error) !== undefined)
    return new UpstreamError(new Problem("upstream_tls_failed", { cause: error }), "not_sent", { isFinal: true });
  if (wasNeverSent(error))
    return new UpstreamError(new Problem("upstream_error", { detail: "The upstream cannot be reached.", cause: error }), "not_sent");
  if (!exchange.isReadOnly) return new UpstreamError(new Problem("outcome_unknown", { cause: error }), "unknown");
  const isLate = exchange.signal.aborted || /Timeout|Abort/.test((error as Error).name) || code.endsWith("_TIMEOUT");
  return new UpstreamError(new Problem(isLate ? "upstream_timeout" : "upstream_error", { cause: error }), "failed");
};

/**
 * One request at an upstream, one attempt. Never follows a redirect, reads at most `maxBytes`, unpacked too, and no more than
 * `claim` gives. Any status is an answer; issues are `UpstreamError`s that say whether anything was sent.
 */
export const exchangeHttp = async (agent: Dispatcher, exchange: Exchange): Promise<ExchangeReply> => {
  const signal = AbortSignal.any([exchange.signal, AbortSignal.timeout(exchange.timeoutMs)]);
  let status: number | undefined;
  const { claim } = exchange;
  const takenBefore = claim.taken;
  const take = (_all: number, bytes: number): undefined => {
    if (!claim.take(bytes)) throw beyondShare(exchange.isReadOnly, status);
  };
  try {
    const response = await agent.request({
      origin: exchange.origin,
      path: exchange.path,
      method: exchange.method as Dispatcher.HttpMethod,
      headers: { ...exchange.headers, "accept-encoding": ACCEPTED_ENCODINGS },
      body: exchange.body,
      signal,
    });
    status = response.statusCode;
    const headers = Object.fromEntries(
      Object.entries(response.headers).map(([name, value]) => [
        name,
        // Links may come in several lines, as one list; of others the first is read.
        Array.isArray(value) ? ((name === "link" ? value.join(", ") : value[0]) ?? "") : (value ?? ""),
      ]),
    );
    const beyond = (): UpstreamError => new UpstreamError(tooLarge(exchange.maxBytes), "done", { isFinal: true });
    const read = gatherBytes(response.body, exchange.maxBytes, beyond, take).then((bytes) =>
      readAnswer(bytes, headers, { ...exchange, take }),
    );
    if (status >= 200 && status < 300) return { status, headers, ...(await read) };
    // What came with another status and cannot be read is as good as none: the status says what became of it.
    const answer = await read.catch((): AnswerBody => ({ body: null }));
    claim.shrinkTo(takenBefore);
    return { status, headers, ...answer };
  } catch (error) {
    claim.shrinkTo(takenBefore);
    if (error instanceof UpstreamError) throw error;
    if (!(error instanceof Problem)) throw transportError(error, exchange);
    throw new UpstreamError(error, "done", { status, isFinal: true });
  }
};
