import type { Peer } from "#contract/ask.ts";
import { Problem } from "#contract/problem.ts";
import { discard, type Answer, type HeaderLines } from "#gateway/model/answer.ts";

/** One request to an upstream, in its one form. */
export interface UpstreamCall {
  readonly method: string;
  /** Canonical path, as decided. */
  readonly path: string;
  /** Empty, or from `?` on, byte for byte. */
  readonly query: string;
  readonly headers: HeaderLines;
  readonly body: Uint8Array<ArrayBuffer> | ReadableStream<Uint8Array> | undefined;
  /** Ends the whole exchange, the answer's body included. */
  readonly signal: AbortSignal;
  /** When the whole must be over, as `performance.now()` counts; absent: nobody has said. */
  readonly deadline?: number | undefined;
  /** True: the answer may last as long as the client stays. */
  readonly isStream: boolean;
  /** `safe`: GET, HEAD and OPTIONS may be sent twice; `idempotent`: whatever the row takes. */
  readonly retry: "never" | "safe" | "idempotent";
}

/** Says how much time is left now: each attempt tells the upstream what it still has, never what the first one had. */
export const tellDeadline = ({ deadline, headers }: UpstreamCall): void => {
  if (deadline === undefined) return;
  headers.set("x-deadline-ms", String(Math.max(1, Math.floor(deadline - performance.now()))));
};

/**
 * Where a row's requests go: a function in this process or a server elsewhere. Redirects are answers, never followed.
 * Throws the `upstream_*` codes.
 */
export interface Upstream {
  /** The addresses that the upstream knows itself by; never empty. */
  readonly bases: readonly URL[];
  send(call: UpstreamCall): Promise<Answer>;
  /** Takes no new call and is closed once those under way have ended; resolves then. */
  retire(): Promise<void>;
  [Symbol.asyncDispose](): Promise<void>;
}

/**
 * A request follows the signal that it was given only while somebody holds the request: collected while its answer streams, what serves it
 * would not hear that the caller has left. So who holds the signal holds it.
 */
const following = new WeakMap<AbortSignal, Request>();

/** An upstream that is a function of this process. A URL that reads the path otherwise than we did is refused. */
export const peerUpstream = (name: string, peer: Peer): Upstream => {
  const url = new URL(`http://${name}.internal`);
  return {
    bases: [url],
    send: async (call) => {
      const target = `${url.origin}${call.path}${call.query}`;
      if (new URL(target).pathname !== call.path) throw new Problem("ambiguous_target");
      tellDeadline(call);
      const init: RequestInit & { duplex?: "half" } = { method: call.method, headers: [...call.headers], signal: call.signal };
      if (call.body !== undefined) {
        init.body = call.body;
        init.duplex = "half";
      }
      const request = new Request(target, init);
      following.set(call.signal, request);
      return withSignal(peer(request), call.signal);
    },
    retire: async () => {},
    [Symbol.asyncDispose]: async () => {},
  };
};

/** A function of this process may not listen to the signal: whoever waits for it still goes on in time. */
const withSignal = (sent: Promise<Answer>, signal: AbortSignal): Promise<Answer> =>
  new Promise((resolve, reject) => {
    const abort = (): void => {
      reject(signal.reason as Error);
      sent.then((late) => discard(late, signal.reason)).catch(() => {});
    };
    if (signal.aborted) {
      abort();
      return;
    }
    signal.addEventListener("abort", abort, { once: true });
    sent.then(resolve, reject).finally(() => signal.removeEventListener("abort", abort));
  });
