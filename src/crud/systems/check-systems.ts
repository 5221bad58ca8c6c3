import { Problem } from "#contract/problem.ts";
import { createMetrics } from "#telemetry/metrics.ts";
import type { DegradedFile } from "#crud/documents/degraded-lines.ts";
import { createCommandFinder } from "#crud/upstream/installed-command.ts";
import { compileSystem, type SystemParts } from "./compile-system.ts";
import { loadSystems } from "./load-systems.ts";

/** Nobody is asked anything while files are looked at. */
const unasked = (): Promise<never> => Promise.reject(new Problem("not_found"));

/** Reads and compiles every system as a start would, and serves none. A system without a value for a placeholder is neither loaded nor degraded. */
export const checkSystems = async (parts: {
  readonly folders: readonly string[];
  readonly stdioAllow: readonly string[];
  readonly settings: Pick<SystemParts, "placeholders" | "housePorts" | "withLoopback" | "requiresTls">;
}): Promise<{ readonly loaded: readonly string[]; readonly degraded: readonly DegradedFile[] }> => {
  const { files, degraded } = await loadSystems(...parts.folders);
  const findCommand = createCommandFinder(parts.stdioAllow);
  const loaded: string[] = [];
  const faulty: DegradedFile[] = [...degraded];
  const nobody = { clientId: "", asService: unasked, onBehalfOf: unasked };
  for (const file of files) {
    const compiled = compileSystem(file, {
      ...parts.settings,
      metrics: createMetrics(),
      now: () => new Date(),
      version: "",
      membership: unasked,
      membershipAudience: "",
      identity: nobody,
    });
    if (compiled.kind === "degraded") faulty.push({ name: file.name, faults: compiled.faults });
    if (compiled.kind === "tools") await compiled.close();
    if (compiled.kind === "external") {
      const missing = await findCommand(compiled.document.transport.command).then(
        () => undefined,
        (error: Problem) => (error.options.detail ?? error.message).replace(/\.$/, ""),
      );
      if (missing !== undefined)
        faulty.push({
          name: file.name,
          faults: [file.yaml.fault(["transport", "command"], `${compiled.document.transport.command}: ${missing}`)],
        });
    }
    if ((compiled.kind === "tools" || compiled.kind === "external") && faulty.at(-1)?.name !== file.name) loaded.push(file.yaml.file);
  }
  return { loaded, degraded: faulty };
};
