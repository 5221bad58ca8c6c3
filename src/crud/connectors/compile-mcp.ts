import { TENANT_FOLDER } from "#crud/servers/argument-pattern.ts";
import type { ConnectorKind } from "./connector-kind.ts";
import { fillPlaceholders, type Placeholders } from "#crud/systems/placeholders.ts";
import type { McpDocument } from "#crud/systems/system-document.ts";

/** Fills the settings of a transport; `${TENANT_FOLDER}` stays for the child. */
const compileMcp: ConnectorKind<McpDocument>["compile"] = ({ document, yaml }, { placeholders, servers }) => {
  const known: Placeholders = { ...placeholders, TENANT_FOLDER };
  const env: Record<string, string> = {};
  for (const [name, text] of Object.entries(document.transport.env)) {
    const filled = fillPlaceholders(text, known);
    if (filled.kind === "off") return filled;
    if (filled.kind === "unknown")
      return { kind: "degraded", issues: [yaml.issue(["transport", "env"], `names ${filled.name}, which no setting fills`)] };
    env[name] = filled.text;
  }
  const transport = { ...document.transport, env };
  const issues = servers.check(transport).map(({ path, message }) => yaml.issue(["transport", ...path], message));
  return issues.length > 0 ? { kind: "degraded", issues } : { kind: "external", document: { ...document, transport } };
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
