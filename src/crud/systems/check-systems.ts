import { Problem, type Fault } from "#contract/problem.ts";
import { createMetrics } from "#telemetry/metrics.ts";
import type { DegradedFile } from "#crud/documents/degraded-lines.ts";
import { createCommandFinder, type FindCommand } from "#crud/upstream/installed-command.ts";
import { compileSystem, type SystemParts } from "./compile-system.ts";
import { loadSystems, type SystemFile } from "./load-systems.ts";

/** Nobody is asked anything while files are looked at. */
const unasked = (): Promise<never> => Promise.reject(new Problem("not_found"));

/** Why the command that a system would start is none that may be started here. */
export const commandFault = async ({ document, yaml }: SystemFile, find: FindCommand): Promise<readonly Fault[]> => {
  if (document.kind !== "mcp") return [];
  const { command } = document.transport;
  try {
    await find(command);
    return [];
  } catch (error) {
    const why = error instanceof Problem ? (error.options.detail ?? error.message) : "cannot be started";
    return [yaml.fault(["transport", "command"], `${command}: ${why.replace(/\.$/, "")}`)];
  }
};

/** Reads and compiles every system as a start would, and serves none. A system without a value for a placeholder is neither loaded nor degraded. */
export const checkSystems = async (parts: {
  readonly folders: readonly string[];
  readonly stdioAllow: readonly string[];
  readonly settings: Pick<SystemParts, "placeholders" | "housePorts" | "withLoopback" | "requiresTls">;
}): Promise<{
  readonly loaded: readonly string[];
  readonly degraded: readonly DegradedFile[];
  /** How many tools those that loaded have, external servers not counted. */
  readonly tools: number;
}> => {
  const { files, degraded } = await loadSystems(...parts.folders);
  const findCommand = createCommandFinder(parts.stdioAllow);
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
    if (compiled.kind === "degraded") faulty.push({ name: file.name, faults: compiled.faults });
    if (compiled.kind === "tools") {
      tools += compiled.tools.length;
      await compiled.close();
    }
    const missing = compiled.kind === "external" ? await commandFault(file, findCommand) : [];
    if (missing.length > 0) faulty.push({ name: file.name, faults: missing });
    if ((compiled.kind === "tools" || compiled.kind === "external") && faulty.at(-1)?.name !== file.name) loaded.push(file.yaml.file);
  }
  return { loaded, degraded: faulty, tools };
};
