import { prepareSchema } from "#parsing/foreign-schema.ts";
import { schemaIssues } from "#parsing/schema-issues.ts";
import { sha256Of } from "#crud/model/digest.ts";
import { underscoreOf } from "#crud/model/names.ts";
import type { Definition, Invocation, Tool, UpstreamAnswer } from "#crud/tools/tool.ts";
import type { WorkflowDocument } from "#crud/workflows/model/workflow-document.ts";

/** Starts a run of a document for a call that was permitted. */
export type StartWorkflow = (document: WorkflowDocument, call: Invocation) => Promise<UpstreamAnswer>;

/** What answers a start beside the wait for the end of the run. */
const START_MS = 10_000;

/** A workflow in addresses, events and names of tools. */
export const wireNameOf = (name: string): string => name.replaceAll("-", "_");
/** What the registry has as the service that provides tools of workflows. */
export const WORKFLOW_SERVICE = "workflow";
const workflowToolName = (name: string): string => `${WORKFLOW_SERVICE}.${wireNameOf(name)}`;

/** The tool that starts a workflow. Throws an `Error` whose message may be shown for an input that is no schema. */
export const createWorkflowTool = (document: WorkflowDocument, start: StartWorkflow): Tool => {
  const { name, title, summary, input, owner, tenant, mcp } = document;
  const definition: Definition = {
    name: workflowToolName(name),
    title,
    description: summary === "" ? `Starts the workflow ${title}.` : summary,
    inputSchema: input,
    annotations: { readOnlyHint: false, ...mcp.annotations },
  };
  const check = prepareSchema(input);
  return {
    name: definition.name,
    underscore: underscoreOf(definition.name),
    definition,
    digest: sha256Of(definition),
    source: "workflow",
    provider: WORKFLOW_SERVICE,
    instance: name,
    owner,
    ...(tenant === undefined ? {} : { tenants: [tenant] }),
    state: "serving",
    isBuiltIn: false,
    checkArguments: (value, caller) => schemaIssues(check, value, caller),
    rules: {
      scopes: [],
      mappings: [],
      masks: [],
      timeoutMs: START_MS + mcp.waitMs,
      reserveMicro: 0n,
      isReadOnly: false,
      isDestructive: mcp.annotations["destructiveHint"] === true,
      isRepeatable: true,
    },
    connector: (call) => start(document, call),
  };
};
