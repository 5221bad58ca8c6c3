import { Server as NetServer } from "node:net";
import { bindHosts } from "#http/bind-hosts.ts";
import { createRawServer, type RawServer, type RawServerParts } from "./raw-server.ts";

export interface Listening {
  readonly port: number;
  /** Addresses that were bound, e.g. `127.0.0.1`, `::1`. */
  readonly hosts: readonly string[];
  /** Stops accepting, lets answers under way finish for at most `deadlineMs`, answers what is left with 503 and closes it. */
  close(deadlineMs: number): Promise<void>;
}

/**
 * Time for the requests that were on their way when we stopped accepting: a connection that looks idle here may have one
 * in the air. Whoever still asks is answered, with `Connection: close`.
 */
const IDLE_GRACE_MS = 500;
/** Time for the last refusals to leave. */
const FLUSH_MS = 1000;

const within = async (work: Promise<void>, milliseconds: number): Promise<boolean> => {
  let timer: NodeJS.Timeout | undefined;
  const late = new Promise<false>((resolve) => {
    timer = setTimeout(() => resolve(false), milliseconds);
  });
  try {
    return await Promise.race([work.then(() => true as const), late]);
  } finally {
    clearTimeout(timer);
  }
};

/**
 * Closes the ingress so that nobody who was let in is cut off: no new connections; idle ones end after a moment;
 * answers under way have until the deadline, then they are 503; what still hangs is cut.
 */
const closeRawServer = async ({ server, refuseRest }: RawServer, deadlineMs: number): Promise<void> => {
  const started = performance.now();
  const left = (): number => Math.max(0, deadlineMs - (performance.now() - started));
  // Answers whose heads left before now promised to keep their connections: when they have ended, those have the same time.
  server.keepAliveTimeout = IDLE_GRACE_MS;
  // Node's HTTP server would end connections that look idle at once.
  const closed = new Promise<void>((resolve) => NetServer.prototype.close.call(server, () => resolve()));
  try {
    if (await within(closed, Math.min(IDLE_GRACE_MS, left()))) return;
    server.closeIdleConnections();
    if (await within(closed, left())) return;
    refuseRest();
    if (await within(closed, FLUSH_MS)) return;
    server.closeAllConnections();
    await closed;
  } finally {
    // Ends its own timers too.
    server.close(() => {});
  }
};

/** Opens the ingress on every host, on one port. */
export const listenIngress = async (
  parts: RawServerParts,
  options: { readonly port: number; readonly hosts: readonly string[] },
): Promise<Listening> => {
  const { port, hosts, bound } = await bindHosts(
    options,
    () => createRawServer(parts),
    (raw) => closeRawServer(raw, 0),
  );
  return {
    port,
    hosts,
    close: async (deadlineMs) => {
      await Promise.all(bound.map((raw) => closeRawServer(raw, deadlineMs)));
    },
  };
};
