import { createYielding } from "#http/yielding.ts";
import type { Database } from "#store/database.ts";
import type { Log } from "#telemetry/log.ts";
import type { Metrics } from "#telemetry/metrics.ts";
import { buildGraph } from "./build-graph.ts";
import type { Graph } from "./graph.ts";
import { createPoller, type Poller } from "./poller.ts";
import { HEAD, OPS, RULES } from "./rows-read.ts";

export interface FeedParts {
  readonly database: Database;
  readonly log: Log;
  readonly metrics: Metrics;
  /** Between two looks at the head, while somebody asks. */
  readonly pollMs: number;
  /** How long ago the last look may have been sent for the index to answer. */
  readonly boundMs: number;
}

/** The graph as it is now, for one answer without a wait in it. */
export interface Seen {
  readonly graph: Graph;
  readonly version: bigint;
  /** By the database's clock, in milliseconds. */
  readonly now: number;
}

export type FallbackReason = "building" | "stale" | "loading";

export interface FeedState {
  readonly state: "ready" | FallbackReason;
  readonly version: bigint;
  readonly stalenessMs: number;
  readonly bytes: number;
  /** Looks since the start that found no graph to answer from, by why. */
  readonly fallbacks: Readonly<Partial<Record<FallbackReason, number>>>;
}

export interface Feed {
  /** The graph, or why the database itself must be asked. */
  look(): Seen | FallbackReason;
  /** Resolves when the graph has reached the version; false: it has not in so many milliseconds. */
  reached(version: bigint, withinMs: number): Promise<boolean>;
  /** This process committed the version: it counts here before it is answered, or the index does not. */
  written(version: bigint): Promise<void>;
  state(): FeedState;
  [Symbol.asyncDispose](): Promise<void>;
}

const CHANNEL = "sallyport_graph";
const SLICE_MS = 5;
const OPS_AT_ONCE = 1_000;
/** How long the head is looked at after the last question. */
const IDLE_MS = 10_000;
const OWN_WRITE_MS = 250;

/** How far the log has been applied. */
interface Place {
  version: bigint;
  rules: string;
  /** Whether the graph is whole, and not between two ops of one version. */
  isWhole: boolean;
}

const NOWHERE: Place = { version: -1n, rules: "", isWhole: false };

/**
 * Keeps the graph in step with the database. The head, which is looked at again and again while anybody asks, is the truth; hints only make it
 * sooner. A look counts from when it was sent, and never for what was heard of after that.
 */
export const createFeed = async (parts: FeedParts): Promise<Feed> => {
  const { database, log, metrics } = parts;
  const pause = createYielding(SLICE_MS);
  let graph: Graph | undefined;
  let place: Place = NOWHERE;
  /** The database's clock at zero of ours, as the last look found it. */
  let clock = 0;
  let isStopped = false;
  const ending = new AbortController();
  const waiting = new Set<() => void>();

  const applyLog = async (to: Graph, at: Place, head: bigint): Promise<void> => {
    let [version, seq] = [at.version, 2 ** 31 - 1];
    let versions = 0n;
    let isMore = true;
    while (isMore) {
      const ops = await database.run(OPS, [version, seq, head, OPS_AT_ONCE]);
      isMore = ops.length === OPS_AT_ONCE;
      for (const [index, op] of ops.entries()) {
        if (op.version !== version) versions++;
        at.isWhole = false;
        to.apply(op);
        ({ version, seq } = op);
        if (index % 64 === 63) await pause();
      }
    }
    at.isWhole = versions === head - at.version;
    if (!at.isWhole) throw new Error("the change log lacks a version");
    at.version = head;
  };

  const build = async (from: bigint): Promise<void> => {
    const started = performance.now();
    const fresh = await buildGraph(database, pause, ending.signal);
    const at: Place = { version: from, rules: "", isWhole: false };
    // What the pages saw of later versions is in the log up to the head that is looked at behind them.
    const [head] = await database.run(HEAD);
    await applyLog(fresh, at, head?.version ?? from);
    await fresh.settle(pause);
    [graph, place] = [fresh, at];
    metrics.set("membership_index_bytes", {}, fresh.bytes);
    log.info("graph_index_built", {
      version: Number(at.version),
      nodes: fresh.nodes.names.size,
      edges: fresh.edges.size,
      bytes: fresh.bytes,
      ms: Math.round(performance.now() - started),
    });
  };
  const readRules = async (to: Graph, at: Place, rules: string): Promise<void> => {
    const rows = await database.run(RULES);
    to.rules = new Map(rows.map(({ tenant_id, resource_type, rule }) => [`${tenant_id} ${resource_type}`, rule]));
    at.rules = rules;
  };

  /** What the head says is applied, from the rows themselves where the log does not lead there. */
  const look = async (): Promise<void> => {
    const sent = performance.now();
    const staleMs = poller.stalenessMs();
    if (Number.isFinite(staleMs)) metrics.set("membership_index_staleness_seconds", {}, staleMs / 1000);
    const [head] = await database.run(HEAD);
    if (head === undefined) throw new Error("the graph has no head");
    clock = Date.parse(head.now) - (sent + performance.now()) / 2;
    metrics.set("membership_index_lag_versions", {}, Number(head.version - place.version));
    if (graph === undefined || graph.isWorn || head.version < place.version) {
      await build(head.version);
      return look();
    }
    try {
      if (head.version > place.version) await applyLog(graph, place, head.version);
    } catch (cause) {
      // Half a version is none; the rows themselves are there.
      if (!place.isWhole) [graph, place] = [undefined, NOWHERE];
      throw cause;
    }
    graph.operator = head.operator;
    if (head.rules !== place.rules) await readRules(graph, place, head.rules);
    metrics.set("membership_index_lag_versions", {}, 0);
    poller.confirm(sent);
    for (const tell of waiting) tell();
  };
  const failed = (cause: unknown): void => log.warn("graph_index_fault", { cause });
  const poller: Poller = createPoller({ everyMs: parts.pollMs, boundMs: parts.boundMs, idleMs: IDLE_MS, look, failed });

  const stopListening = await database.listen(
    CHANNEL,
    (version) => {
      if (/^[0-9]{1,18}$/.test(version) && BigInt(version) > place.version) poller.hurry();
    },
    () => poller.hurry(),
  );
  let hinted = 0n;
  let isHinting = false;
  /** One hint is on its way at a time; the next one names the newest version. The embedded database has no other process to tell. */
  const hint = async (version: bigint): Promise<void> => {
    if (version > hinted) hinted = version;
    if (isHinting || isStopped || database.kind === "pglite") return;
    isHinting = true;
    for (let reported = -1n; reported < hinted && !isStopped;) {
      reported = hinted;
      await database.notify(CHANNEL, String(reported)).catch((cause: unknown) => log.warn("graph_hint_failed", { cause }));
    }
    isHinting = false;
  };
  const reached: Feed["reached"] = async (version, withinMs) => {
    if (graph === undefined) return false;
    const { promise, resolve } = Promise.withResolvers<boolean>();
    const check = (): void => {
      if (place.version >= version && place.isWhole) resolve(true);
    };
    const timer = setTimeout(() => resolve(false), withinMs);
    waiting.add(check);
    check();
    poller.hurry();
    return promise.finally(() => {
      clearTimeout(timer);
      waiting.delete(check);
    });
  };
  const why = (): FallbackReason | undefined =>
    graph === undefined ? "building" : !place.isWhole ? "loading" : poller.isFresh() ? undefined : "stale";
  const fallbacks: Partial<Record<FallbackReason, number>> = {};
  const refused = (reason: FallbackReason): FallbackReason => {
    metrics.count("membership_fallback_total", { reason });
    fallbacks[reason] = (fallbacks[reason] ?? 0) + 1;
    return reason;
  };
  poller.hurry();

  return {
    look: () => {
      poller.asked();
      const reason = why();
      if (graph === undefined || reason !== undefined) return refused(reason ?? "building");
      return { graph, version: place.version, now: performance.now() + clock };
    },
    reached,
    written: async (version) => {
      void hint(version);
      if (!(await reached(version, OWN_WRITE_MS))) poller.doubt();
    },
    state: () => ({
      state: why() ?? "ready",
      version: place.version,
      stalenessMs: Math.round(poller.stalenessMs()),
      bytes: graph?.bytes ?? 0,
      fallbacks: { ...fallbacks },
    }),
    [Symbol.asyncDispose]: async () => {
      isStopped = true;
      ending.abort();
      await poller[Symbol.asyncDispose]();
      await stopListening().catch(() => undefined);
    },
  };
};
