import { join } from "node:path";
import type { Change } from "#events/change.ts";
import type { Log } from "#telemetry/log.ts";
import type { DegradedFile } from "#crud/documents/degraded-lines.ts";
import { compileSystem, type SystemParts } from "#crud/systems/compile-system.ts";
import { loadSystems, type SystemFile } from "#crud/systems/load-systems.ts";
import type { McpDocument } from "#crud/systems/system-document.ts";
import { createCommandFinder } from "#crud/upstream/installed-command.ts";
import { createChildren } from "#crud/upstream/mcp-children.ts";
import { createDefinitions } from "./definitions.ts";
import { createExternalSystem, type ExternalSystem } from "./external-system.ts";
import type { Tool } from "./tool.ts";

export interface SourcesParts extends SystemParts {
  /** `systems` of each configuration folder. */
  readonly folders: readonly string[];
  readonly dataFolder: string;
  readonly stdioAllow: readonly string[];
  /** Tenants that hear of changed definitions of systems without a list of their own. */
  readonly tenants: readonly string[];
  readonly change: Change;
  readonly changed: () => void;
  readonly log: Log;
}

/** Everything that gives tools: HTTP and loopback systems at once, external ones as they answer. */
export interface Sources {
  readonly tools: readonly Tool[];
  readonly external: readonly ExternalSystem[];
  readonly degraded: readonly DegradedFile[];
  [Symbol.asyncDispose](): Promise<void>;
}

const MAX_CHILDREN = 64;

/** Reads the systems folders and makes every source; starts the discovery of external ones without waiting for it. */
export const createSources = async (parts: SourcesParts): Promise<Sources> => {
  const { log } = parts;
  const loaded = await loadSystems(...parts.folders);
  const degraded: DegradedFile[] = [...loaded.degraded];
  const tools: Tool[] = [];
  const closes: (() => Promise<void>)[] = [];
  const external: ExternalSystem[] = [];
  const findCommand = createCommandFinder(parts.stdioAllow);
  const places = { taken: 0, most: MAX_CHILDREN };
  const definitions = createDefinitions({ change: parts.change, tenantsOf: (tool) => tool.tenants ?? parts.tenants });

  const startExternal = (file: SystemFile, document: McpDocument): void => {
    const children = createChildren({
      system: file.name,
      transport: document.transport,
      findCommand,
      folder: join(parts.dataFolder, "systems"),
      places,
      version: parts.version,
      log,
      changed: () => system.refresh(),
      now: parts.now,
    });
    const system = createExternalSystem({
      document,
      children,
      definitions,
      changed: parts.changed,
      log,
      metrics: parts.metrics,
      now: parts.now,
    });
    external.push(system);
    system.refresh();
  };

  for (const file of loaded.files) {
    const compiled = compileSystem(file, parts);
    if (compiled.kind === "off") log.info("system_off", { system: file.name, setting: compiled.name });
    else if (compiled.kind === "degraded") degraded.push({ name: file.name, faults: compiled.faults });
    else if (compiled.kind === "external") startExternal(file, compiled.document);
    else {
      tools.push(...compiled.tools);
      closes.push(compiled.close);
    }
  }
  for (const { name, faults } of degraded) log.error("config_object_degraded", { kind: "system", name, errors: faults });
  return {
    tools,
    external,
    degraded,
    [Symbol.asyncDispose]: async () => {
      await Promise.all([...closes.map((close) => close()), ...external.map((system) => system[Symbol.asyncDispose]())]);
    },
  };
};
