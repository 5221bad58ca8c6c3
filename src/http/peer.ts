import { Problem, type ProblemCode } from "#contract/problem.ts";
import type { Peer } from "#contract/ask.ts";

export type { Peer } from "#contract/ask.ts";

export interface HttpPeerOptions {
  readonly baseUrl: string;
  readonly timeoutMs: number;
  /** What a connection fault or time-out is called towards the caller. */
  readonly unavailable: ProblemCode;
  /** The trace under way, for the peer to go on with. */
  readonly traceparent?: () => string | undefined;
}

/**
 * A peer in another process. The request's path and query are kept byte for byte; only origin and base path are this
 * peer's. A fault of the connection is `unavailable`, so callers see one code in one process and in many.
 */
export const httpPeer = (options: HttpPeerOptions): Peer => {
  const base = options.baseUrl.replace(/\/$/, "");
  return async (request) => {
    const url = new URL(request.url);
    const signal = AbortSignal.any([request.signal, AbortSignal.timeout(options.timeoutMs)]);
    const body = request.body === null ? undefined : await request.arrayBuffer();
    const traceparent = options.traceparent?.();
    if (traceparent !== undefined) request.headers.set("traceparent", traceparent);
    try {
      return await fetch(`${base}${url.pathname}${url.search}`, {
        method: request.method,
        headers: request.headers,
        ...(body === undefined ? {} : { body }),
        signal,
        redirect: "error",
      });
    } catch (cause) {
      throw new Problem(options.unavailable, { cause });
    }
  };
};
