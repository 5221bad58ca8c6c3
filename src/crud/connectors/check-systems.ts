import { Problem } from "#contract/problem.ts";
import { createMetrics } from "#telemetry/metrics.ts";
import type { DegradedFile } from "#crud/documents/degraded-lines.ts";
import type { SystemParts } from "./connector-kind.ts";
import { compileSystem } from "./connectors.ts";
import { loadSystems } from "#crud/systems/load-systems.ts";

/** Nobody is asked anything while files are looked at. */
const unasked = (): Promise<never> => Promise.reject(new Problem("not_found"));

/** Reads and compiles every system as a start would, and serves none. A system without a value for a placeholder is neither loaded nor degraded. */
export const checkSystems = async (parts: {
  readonly folders: readonly string[];
  readonly settings: Pick<SystemParts, "servers" | "ceiling" | "placeholders" | "internalPorts" | "withLoopback" | "requiresTls">;
}): Promise<{
  readonly loaded: readonly string[];
  readonly degraded: readonly DegradedFile[];
  /** How many tools those that loaded have, external servers not counted. */
  readonly tools: number;
}> => {
  const { files, degraded } = await loadSystems(...parts.folders);
  const loaded: string[] = [];
  const faulty: DegradedFile[] = [...degraded];
  let tools = 0;
  const nobody = { clientId: "", asService: unasked, onBehalfOf: unasked };
  for (const file of files) {
    const compiled = await compileSystem(file, {
      ...parts.settings,
      metrics: createMetrics(),
      now: () => new Date(),
      version: "",
      membership: unasked,
      membershipAudience: "",
      identity: nobody,
    });
    if (compiled.kind === "degraded") faulty.push({ name: file.name, issues: compiled.issues });
    if (compiled.kind === "tools") {
      tools += compiled.tools.length;
      await compiled.close();
    }
    if (compiled.kind === "tools" || compiled.kind === "external") loaded.push(file.yaml.file);
  }
  return { loaded, degraded: faulty, tools };
};
