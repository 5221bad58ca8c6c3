import { compileHttp, type Compiled, type CompileParts } from "./compile-http.ts";
import { compileLoopback } from "./compile-loopback.ts";
import type { MembershipParts } from "#crud/ask-membership.ts";
import type { AllowedServers } from "#crud/servers/allowed-servers.ts";
import type { SystemFile } from "./load-systems.ts";
import { TENANT_FOLDER } from "#crud/servers/argument-pattern.ts";
import { fillPlaceholders, type Placeholders } from "./placeholders.ts";
import type { McpDocument } from "./system-document.ts";

export interface SystemParts extends CompileParts, MembershipParts {
  /** False: this deployment's own API gives no tools. */
  readonly withLoopback: boolean;
  /** What may be started. */
  readonly servers: Pick<AllowedServers, "check" | "launch">;
}

/** What a file becomes: tools at once, an external system that is asked for its tools, nothing here, or its faults. */
export type CompiledSystem = Compiled | { readonly kind: "external"; readonly document: McpDocument };

/** Fills the settings of a transport; `${TENANT_FOLDER}` stays for the child. */
const fillTransport = (file: SystemFile, document: McpDocument, { placeholders, servers }: SystemParts): CompiledSystem => {
  const known: Placeholders = { ...placeholders, TENANT_FOLDER };
  const env: Record<string, string> = {};
  for (const [name, text] of Object.entries(document.transport.env)) {
    const filled = fillPlaceholders(text, known);
    if (filled.kind === "off") return filled;
    if (filled.kind === "unknown")
      return {
        kind: "degraded",
        faults: [file.yaml.fault(["transport", "env"], `names ${filled.name}, which no setting fills`)],
      };
    env[name] = filled.text;
  }
  const transport = { ...document.transport, env };
  const faults = servers.check(transport).map(({ path, message }) => file.yaml.fault(["transport", ...path], message));
  return faults.length > 0 ? { kind: "degraded", faults } : { kind: "external", document: { ...document, transport } };
};

/** Turns a file that was read into what gives its tools; the same for a start and for whoever asks what a start would do. */
export const compileSystem = async (file: SystemFile, parts: SystemParts): Promise<CompiledSystem> => {
  const { document } = file;
  if (document.kind !== "http" && document.defaults.response.onExceed === "truncate")
    return {
      kind: "degraded",
      faults: [file.yaml.fault(["defaults", "response", "onExceed"], "truncate is there for systems over http alone")],
    };
  if (document.kind === "http") return compileHttp({ ...file, document }, parts);
  if (document.kind === "mcp") return fillTransport(file, document, parts);
  return parts.withLoopback ? compileLoopback({ ...file, document }, parts) : { kind: "off", name: "MCP_LOOPBACK_ONLY_HEALTH" };
};
