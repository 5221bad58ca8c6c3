import type { Log } from "#telemetry/log.ts";
import type { Metrics } from "#telemetry/metrics.ts";
import type { builtInTools } from "#pdp-client/pairs.ts";
import type { ToolsDocument } from "#crud/documents/tools-document.ts";
import { buildSnapshot, type Snapshot } from "#crud/tools/catalogue.ts";
import type { ExternalSystem } from "./external-system.ts";
import type { Tool } from "#crud/tools/tool.ts";

export interface CatalogueKeeperParts {
  readonly builtIn: Readonly<Record<keyof typeof builtInTools, Tool>>;
  readonly tools: () => readonly Tool[];
  readonly external: () => readonly ExternalSystem[];
  /** Tools that start workflows. */
  readonly workflows?: () => readonly Tool[];
  readonly document: () => ToolsDocument;
  readonly maxTools?: number | undefined;
  readonly log: Log;
  readonly metrics: Metrics;
}

type Sourced = Pick<CatalogueKeeperParts, "tools" | "external" | "document" | "workflows">;

/** Holds the present snapshot and swaps it whole. */
export const createCatalogueKeeper = (parts: CatalogueKeeperParts) => {
  const { log, metrics } = parts;
  const listeners = new Set<() => void>();
  const build = (from: Sourced = parts): Snapshot => {
    const external = from.external();
    return buildSnapshot({
      tools: [
        ...Object.values(parts.builtIn),
        ...from.tools(),
        ...(from.workflows?.() ?? []),
        ...external.flatMap((system) => system.tools),
      ],
      document: from.document(),
      systems: external,
      quarantined: new Set(external.flatMap((system) => [...system.quarantined])),
      maxTools: parts.maxTools,
    });
  };

  let logged: ReadonlySet<string> = new Set();
  let cutBefore = 0;
  /** What is missing is logged when it begins to be, not of each catalogue that it is missing in. */
  const report = (built: Snapshot): void => {
    for (const state of ["serving", "disabled", "quarantined"] as const) {
      metrics.set("mcp_catalogue_tools", { state }, [...built.tools.values()].filter((tool) => tool.state === state).length);
    }
    const collisions = new Set(built.dropped.filter((row) => row.reason === "name_collision").map(({ name }) => name));
    for (const name of collisions) {
      if (logged.has(name)) continue;
      log.error("config_object_degraded", {
        kind: "tool",
        name,
        errors: [{ path: "", message: "another tool has this name", code: "name_collision" }],
      });
    }
    logged = collisions;
    const cut = built.dropped.filter((row) => row.reason === "max_tools").length;
    if (cut > 0 && cut !== cutBefore) log.warn("mcp_catalogue_truncated", { kept: built.tools.size, dropped: cut });
    cutBefore = cut;
  };

  let snapshot = build();
  report(snapshot);
  return {
    get snapshot(): Snapshot {
      return snapshot;
    },
    /** Builds anew and serves that: an edit need not show in any definition. Where lists read as before nobody is told. */
    rebuild: (): void => {
      const before = snapshot;
      snapshot = build();
      if (snapshot.revision === before.revision) return;
      report(snapshot);
      for (const listener of listeners) listener();
    },
    /** What a rebuild would give with these in place of their own; serves nothing. */
    preview: (other: Partial<Sourced>): Snapshot => build({ ...parts, ...other }),
    /** Told after a swap; the returned function ends it. */
    subscribe: (changed: () => void): (() => void) => {
      listeners.add(changed);
      return () => listeners.delete(changed);
    },
  };
};
export type CatalogueKeeper = ReturnType<typeof createCatalogueKeeper>;
