import { join } from "node:path";
import type { Claim } from "#http/shares.ts";
import type { Log } from "#telemetry/log.ts";
import type { CompiledSystem, SystemParts } from "#crud/connectors/connector-kind.ts";
import { compileSystem } from "#crud/connectors/connectors.ts";
import type { SystemFile } from "#crud/systems/load-systems.ts";
import type { McpDocument } from "#crud/systems/system-document.ts";
import { createChildPlaces } from "#crud/upstream/child-places.ts";
import { createChildren } from "#crud/upstream/mcp-children.ts";
import type { Definitions } from "#crud/mcp/definitions.ts";
import { createExternalSystem, type ExternalSystem } from "#crud/mcp/external-system.ts";
import type { Tool } from "#crud/tools/tool.ts";

export interface SourcesParts extends SystemParts {
  readonly dataFolder: string;
  readonly answerShares: (tenant: string) => Claim;
  readonly definitions: Definitions;
  /** How long calls may go on in a system that another version took the place of, milliseconds. */
  readonly lingerMs: number;
  readonly changed: () => void;
  readonly log: Log;
}

/** A system as it could serve. */
export interface PreparedSystem {
  readonly name: string;
  readonly compiled: Exclude<CompiledSystem, { readonly kind: "degraded" }>;
  readonly file: SystemFile;
}

interface Placed {
  readonly tools: readonly Tool[];
  readonly external?: ExternalSystem;
  readonly close: () => Promise<void>;
}

const MAX_CHILDREN = 64;
const nothing: Placed = { tools: [], close: async () => undefined };

/** Everything that gives tools: HTTP and loopback systems at once, external ones as they answer. */
export const createSources = (parts: SourcesParts) => {
  const { log } = parts;
  const placed = new Map<string, Placed>();
  const leaving = new Map<NodeJS.Timeout, () => Promise<void>>();
  const places = createChildPlaces(MAX_CHILDREN);

  const startExternal = (name: string, document: McpDocument, before: ExternalSystem | undefined): Placed => {
    const children = createChildren({
      system: name,
      launch: (folder) => parts.servers.launch(document.transport, folder),
      folder: join(parts.dataFolder, "systems"),
      places,
      tenant: document.tenants?.length === 1 ? document.tenants[0] : undefined,
      answerShares: parts.answerShares,
      version: parts.version,
      log,
      changed: () => external.refresh(),
      now: parts.now,
    });
    const external = createExternalSystem({
      document,
      children,
      definitions: parts.definitions,
      before,
      changed: parts.changed,
      log,
      metrics: parts.metrics,
      now: parts.now,
    });
    external.refresh();
    return { tools: [], external, close: () => external[Symbol.asyncDispose]() };
  };

  const start = ({ name, compiled }: PreparedSystem, before: Placed | undefined): Placed => {
    if (compiled.kind === "external") return startExternal(name, compiled.document, before?.external);
    if (compiled.kind === "tools") return compiled;
    log.info("system_off", { system: name, setting: compiled.name });
    return nothing;
  };

  /** A call that is under way holds on to the connector that it began with. */
  const leave = (close: () => Promise<void>): void => {
    const timer = setTimeout(() => {
      leaving.delete(timer);
      void close().catch((cause: unknown) => log.warn("system_close_failed", { cause }));
    }, parts.lingerMs).unref();
    leaving.set(timer, close);
  };

  return {
    get tools(): readonly Tool[] {
      return [...placed.values()].flatMap(({ tools }) => tools);
    },
    get external(): readonly ExternalSystem[] {
      return [...placed.values()].flatMap(({ external }) => (external === undefined ? [] : [external]));
    },
    compile: (file: SystemFile): Promise<CompiledSystem> => compileSystem(file, parts),
    /** Takes the place of what serves under the name; nothing prepared takes it away. Calls that are under way go on in what was there. */
    place: (name: string, prepared: PreparedSystem | undefined): void => {
      const before = placed.get(name);
      placed.delete(name);
      before?.external?.retire();
      if (prepared !== undefined) placed.set(name, start(prepared, before));
      if (before !== undefined) leave(before.close);
    },
    /** Tools and external systems as they would be with that in place. */
    preview: (name: string, prepared: PreparedSystem | undefined) => {
      const others = [...placed].filter(([one]) => one !== name).map(([, one]) => one);
      const kind = prepared?.compiled.kind;
      const before = placed.get(name);
      // What a server lists is not known before it is asked: until then its tools are taken to stay.
      const staying = kind === "external" && before?.external !== undefined ? before : undefined;
      const own = prepared?.compiled.kind === "tools" ? prepared.compiled : staying;
      const all: readonly Placed[] = own === undefined ? others : [...others, own];
      return {
        tools: all.flatMap(({ tools }) => tools),
        external: all.flatMap(({ external }) => (external === undefined ? [] : [external])),
      };
    },
    /** Lets go of what was prepared and is not placed. */
    discard: ({ compiled }: PreparedSystem): void => {
      if (compiled.kind === "tools") void compiled.close().catch((cause: unknown) => log.warn("system_close_failed", { cause }));
    },
    [Symbol.asyncDispose]: async (): Promise<void> => {
      for (const timer of leaving.keys()) clearTimeout(timer);
      await Promise.all([...leaving.values(), ...[...placed.values()].map(({ close }) => close)].map((close) => close()));
    },
  };
};
export type Sources = ReturnType<typeof createSources>;
