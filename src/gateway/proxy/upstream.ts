import type { Peer } from "#contract/ask.ts";
import { Problem } from "#contract/problem.ts";

/** One request to an upstream, in its one form. */
export interface UpstreamCall {
  readonly method: string;
  /** Canonical path, as decided. */
  readonly path: string;
  /** Empty, or from `?` on, byte for byte. */
  readonly query: string;
  readonly headers: Headers;
  readonly body: Uint8Array<ArrayBuffer> | ReadableStream<Uint8Array> | undefined;
  readonly signal: AbortSignal;
  /** True: the answer may last as long as the client stays. */
  readonly isStream: boolean;
}

/**
 * Where a row's requests go: a function in this process or a server elsewhere. Redirects are answers, never followed.
 * Throws the `upstream_*` codes.
 */
export interface Upstream {
  /** The address that the upstream knows itself by. */
  readonly url: URL;
  send(call: UpstreamCall): Promise<Response>;
  /** Takes no new call and is closed once those under way have ended; resolves then. */
  retire(): Promise<void>;
  [Symbol.asyncDispose](): Promise<void>;
}

/** An upstream that is a function of this process. A URL that reads the path otherwise than we did is refused. */
export const peerUpstream = (name: string, peer: Peer): Upstream => {
  const url = new URL(`http://${name}.internal`);
  return {
    url,
    send: async (call) => {
      const target = `${url.origin}${call.path}${call.query}`;
      if (new URL(target).pathname !== call.path) throw new Problem("ambiguous_target");
      const init: RequestInit & { duplex?: "half" } = { method: call.method, headers: call.headers, signal: call.signal };
      if (call.body !== undefined) {
        init.body = call.body;
        init.duplex = "half";
      }
      return peer(new Request(target, init));
    },
    retire: async () => {},
    [Symbol.asyncDispose]: async () => {},
  };
};
