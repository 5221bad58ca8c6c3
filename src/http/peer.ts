import { Problem, type ProblemCode } from "#contract/problem.ts";
import type { Peer } from "#contract/ask.ts";
import { untrustedCode, type Send } from "./trusting-fetch.ts";

export type { Peer } from "#contract/ask.ts";

export interface HttpPeerOptions {
  readonly baseUrl: string;
  readonly timeoutMs: number;
  /** What a connection fault or time-out is called towards the caller. */
  readonly unavailable: ProblemCode;
  /** How it is reached; `fetch` unless given. */
  readonly send?: Send;
  /** Told of a certificate that is not trusted, by TLS's own word for it. */
  readonly distrusted?: (code: string) => void;
  /** The trace under way, for the peer to go on with. */
  readonly traceparent?: () => string | undefined;
}

/**
 * A peer in another process. The request's path and query are kept byte for byte; only origin and base path are this
 * peer's. A fault of the connection is `unavailable`, so callers see one code in one process and in many; that a certificate is not
 * trusted is said in words.
 */
export const httpPeer = (options: HttpPeerOptions): Peer => {
  const { send = fetch } = options;
  const base = options.baseUrl.replace(/\/$/, "");
  return async (request) => {
    const url = new URL(request.url);
    const signal = AbortSignal.any([request.signal, AbortSignal.timeout(options.timeoutMs)]);
    const body = request.body === null ? undefined : await request.arrayBuffer();
    const traceparent = options.traceparent?.();
    if (traceparent !== undefined) request.headers.set("traceparent", traceparent);
    try {
      return await send(`${base}${url.pathname}${url.search}`, {
        method: request.method,
        headers: request.headers,
        body,
        signal,
        redirect: "error",
      });
    } catch (cause) {
      const untrusted = untrustedCode(cause);
      if (untrusted === undefined) throw new Problem(options.unavailable, { cause });
      options.distrusted?.(untrusted);
      throw new Problem(options.unavailable, { detail: `Its certificate is not trusted here (${untrusted}).`, cause });
    }
  };
};
