import { join } from "node:path";
import type { Peer } from "#contract/ask.ts";
import type { HouseIdentity } from "#authn/house-identity.ts";
import type { Change } from "#events/change.ts";
import type { Log } from "#telemetry/log.ts";
import type { Metrics } from "#telemetry/metrics.ts";
import { compileHttp, type Compiled } from "#crud/systems/compile-http.ts";
import { compileLoopback } from "#crud/systems/compile-loopback.ts";
import { loadSystems, type DegradedFile, type SystemFile } from "#crud/systems/load-systems.ts";
import { fillPlaceholders, type Placeholders } from "#crud/systems/placeholders.ts";
import type { McpDocument } from "#crud/systems/system-document.ts";
import { createCommandFinder } from "#crud/upstream/installed-command.ts";
import { createChildren } from "#crud/upstream/mcp-children.ts";
import { createDefinitions } from "./definitions.ts";
import { createExternalSystem, type ExternalSystem } from "./external-system.ts";
import type { Tool } from "./tool.ts";

export interface SourcesParts {
  /** `<config>/systems`. */
  readonly folder: string;
  readonly dataFolder: string;
  readonly placeholders: Placeholders;
  readonly housePorts: ReadonlySet<number>;
  readonly stdioAllow: readonly string[];
  /** False: this house's own API gives no tools. */
  readonly withLoopback: boolean;
  /** Tenants that hear of changed definitions of systems without a list of their own. */
  readonly tenants: readonly string[];
  readonly membership: Peer;
  readonly membershipAudience: string;
  readonly identity: HouseIdentity;
  readonly change: Change;
  readonly changed: () => void;
  readonly log: Log;
  readonly metrics: Metrics;
  readonly now: () => Date;
  readonly version: string;
}

/** Everything that gives tools: HTTP and loopback systems at once, external ones as they answer. */
export interface Sources {
  readonly tools: readonly Tool[];
  readonly external: readonly ExternalSystem[];
  readonly degraded: readonly DegradedFile[];
  [Symbol.asyncDispose](): Promise<void>;
}

const MAX_CHILDREN = 64;

const isKind = <K extends string>(
  file: SystemFile,
  kind: K,
): file is SystemFile & { readonly document: Extract<SystemFile["document"], { kind: K }> } => file.document.kind === kind;

/** Fills the settings of a transport; `${TENANT_FOLDER}` stays for the child. `undefined` = off here, a text = a fault. */
const fillTransport = (document: McpDocument, placeholders: Placeholders): McpDocument | { readonly unknown: string } | undefined => {
  const known = { ...placeholders, TENANT_FOLDER: "${TENANT_FOLDER}" };
  const env: Record<string, string> = {};
  for (const [name, text] of Object.entries(document.transport.env)) {
    const filled = fillPlaceholders(text, known);
    if (filled.kind === "off") return undefined;
    if (filled.kind === "unknown") return { unknown: filled.name };
    env[name] = filled.text;
  }
  return { ...document, transport: { ...document.transport, env } };
};

/** Reads the systems folder and makes every source; starts the discovery of external ones without waiting for it. */
export const createSources = async (parts: SourcesParts): Promise<Sources> => {
  const { log } = parts;
  const loaded = await loadSystems(parts.folder);
  const degraded: DegradedFile[] = [...loaded.degraded];
  const tools: Tool[] = [];
  const closes: (() => Promise<void>)[] = [];
  const external: ExternalSystem[] = [];
  const findCommand = createCommandFinder(parts.stdioAllow);
  const places = { taken: 0, most: MAX_CHILDREN };
  const definitions = createDefinitions({ change: parts.change, tenantsOf: (tool) => tool.tenants ?? parts.tenants });

  const take = (file: SystemFile, compiled: Compiled): void => {
    if (compiled.kind === "off") log.info("system_off", { system: file.name, setting: compiled.name });
    else if (compiled.kind === "degraded") degraded.push({ name: file.name, faults: compiled.faults });
    else {
      tools.push(...compiled.tools);
      closes.push(compiled.close);
    }
  };

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
    if (isKind(file, "http")) take(file, compileHttp(file, parts));
    else if (isKind(file, "loopback"))
      take(file, parts.withLoopback ? compileLoopback(file, parts) : { kind: "off", name: "MCP_LOOPBACK_ONLY_HEALTH" });
    else if (isKind(file, "mcp")) {
      const filled = fillTransport(file.document, parts.placeholders);
      if (filled === undefined) log.info("system_off", { system: file.name });
      else if ("unknown" in filled)
        degraded.push({
          name: file.name,
          faults: [file.yaml.fault(["transport", "env"], `names ${filled.unknown}, which no setting fills`)],
        });
      else startExternal(file, filled);
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
