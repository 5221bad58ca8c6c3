import type { Fault } from "#contract/problem.ts";
import type { Tool } from "#crud/mcp/tool.ts";
import type { MembershipParts } from "#crud/ask-membership.ts";
import { createLoopbackConnector, loopbackEndpoints } from "#crud/upstream/loopback-connector.ts";
import { buildTool } from "./build-tool.ts";
import { callRules, definitionOf } from "./call-rules.ts";
import type { Compiled } from "./compile-http.ts";
import type { SystemFile } from "./load-systems.ts";
import type { LoopbackDocument } from "./system-document.ts";
import type { TemplateFault } from "./template.ts";

/** Turns a loopback system into tools: each operation is one read of this deployment's own API. */
export const compileLoopback = (file: SystemFile & { readonly document: LoopbackDocument }, parts: MembershipParts): Compiled => {
  const { document, yaml } = file;
  const faults: Fault[] = [];
  const tell: TemplateFault = (path, message) => faults.push(yaml.fault(path, message));
  const tools = new Map<string, Tool>();
  for (const [name, operation] of Object.entries(document.operations)) {
    const path = ["operations", name];
    if (!Object.hasOwn(loopbackEndpoints, operation.request.endpoint)) {
      tell([...path, "request", "endpoint"], `must be one of ${Object.keys(loopbackEndpoints).join(", ")}`);
      continue;
    }
    const rules = { ...callRules(operation, document, (other) => tools.get(other), path, tell), isReadOnly: true };
    try {
      const connector = createLoopbackConnector(parts, operation.request.endpoint);
      tools.set(name, buildTool(document, definitionOf(`${file.name}.${name}`, operation, document), rules, connector));
    } catch (error) {
      tell([...path, "input"], error instanceof Error ? error.message : "is wrong");
    }
  }
  return faults.length > 0 ? { kind: "degraded", faults } : { kind: "tools", tools: [...tools.values()], close: async () => {} };
};
