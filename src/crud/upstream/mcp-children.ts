import { mkdir, realpath } from "node:fs/promises";
import { join } from "node:path";
import { Client } from "@modelcontextprotocol/client";
import { Problem } from "#contract/problem.ts";
import type { Claim } from "#http/shares.ts";
import type { Log } from "#telemetry/log.ts";
import { UpstreamError } from "#crud/model/upstream-error.ts";
import type { Launch } from "#crud/servers/sandbox.ts";
import type { ChildPlaces, PlacedChild } from "./child-places.ts";
import { createStdioTransport, isNotSent } from "./stdio-transport.ts";

export interface ChildrenParts {
  readonly system: string;
  /** How the server is started, with this folder for its own. */
  readonly launch: (folder: string) => Launch;
  /** Each key gets `<folder>/<system>/<key>` for itself. */
  readonly folder: string;
  /** Of the children of all systems together. */
  readonly places: ChildPlaces;
  /** Whose children are whose key names no tenant; nobody's alone unless given. */
  readonly tenant?: string | undefined;
  /** A claim of a tenant to bytes of answers. */
  readonly answerShares: (tenant: string) => Claim;
  readonly version: string;
  readonly log: Log;
  /** Its tools may have changed: the server says so, or it was started again. */
  readonly changed: () => void;
  readonly idleMs?: number;
  /** How long a server may take to say that it is there. */
  readonly startMs?: number;
  readonly now: () => Date;
}

export interface Children {
  /**
   * Runs work with the child of a key; starts it if there is none. Work that throws what `isNotSent` tells is run once more, with a
   * fresh child. Throws `UpstreamError` `not_sent` if it cannot be run.
   */
  use<T>(key: string, work: (client: Client) => Promise<T>): Promise<T>;
  readonly running: number;
  [Symbol.asyncDispose](): Promise<void>;
}

interface Child extends PlacedChild {
  readonly client: Promise<Client>;
  /** Ends the process, whether or not it has answered yet. */
  readonly end: () => Promise<void>;
  busy: number;
  lastUsed: number;
  timer?: NodeJS.Timeout;
}

const IDLE_MS = 600_000;
const START_MS = 15_000;
const PROBE_MS = 3000;
/** A message of so many bytes, all of small values, is read within some thirty milliseconds; no more leaves of an answer than half of it. */
const MAX_MESSAGE_BYTES = 2_097_152;

const cannotStart = (detail: string, cause?: unknown): UpstreamError =>
  new UpstreamError(new Problem("upstream_error", { detail, cause }), "not_sent");

/**
 * MCP servers as children, one a key (tenant or principal): started at the first use, stopped when idle, restarted after death. Of
 * one key never two run at once: its folder is one child's own.
 */
export const createChildren = (parts: ChildrenParts): Children => {
  const children = new Map<string, Child>();
  /** Out of use, and not gone yet. */
  const ending = new Map<string, Promise<void>>();
  const failures = new Map<string, { count: number; until: number }>();
  const everStarted = new Set<string>();
  const idleMs = parts.idleMs ?? IDLE_MS;
  const startMs = parts.startMs ?? START_MS;
  let isStopped = false;

  const rest = (key: string): void => {
    const count = (failures.get(key)?.count ?? 0) + 1;
    failures.set(key, { count, until: parts.now().getTime() + Math.min(60_000, 1000 * 2 ** (count - 1)) });
  };

  const tenantOf = (key: string): string => (key.startsWith("tenant:") ? (key.split(" ", 1)[0] ?? key) : (parts.tenant ?? ""));

  const transportOf = async (key: string) => {
    const folder = join(parts.folder, parts.system, encodeURIComponent(key));
    await mkdir(folder, { recursive: true, mode: 0o700 });
    // A link in its place would be another's folder.
    if ((await realpath(folder)) !== join(await realpath(parts.folder), parts.system, encodeURIComponent(key)))
      throw cannotStart("The folder of the server is none of its own.");
    return createStdioTransport({
      launch: parts.launch(folder),
      cwd: folder,
      maxMessageBytes: MAX_MESSAGE_BYTES,
      claim: parts.answerShares(tenantOf(key)),
      received: (line) => parts.log.debug("mcp_child_stderr", { system: parts.system, line }),
    });
  };

  const start = (key: string, gone: () => void): Pick<Child, "client" | "end"> => {
    const made = transportOf(key);
    const connect = async (): Promise<Client> => {
      const transport = await made;
      const client = new Client(
        { name: "sallyport", version: parts.version },
        {
          capabilities: {},
          versionNegotiation: { mode: "auto", probe: { timeoutMs: Math.min(PROBE_MS, startMs) } },
          inputRequired: { autoFulfill: false },
          // At once, for one who says it without end would never be asked; who is told sees to it that it is not asked too often.
          listChanged: { tools: { autoRefresh: false, debounceMs: 0, onChanged: () => parts.changed() } },
        },
      );
      client.onclose = gone;
      await client.connect(transport, { timeout: startMs });
      parts.log.info("mcp_child_started", { system: parts.system, key, pid: transport.pid });
      // What comes back from death may serve other tools than before.
      if (everStarted.has(key)) parts.changed();
      everStarted.add(key);
      return client;
    };
    return { client: connect(), end: () => made.then((transport) => transport.close()).catch(() => undefined) };
  };

  /** Out of use at once; resolves when it is gone. Its place and its folder are free then. */
  const retire = (key: string, child: Child): Promise<void> => {
    if (children.get(key) !== child) return ending.get(key) ?? Promise.resolve();
    clearTimeout(child.timer);
    children.delete(key);
    const ended = child.end().then(() => {
      ending.delete(key);
      parts.places.delete(child);
      parts.log.info("mcp_child_ended", { system: parts.system, key });
    });
    ending.set(key, ended);
    return ended;
  };

  const childOf = async (key: string): Promise<Child> => {
    const held = children.get(key);
    if (held !== undefined) return held;
    if ((failures.get(key)?.until ?? 0) > parts.now().getTime()) throw cannotStart("The upstream process rests after a failed start.");
    await ending.get(key);
    const tenant = tenantOf(key);
    await parts.places.evictOldest(tenant);
    const again = children.get(key);
    if (again !== undefined) return again;
    if (ending.has(key)) return childOf(key);
    if (!parts.places.hasCapacity(tenant))
      throw new UpstreamError(new Problem("overloaded", { detail: "Too many upstream processes run." }), "not_sent");
    const child: Child = {
      ...start(key, () => void retire(key, child)),
      tenant,
      busy: 0,
      lastUsed: parts.now().getTime(),
      retire: () => retire(key, child),
    };
    parts.places.add(child);
    children.set(key, child);
    child.client.then(
      () => failures.delete(key),
      () => {
        rest(key);
        void retire(key, child);
      },
    );
    return child;
  };

  const useOnce = async <T>(key: string, work: (client: Client) => Promise<T>): Promise<T> => {
    if (isStopped) throw cannotStart("Sallyport is stopping.");
    const child = await childOf(key);
    clearTimeout(child.timer);
    child.busy++;
    try {
      const client = await child.client.catch((error: unknown) => {
        throw error instanceof UpstreamError ? error : cannotStart("The upstream process does not start.", error);
      });
      return await work(client);
    } catch (error) {
      // Nobody else is to meet it either.
      if (isNotSent(error)) void retire(key, child);
      throw error;
    } finally {
      child.busy--;
      child.lastUsed = parts.now().getTime();
      if (child.busy === 0 && children.get(key) === child) child.timer = setTimeout(() => void retire(key, child), idleMs).unref();
    }
  };

  return {
    get running() {
      return children.size;
    },
    use: async (key, work) => {
      try {
        return await useOnce(key, work);
      } catch (error) {
        if (!isNotSent(error)) throw error;
      }
      return useOnce(key, work).catch((error: unknown) => {
        throw isNotSent(error) ? cannotStart("The upstream process ends as soon as it starts.", error) : error;
      });
    },
    [Symbol.asyncDispose]: async () => {
      isStopped = true;
      await Promise.all([...children].map(([key, child]) => retire(key, child)));
      await Promise.all(ending.values());
    },
  };
};
