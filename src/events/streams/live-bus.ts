import { AsyncLocalStorage } from "node:async_hooks";
import { startInterval } from "#http/interval.ts";
import type { Database } from "#store/database.ts";
import type { Log } from "#telemetry/log.ts";
import type { Metrics } from "#telemetry/metrics.ts";
import type { StreamHead } from "#events/model/emit.ts";
import { createHeadHints } from "./head-hints.ts";
import type { SubscribeOptions, Subscription } from "./bus-frame.ts";
import { createStreamHub, type StreamHub } from "./stream-hub.ts";
import { createStreamSource } from "./stream-source.ts";

export type { BusFrame, Subscription } from "./bus-frame.ts";
export type { StreamEvent } from "./stream-source.ts";

export interface BusSubscribe extends Omit<SubscribeOptions, "names"> {
  /** `config`, `workflow`, `secret`; `activity` is the tail of the tenant's audit log. */
  readonly stream: string;
  readonly tenant: string;
  /** Who reads: subject ids, of `activity` a subject reference; several where one stands for others too. */
  readonly subject: string | readonly string[];
}

/** What happened, within a second, in every process of Sallyport. */
export interface LiveBus {
  /** Each event once, in order, from after the given id; what cannot be given is said by `resync`, never skipped. */
  subscribe(options: BusSubscribe): Subscription;
  /** Version of a stream as the table has it now; lists carry it as `stream_seq`. 0 = nothing yet (of `activity` -1). */
  head(tenant: string, stream: string): Promise<bigint>;
  /** True when the heads were confirmed by the table within 3 s. When false, caches must be bypassed. */
  isFresh(): boolean;
  /** Streams were raised by a commit of this process. */
  announce(heads: readonly StreamHead[]): void;
  [Symbol.asyncDispose](): Promise<void>;
}

export interface LiveBusParts {
  readonly database: Database;
  readonly log: Log;
  readonly metrics: Metrics;
  /** Longest time until a change is noticed when hints are lost; default 1000 ms. */
  readonly pollMs?: number;
  /** How long a confirmation holds; default 3 s. */
  readonly freshMs?: number;
}

const FRESH_MS = 3_000;
const keyOf = (tenant: string, stream: string): string => `${tenant}\u0000${stream}`;

/**
 * Hints (LISTEN/NOTIFY) make it fast, the table makes it true: each `pollMs` the heads of all streams in use are read in
 * one statement, so a lost hint delays an event and never loses it.
 */
export const createLiveBus = async (parts: LiveBusParts): Promise<LiveBus> => {
  const { database, log, metrics } = parts;
  const source = createStreamSource(database);
  const hubs = new Map<string, { readonly tenant: string; readonly stream: string; readonly hub: StreamHub }>();
  /** Readers by stream name, of all tenants. */
  const open = new Map<string, number>();
  let confirmedAt = Number.NEGATIVE_INFINITY;
  let closed = false;
  let stale = false;
  const apart = AsyncLocalStorage.snapshot();

  const isFresh = (): boolean => performance.now() - confirmedAt <= (parts.freshMs ?? FRESH_MS);
  const issue = (error: unknown): void => log.warn("bus_read_failed", { cause: error });

  const moved = (heads: readonly StreamHead[]): void => {
    for (const { tenant, stream, version } of heads) apart(() => hubs.get(keyOf(tenant, stream))?.hub.reached(version));
  };
  const hints = await createHeadHints({ database, log, received: moved });

  const poll = async (): Promise<void> => {
    moved(await source.heads([...hubs.values()]));
    confirmedAt = performance.now();
  };
  const round = async (): Promise<void> => {
    await poll().catch(issue);
    metrics.set("events_bus_fresh", {}, isFresh() ? 1 : 0);
    if (stale !== isFresh()) return;
    stale = !stale;
    log.warn("bus_stale", { stale });
  };
  await round();
  const loop = startInterval({ everyMs: parts.pollMs ?? 1_000, work: round, failed: issue });

  const count = (stream: string, by: number): void => {
    const clients = (open.get(stream) ?? 0) + by;
    open.set(stream, clients);
    metrics.set("events_stream_clients", { stream }, clients);
  };

  const hubOf = (tenant: string, stream: string): StreamHub => {
    const key = keyOf(tenant, stream);
    const known = hubs.get(key);
    if (known !== undefined) return known.hub;
    const hub = createStreamHub({
      tenant,
      stream,
      source,
      onIssue: issue,
      onResync: (reason) => metrics.count("events_stream_resyncs_total", { stream, reason }),
      onEmpty: () => {
        if (hubs.get(key)?.hub === hub) hubs.delete(key);
      },
    });
    hubs.set(key, { tenant, stream, hub });
    return hub;
  };

  return {
    subscribe: ({ tenant, stream, subject, ...options }) => {
      const names = new Set(typeof subject === "string" ? [subject] : subject);
      let taken: Subscription | undefined;
      return {
        get position() {
          return taken?.position ?? 0n;
        },
        // The hub is looked up when reading begins: one that nobody reads any more has been let go.
        async *[Symbol.asyncIterator]() {
          if (closed) return;
          taken = hubOf(tenant, stream).subscribe({ ...options, names });
          count(stream, 1);
          try {
            for await (const frame of taken) {
              if (frame.kind === "event") metrics.count("events_stream_sent_total", { stream });
              yield frame;
            }
          } finally {
            count(stream, -1);
          }
        },
      };
    },
    head: async (tenant, stream) => (await source.heads([{ tenant, stream }]))[0]?.version ?? (stream === "activity" ? -1n : 0n),
    isFresh,
    announce: (heads) => {
      moved(heads);
      hints.send(heads);
    },
    [Symbol.asyncDispose]: async () => {
      closed = true;
      for (const { hub } of hubs.values()) hub.end();
      await hints.close();
      await loop[Symbol.asyncDispose]();
    },
  };
};
