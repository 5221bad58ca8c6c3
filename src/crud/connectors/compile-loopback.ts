import type { Issue } from "#contract/problem.ts";
import type { Tool } from "#crud/tools/tool.ts";
import type { MembershipParts } from "#crud/model/ask-membership.ts";
import { createLoopbackConnector, loopbackEndpoints } from "#crud/upstream/loopback-connector.ts";
import { buildTool } from "#crud/mcp/build-tool.ts";
import { definitionOf } from "./definition-of.ts";
import { compileRules } from "#crud/systems/tool-rules.ts";
import type { Compiled, ConnectorKind } from "./connector-kind.ts";
import type { SystemFile } from "#crud/systems/load-systems.ts";
import type { LoopbackDocument } from "#crud/systems/system-document.ts";
import type { TemplateError } from "#crud/systems/template.ts";

/** Turns a loopback system into tools: each operation is one read of this deployment's own API. */
const compileLoopback = (file: SystemFile & { readonly document: LoopbackDocument }, parts: MembershipParts): Compiled => {
  const { document, yaml } = file;
  const issues: Issue[] = [];
  const tell: TemplateError = (path, message) => issues.push(yaml.issue(path, message));
  const tools = new Map<string, Tool>();
  for (const [name, operation] of Object.entries(document.operations)) {
    const path = ["operations", name];
    if (!Object.hasOwn(loopbackEndpoints, operation.request.endpoint)) {
      tell([...path, "request", "endpoint"], `must be one of ${Object.keys(loopbackEndpoints).join(", ")}`);
      continue;
    }
    const definition = definitionOf(`${file.name}.${name}`, operation, document);
    const { outputSchema } = definition;
    const find = (other: string): Tool | undefined => tools.get(other);
    const rules = { ...compileRules({ written: operation, document, outputSchema, find, path, tell }), isReadOnly: true };
    try {
      const connector = createLoopbackConnector(parts, operation.request.endpoint);
      tools.set(name, buildTool(document, definition, rules, connector));
    } catch (error) {
      tell([...path, "input"], error instanceof Error ? error.message : "is wrong");
    }
  }
  return issues.length > 0 ? { kind: "degraded", issues } : { kind: "tools", tools: [...tools.values()], close: async () => {} };
};

/** Endpoints of Sallyport, as the person who calls. */
export const loopbackConnector: ConnectorKind<LoopbackDocument> = {
  compile: (file, parts) => (parts.withLoopback ? compileLoopback(file, parts) : { kind: "off", name: "MCP_LOOPBACK_ONLY_HEALTH" }),
  cutsAnswers: false,
  hostsOf: () => [],
  secretsOf: () => [],
  serversOf: () => [],
  registryName: "external",
};
