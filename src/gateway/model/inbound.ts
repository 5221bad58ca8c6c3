import { Problem } from "#contract/problem.ts";
import type { BodyShare } from "#http/body-shares.ts";
import type { CanonicalTarget } from "#gateway/model/canonical-path.ts";

export const inboundMethods = ["GET", "HEAD", "POST", "PUT", "PATCH", "DELETE", "OPTIONS"] as const;
export type InboundMethod = (typeof inboundMethods)[number];

/** Headers as they arrived, names in lower case, order and repetitions kept. */
export interface InboundHeaders {
  /** The value, or all values of a repeated header joined by `, `. */
  get(name: string): string | undefined;
  readonly pairs: readonly (readonly [name: string, value: string])[];
}

/** A request body that has not been read. Reading it tells a waiting client to send (`100 Continue`). */
export interface InboundBody {
  /** Bytes as Content-Length announced them; `undefined` when chunked. */
  readonly length: number | undefined;
  /** Bytes that the row allows, where the gateway reads it itself. */
  readonly limit?: number;
  /** Place among its caller's large bodies, where the gateway reads it itself. */
  readonly share?: Pick<BodyShare, "take">;
  /** All of it, in one piece; for bodies of a small announced length. Called instead of `stream`, once. Throws as that does. */
  whole(): Promise<Uint8Array<ArrayBuffer>>;
  /** May be called once. The stream fails with a `Problem` when the client sends too slowly or wrongly. */
  stream(): ReadableStream<Uint8Array>;
  /** Why the stream failed, once it has. */
  failure(): Problem | undefined;
}

/** The public origin that a request addresses. Throws `misdirected_host` where it is none of ours. */
export const requireOrigin = ({ origin }: Pick<Inbound, "origin">): string => {
  if (origin === undefined) throw new Problem("misdirected_host");
  return origin;
};

/** A request that has one reading: what the pipeline works on. */
export interface Inbound {
  readonly method: InboundMethod;
  readonly target: CanonicalTarget;
  readonly headers: InboundHeaders;
  /** Host as addressed: lower case, default port dropped. */
  readonly host: string;
  /** The public origin addressed; `undefined` when the host is none of ours. */
  readonly origin: string | undefined;
  /** Address of the TCP peer. */
  readonly peerAddress: string;
  /** Address of the client: the peer, or whom a trusted proxy asks for. */
  readonly clientAddress: string;
  readonly isSecure: boolean;
  readonly correlationId: string;
  readonly body: InboundBody | undefined;
  /** Aborted when the client has left before the answer was written. */
  readonly signal: AbortSignal;
}
