/** What every listener of Sallyport holds a connection to. */
export interface ListenerLimits {
  /** Bytes of all header lines together. */
  readonly maxHeaderSize: number;
  /** Header lines as they arrive. */
  readonly maxHeaderLines: number;
  /** Milliseconds from the first byte, or from the connection, to the end of the head; over TLS the handshake has as long. */
  readonly headersTimeout: number;
  /** Milliseconds to the end of the body. */
  readonly requestTimeout: number;
  /** Milliseconds that a body may keep us waiting for free; from then on each KiB buys one more second. */
  readonly bodyFreeMs: number;
  /** Milliseconds after the answer in which the rest of a body that nobody wanted may still arrive. */
  readonly lingerMs: number;
  /** Milliseconds that a connection may rest between two requests. */
  readonly keepAliveTimeout: number;
  /** Milliseconds without a byte after which the other end is asked whether it is still there: one that lost its network never says so. */
  readonly keepAliveInitialDelay: number;
  /** How often connections are looked at, in milliseconds. */
  readonly connectionsCheckingInterval: number;
  /** On one listening address; more are closed as they come. */
  readonly maxConnections: number;
  /** Milliseconds in which a reader may take nothing of what waits for it. */
  readonly stallMs: number;
}

export const listenerLimits: ListenerLimits = {
  maxHeaderSize: 16_384,
  maxHeaderLines: 100,
  headersTimeout: 10_000,
  requestTimeout: 300_000,
  bodyFreeMs: 10_000,
  lingerMs: 2000,
  keepAliveTimeout: 65_000,
  keepAliveInitialDelay: 60_000,
  connectionsCheckingInterval: 2000,
  maxConnections: 10_000,
  stallMs: 60_000,
};
