import { prepareSchema } from "#parsing/foreign-schema.ts";
import { schemaIssues } from "#parsing/schema-issues.ts";
import { sha256Of } from "#crud/model/digest.ts";
import { underscoreOf } from "#crud/model/names.ts";
import type { Connector, Definition, Tool } from "#crud/tools/tool.ts";

/** What a tool of Sallyport does; it reads unless it says otherwise. */
interface BuiltInEffect {
  readonly isReadOnly?: boolean;
  readonly isDestructive?: boolean;
  readonly isRepeatable?: boolean;
}

/** A tool of Sallyport itself: it costs nothing, and is no system's. Its name stands in `builtInTools`. */
export const createBuiltInTool = (
  declared: Omit<Definition, "annotations">,
  connector: Connector,
  { isReadOnly = true, isDestructive = false, isRepeatable = true }: BuiltInEffect = {},
): Tool => {
  const definition: Definition = {
    ...declared,
    annotations: { readOnlyHint: isReadOnly, idempotentHint: isRepeatable, destructiveHint: isDestructive, openWorldHint: false },
  };
  const source = definition.name.startsWith("workflow.") ? "workflow" : "system";
  const check = prepareSchema(definition.inputSchema);
  return {
    name: definition.name,
    underscore: underscoreOf(definition.name),
    definition,
    digest: sha256Of(definition),
    source,
    provider: source,
    instance: definition.name.slice(source.length + 1),
    state: "serving",
    isBuiltIn: true,
    checkArguments: (value, caller) => schemaIssues(check, value, caller),
    rules: {
      scopes: [],
      mappings: [],
      masks: [],
      timeoutMs: 5000,
      reserveMicro: 0n,
      isReadOnly,
      isDestructive,
      isRepeatable,
    },
    connector,
  };
};
