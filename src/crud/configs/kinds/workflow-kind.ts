import type { ConfigKind } from "#crud/configs/config-kind.ts";
import { readWorkflow } from "#crud/workflows/definition/read-workflow.ts";
import { WORKFLOW_SERVICE } from "#crud/workflows/definition/workflow-tool.ts";
import { workflowShape } from "#crud/workflows/definition/workflow-shape.ts";
import type { WorkflowDocument } from "#crud/workflows/model/workflow-document.ts";
import { prepareWorkflows, type WorkflowSources } from "./prepare-workflow.ts";

/** Workflows: `workflows/<name>.yaml`. */
export const workflowKind: ConfigKind<WorkflowDocument, WorkflowSources> & { readonly kind: "workflow" } = {
  kind: "workflow",
  manual: {
    title: "Workflows",
    about:
      "`config/workflows/<name>.yaml`, one file a workflow: a strict subset of the Open Workflow DSL 1.0 (Serverless Workflow) with expressions in CEL. " +
      "Tasks are call, set, do, raise, wait, switch, fork, for, try, and `call: human.task`. A call may have `metadata.compensate` `{call, with}`, which undoes it, and " +
      "`metadata.onUnknown` (retry, ask, fail). Expressions read input, context, steps, run, caller, now, loop variables, and the functions first, json, days.",
    shown: ["config/demo/workflows/offboard.yaml", "config/demo/workflows/grant-access.yaml"],
  },
  schema: { "": workflowShape },
  reach: "edit_systems",
  refusal: "invalid_definition",
  systemOf: (name) => ({ tools: `${WORKFLOW_SERVICE}.${name}`, service: WORKFLOW_SERVICE }),
  read: readWorkflow,
  open: prepareWorkflows,
};
