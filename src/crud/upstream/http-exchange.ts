import type { Dispatcher } from "undici";
import { Problem } from "#contract/problem.ts";
import { parseStrictJson } from "#http/strict-json.ts";
import { untrustedCode } from "#http/trusting-fetch.ts";
import { wasNeverSent } from "#http/was-never-sent.ts";
import { UpstreamFault } from "#crud/mcp/call/upstream-fault.ts";
import { AddressRefused } from "./guarded-agent.ts";

export interface Exchange {
  readonly origin: string;
  readonly path: string;
  readonly method: string;
  readonly headers: Readonly<Record<string, string>>;
  readonly body?: string | Uint8Array;
  readonly timeoutMs: number;
  readonly maxBytes: number;
  /** Nothing is changed by it: a lost answer is a failure, not an unknown outcome. */
  readonly isReadOnly: boolean;
  readonly signal: AbortSignal;
}

export interface ExchangeReply {
  readonly status: number;
  readonly headers: Readonly<Record<string, string>>;
  readonly body: unknown;
}

const codeOf = (error: unknown): string => {
  const code = (error as { code?: unknown } | null)?.code;
  return typeof code === "string" ? code : "";
};

const transportFault = (error: unknown, exchange: Exchange): UpstreamFault => {
  if (error instanceof AddressRefused) {
    const detail = error.reason === "not_found" ? "The upstream's name is not known." : "The upstream's address may not be dialled.";
    return new UpstreamFault(new Problem("upstream_error", { detail, cause: error }), "not_sent", {
      isFinal: error.reason !== "not_found",
    });
  }
  const code = codeOf(error);
  if (untrustedCode(error) !== undefined)
    return new UpstreamFault(new Problem("upstream_tls_failed", { cause: error }), "not_sent", { isFinal: true });
  if (wasNeverSent(error))
    return new UpstreamFault(new Problem("upstream_error", { detail: "The upstream cannot be reached.", cause: error }), "not_sent");
  if (!exchange.isReadOnly) return new UpstreamFault(new Problem("outcome_unknown", { cause: error }), "unknown");
  const isLate = exchange.signal.aborted || /Timeout|Abort/.test((error as Error).name) || code.endsWith("_TIMEOUT");
  return new UpstreamFault(new Problem(isLate ? "upstream_timeout" : "upstream_error", { cause: error }), "failed");
};

/** Members and items of one answer: masking, checking and digesting it cost by each of them. */
const MOST_VALUES = 100_000;

const readBounded = async (body: AsyncIterable<Uint8Array>, maxBytes: number): Promise<Buffer> => {
  const chunks: Uint8Array[] = [];
  let size = 0;
  for await (const chunk of body) {
    size += chunk.byteLength;
    if (size > maxBytes)
      throw new UpstreamFault(new Problem("output_too_large", { detail: `The answer has more than ${maxBytes} bytes.` }), "done", {
        isFinal: true,
      });
    chunks.push(chunk);
  }
  return Buffer.concat(chunks);
};

const parseBody = (bytes: Buffer, type: string, encoding: string | undefined): unknown => {
  if (encoding !== undefined && encoding !== "identity")
    throw new Problem("output_invalid", { detail: "The answer is encoded though that was not asked for." });
  if (bytes.byteLength === 0) return null;
  if (/^application\/(?:[a-z0-9.+-]+\+)?json\b/i.test(type)) {
    try {
      return parseStrictJson(bytes, { depth: 64, members: MOST_VALUES });
    } catch (cause) {
      if (cause instanceof Problem && cause.code === "body_too_large")
        throw new Problem("output_too_large", { detail: `The answer has more than ${MOST_VALUES} values.` });
      throw new Problem("output_invalid", { detail: "The answer is not readable JSON.", cause });
    }
  }
  if (/^text\/|^application\/(?:[a-z0-9.+-]+\+)?(?:xml|yaml)\b/i.test(type)) return bytes.toString("utf8");
  throw new Problem("output_invalid", { detail: "The answer is neither JSON nor text." });
};

/**
 * One request at an upstream, one attempt. Never follows a redirect, never unpacks, reads at most `maxBytes`. Any status is
 * an answer; faults are `UpstreamFault`s that say whether anything was sent.
 */
export const exchangeHttp = async (agent: Dispatcher, exchange: Exchange): Promise<ExchangeReply> => {
  const signal = AbortSignal.any([exchange.signal, AbortSignal.timeout(exchange.timeoutMs)]);
  let status: number | undefined;
  try {
    const response = await agent.request({
      origin: exchange.origin,
      path: exchange.path,
      method: exchange.method as Dispatcher.HttpMethod,
      headers: { ...exchange.headers, "accept-encoding": "identity" },
      body: exchange.body,
      signal,
    });
    status = response.statusCode;
    const headers = Object.fromEntries(
      Object.entries(response.headers).map(([name, value]) => [name, Array.isArray(value) ? (value[0] ?? "") : (value ?? "")]),
    );
    const bytes = await readBounded(response.body, exchange.maxBytes);
    return { status, headers, body: parseBody(bytes, headers["content-type"] ?? "", headers["content-encoding"]) };
  } catch (error) {
    if (error instanceof UpstreamFault) throw error;
    if (!(error instanceof Problem)) throw transportFault(error, exchange);
    throw new UpstreamFault(error, status !== undefined && status < 400 ? "done" : "failed", {
      status,
      isFinal: true,
    });
  }
};
