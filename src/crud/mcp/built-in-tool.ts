import { prepareSchema } from "#parsing/foreign-schema.ts";
import { schemaIssues } from "#parsing/schema-issues.ts";
import { sha256Of } from "#crud/model/digest.ts";
import { underscoreOf } from "#crud/model/names.ts";
import type { Connector, Definition, Tool } from "#crud/tools/tool.ts";

/** A tool of Sallyport itself: it reads, costs nothing, and is no system's. Its name stands in `builtInTools`. */
export const createBuiltInTool = (said: Omit<Definition, "annotations">, connector: Connector): Tool => {
  const definition: Definition = {
    ...said,
    annotations: { readOnlyHint: true, idempotentHint: true, destructiveHint: false, openWorldHint: false },
  };
  const check = prepareSchema(definition.inputSchema);
  return {
    name: definition.name,
    underscore: underscoreOf(definition.name),
    definition,
    digest: sha256Of(definition),
    source: "system",
    provider: "system",
    instance: definition.name.slice("system.".length),
    state: "serving",
    isBuiltIn: true,
    checkArguments: (value, caller) => schemaIssues(check, value, caller),
    rules: {
      scopes: [],
      mappings: [],
      masks: [],
      timeoutMs: 5000,
      reserveMicro: 0n,
      isReadOnly: true,
      isDestructive: false,
      isRepeatable: true,
    },
    connector,
  };
};
