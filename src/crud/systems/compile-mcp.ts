import { TENANT_FOLDER } from "#crud/servers/argument-pattern.ts";
import type { ConnectorKind } from "./connector-kind.ts";
import { fillPlaceholders, type Placeholders } from "./placeholders.ts";
import type { McpDocument } from "./system-document.ts";

/** Fills the settings of a transport; `${TENANT_FOLDER}` stays for the child. */
const compileMcp: ConnectorKind<McpDocument>["compile"] = ({ document, yaml }, { placeholders, servers }) => {
  const known: Placeholders = { ...placeholders, TENANT_FOLDER };
  const env: Record<string, string> = {};
  for (const [name, text] of Object.entries(document.transport.env)) {
    const filled = fillPlaceholders(text, known);
    if (filled.kind === "off") return filled;
    if (filled.kind === "unknown")
      return { kind: "degraded", faults: [yaml.fault(["transport", "env"], `names ${filled.name}, which no setting fills`)] };
    env[name] = filled.text;
  }
  const transport = { ...document.transport, env };
  const faults = servers.check(transport).map(({ path, message }) => yaml.fault(["transport", ...path], message));
  return faults.length > 0 ? { kind: "degraded", faults } : { kind: "external", document: { ...document, transport } };
};

/** Servers of MCP that are started on this machine. */
export const mcpConnector: ConnectorKind<McpDocument> = {
  compile: compileMcp,
  cutsAnswers: false,
  hostsOf: ({ transport }) => [`stdio:${transport.command}`],
  secretsOf: () => [],
  serversOf: ({ transport }) => [transport.command],
  registryName: "mcp",
};
