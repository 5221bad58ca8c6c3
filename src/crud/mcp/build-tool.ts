import { prepareSchema } from "#parsing/foreign-schema.ts";
import { schemaIssues } from "#parsing/schema-issues.ts";
import { sha256Of } from "#crud/model/digest.ts";
import { MAX_NAME, underscoreOf } from "#crud/model/names.ts";
import type { CallRules, Connector, Definition, Tool } from "#crud/tools/tool.ts";
import type { SystemDocument } from "#crud/systems/system-document.ts";

/** Makes a tool of a system. Throws an `Error` whose message may be shown if its name or schema cannot be served. */
export const buildTool = (document: SystemDocument, definition: Definition, rules: CallRules, connector: Connector): Tool => {
  if (definition.name.length > MAX_NAME) throw new Error(`the name ${definition.name} is longer than ${MAX_NAME}`);
  const listed = prepareSchema(definition.inputSchema);
  const { inputCheck } = rules;
  const checkArguments: Tool["checkArguments"] = async (value, caller) => {
    const issues = await schemaIssues(listed, value, caller);
    return issues.length > 0 || inputCheck === undefined ? issues : schemaIssues(inputCheck.check, value, caller);
  };
  return {
    name: definition.name,
    underscore: underscoreOf(definition.name),
    definition,
    digest: sha256Of(definition),
    source: "system",
    provider: document.provider,
    instance: document.instance,
    env: document.env,
    owner: document.owner,
    tenants: document.tenants,
    state: "serving",
    isBuiltIn: false,
    checkArguments,
    rules,
    connector,
  };
};
