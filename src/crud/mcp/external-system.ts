import { setTimeout as sleep } from "node:timers/promises";
import { atOnce, createYieldingOfLong, yielding } from "#http/yielding.ts";
import type { Log } from "#telemetry/log.ts";
import type { Metrics } from "#telemetry/metrics.ts";
import type { McpDocument } from "#crud/systems/system-document.ts";
import type { Children } from "#crud/upstream/mcp-children.ts";
import type { Definitions } from "./definitions.ts";
import { listForeignTools } from "#crud/mcp/list-foreign-tools.ts";
import { canonicalText } from "#crud/model/digest.ts";
import { externalTools, type ForeignTool, type RefusedTool } from "./external-tools.ts";
import type { Tool } from "#crud/tools/tool.ts";

export interface ExternalSystemParts {
  readonly document: McpDocument;
  /** Its children; told of the hook that hears their `list_changed`. */
  readonly children: Children;
  readonly definitions: Definitions;
  /**
   * What this is another version of. What the same server listed serves on, by the new document, until it answers; of another server
   * nothing is called before its definitions were held against the approved ones.
   */
  readonly before?: Pick<ExternalSystem, "transport" | "listed" | "tools" | "quarantined"> | undefined;
  /** The tools changed; the catalogue is to be built anew. */
  readonly changed: () => void;
  readonly log: Log;
  readonly metrics: Metrics;
  readonly now: () => Date;
  /** Waits so many milliseconds, or until the signal. */
  readonly pause?: (milliseconds: number, signal: AbortSignal) => Promise<void>;
}

export interface ExternalSystem {
  readonly name: string;
  readonly provider: string;
  readonly instance: string;
  /** Absent: all. */
  readonly tenants?: readonly string[] | undefined;
  /** How its server is reached. */
  readonly transport: McpDocument["transport"];
  /** As the server said it last. */
  readonly listed: readonly ForeignTool[];
  /** Made of what was listed; empty before anything was and when the server is gone for a minute. */
  readonly tools: readonly Tool[];
  /** What is listed and cannot be served. */
  readonly refused: readonly RefusedTool[];
  readonly quarantined: ReadonlySet<string>;
  readonly isUp: boolean;
  /** Asks the server for its tools, in the background, and no sooner than its last answers allow. Lists never wait for it. */
  refresh(): void;
  /** Asks no more, and publishes nothing of what is asked. Its calls go on until it is disposed of. */
  retire(): void;
  /** Waits until the server was asked once, at most so long, milliseconds. */
  asked(max: number): Promise<void>;
  /** Looks again at what was approved; the server is not asked. */
  recheck(): Promise<void>;
  [Symbol.asyncDispose](): Promise<void>;
}

const MAX_LOGGED = 20;
const LIST_MS = 15_000;
const GONE_MS = 60_000;
const MAX_WAIT_MS = 60_000;
/** Between two looks, whatever the server says; twice as long after each that finds another change, up to the second. */
const FLOOR_MS = 5000;
const MAX_FLOOR_MS = 300_000;
/** Definitions are looked at again even if the server says nothing. */
const AGAIN_MS = 600_000;

const pauseFor = (milliseconds: number, signal: AbortSignal): Promise<void> =>
  sleep(milliseconds, undefined, { signal, ref: false }).catch(() => undefined);

/**
 * An external MCP server as a source of tools. It is discovered without anybody waiting; while it does not answer it costs
 * only its own tools. What it serves is held against what was approved before it is listed.
 */
export const createExternalSystem = (parts: ExternalSystemParts): ExternalSystem => {
  const { document, log, now, pause = pauseFor } = parts;
  const name = `${document.provider}.${document.instance}`;
  const stop = new AbortController();
  const before = canonicalText(parts.before?.transport ?? null) === canonicalText(document.transport) ? parts.before : undefined;
  /** What was logged last, by event; the same is logged once. */
  const logged = new Map<string, string>();
  const report = (event: string, found: readonly unknown[]): void => {
    const text = JSON.stringify(found);
    if (found.length > 0 && logged.get(event) !== text)
      log.warn(event, { system: name, tools: found.slice(0, MAX_LOGGED), count: found.length });
    logged.set(event, text);
  };
  let listed = before?.listed ?? [];
  let { tools, refused } = atOnce(externalTools(document, listed, { children: parts.children, isOfKnown: true }));
  // What was refused, or reads otherwise by this document, waits for the look at what is kept.
  const served = new Map(before?.tools.filter((tool) => !before.quarantined.has(tool.name)).map((tool) => [tool.name, tool.digest]));
  let quarantined: ReadonlySet<string> = new Set(tools.filter((tool) => served.get(tool.name) !== tool.digest).map((tool) => tool.name));
  const first = Promise.withResolvers<void>();
  let isUp = false;
  let downSince = now().getTime();
  let failures = 0;
  /** Looks in a row that each found a change. */
  let drifts = 0;
  let again: NodeJS.Timeout | undefined;
  let running: Promise<void> | undefined;
  let isAsked = false;

  /** Definitions are the server's, not the tenant's; any child of it can be asked. */
  const key = document.isolation === "shared" ? "shared" : (document.tenants?.[0] ?? "discovery");

  const up = (state: boolean): void => {
    if (isUp && !state) downSince = now().getTime();
    isUp = state;
    parts.metrics.set("mcp_upstream_up", { system: name }, state ? 1 : 0);
  };

  const probe = async (): Promise<void> => {
    try {
      const answer = await parts.children.use(key, (client) => listForeignTools(client, { signal: stop.signal, timeout: LIST_MS }));
      const found = await yielding(externalTools(document, answer, parts), createYieldingOfLong());
      const hasChanged = await parts.definitions.note(name, found.tools, { quarantineNew: document.quarantineNew, signal: stop.signal });
      // As it is kept by now: somebody may have decided meanwhile.
      const unapproved = await parts.definitions.refused(name, found.tools);
      if (stop.signal.aborted) return;
      drifts = hasChanged ? drifts + 1 : 0;
      quarantined = unapproved;
      listed = answer;
      ({ tools, refused } = found);
      failures = 0;
      up(true);
      report("mcp_tools_refused", refused);
      report("mcp_tools_quarantined", [...quarantined]);
      parts.changed();
    } catch (error) {
      if (stop.signal.aborted) return;
      failures++;
      up(false);
      log.warn("mcp_upstream_unreachable", { system: name, failures, cause: error });
      if (tools.length > 0 && now().getTime() - downSince >= GONE_MS) {
        tools = [];
        parts.changed();
      }
    } finally {
      first.resolve();
    }
  };

  const schedule = (milliseconds: number): void => {
    clearTimeout(again);
    // None is started only to be looked at: what starts later is looked at then.
    const look = (): void => (isUp && parts.children.running === 0 ? schedule(AGAIN_MS) : refresh());
    again = setTimeout(look, milliseconds).unref();
  };

  const restMs = (): number => {
    const floor = Math.min(MAX_FLOOR_MS, FLOOR_MS * 2 ** Math.max(0, drifts - 1));
    return failures === 0 ? floor : Math.max(drifts === 0 ? 0 : floor, Math.min(MAX_WAIT_MS, 1000 * 2 ** (failures - 1)));
  };

  const loop = async (): Promise<void> => {
    // A burst of changes is one question.
    await pause(20, stop.signal);
    while (!stop.signal.aborted) {
      isAsked = false;
      await probe();
      await pause(restMs(), stop.signal);
      if (!isAsked && failures === 0) break;
    }
    if (!stop.signal.aborted) schedule(AGAIN_MS);
  };

  const refresh = (): void => {
    if (stop.signal.aborted) return;
    isAsked = true;
    running ??= loop().finally(() => {
      running = undefined;
    });
  };

  const retire = (): void => {
    stop.abort();
    clearTimeout(again);
    first.resolve();
  };

  return {
    name,
    provider: document.provider,
    tenants: document.tenants,
    instance: document.instance,
    transport: document.transport,
    get listed() {
      return listed;
    },
    get tools() {
      return tools;
    },
    get refused() {
      return refused;
    },
    get quarantined() {
      return quarantined;
    },
    get isUp() {
      return isUp;
    },
    refresh,
    retire,
    asked: (max) => Promise.race([first.promise, sleep(max, undefined, { ref: false })]),
    recheck: async () => {
      if (tools.length > 0) quarantined = await parts.definitions.refused(name, tools);
    },
    [Symbol.asyncDispose]: async () => {
      retire();
      await parts.children[Symbol.asyncDispose]();
      await running;
    },
  };
};
