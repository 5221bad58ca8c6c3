import type { PipelineStep } from "#telemetry/pipeline-step.ts";

const below = "crud/mcp/call/steps";

/** The steps of a tool call in their order, by the label that metrics give them. `callTool` runs by these keys and spans. */
export const toolCallSteps = {
  resolve: {
    call: "requireTool",
    file: `${below}/resolve-tool.ts`,
    does: "finds the tool by its name in the view and tenant of the caller",
    refuses: ["unknown_tool"],
  },
  state: {
    span: "mcp.state",
    call: "requireServing",
    file: `${below}/check-state.ts`,
    does: "asks the kill switches and whether the tool is approved",
    refuses: ["tool_disabled", "tool_quarantined", "kill_switch_unknown"],
  },
  arguments: {
    span: "mcp.arguments",
    call: "parseArguments",
    file: `${below}/validate-arguments.ts`,
    does: "validates the arguments against the tool's schema",
    refuses: ["invalid_arguments"],
  },
  delegation: {
    span: "delegation.check",
    call: "parseHops",
    file: `${below}/check-delegation.ts`,
    does: "reads which agents act for the person, and how many",
    refuses: ["delegation_required"],
  },
  decide: {
    span: "pdp.decide",
    call: "requireCall",
    file: `${below}/authorize.ts`,
    does: "asks the decision point, in one batch, for the call and for what the tool's mapping adds",
    refuses: ["access_denied", "step_up_required", "decision_unavailable"],
  },
  chain: {
    span: "chain.check",
    call: "requireReach",
    file: `${below}/check-chain.ts`,
    does: "checks the account and the capability that the tool requires, and reads which rows the caller may see",
    refuses: ["chain_not_eligible", "membership_unavailable"],
  },
  key: {
    call: "claimKey",
    file: "crud/mcp/call/steps/idempotency.ts",
    does: "claims the idempotency key; a stored answer is returned at once",
    refuses: ["in_progress", "idempotency_conflict"],
  },
  reserve: {
    span: "budget.reserve",
    call: "requireReservation",
    file: `${below}/reserve-budget.ts`,
    does: "reserves a step and money of each delegation",
    refuses: ["steps_exhausted", "budget_exhausted"],
  },
  audit: {
    span: "audit.open",
    call: "openCall",
    file: "crud/mcp/call/open-call.ts",
    does: "commits the audit entry that opens the act",
    refuses: ["audit_unavailable"],
  },
  invoke: {
    span: "upstream.invoke",
    call: "invokeUpstream",
    file: `${below}/invoke.ts`,
    does: "calls the upstream with the system's credential",
    refuses: ["upstream_error", "upstream_bad_response", "outcome_unknown"],
  },
  shape: {
    span: "result.shape",
    call: "shapeOutput",
    file: `${below}/filter-output.ts`,
    does: "filters rows, masks values and validates the output",
    refuses: ["output_invalid", "output_too_large", "data_scope_unavailable"],
  },
  close: {
    call: "closeCall",
    file: "crud/mcp/call/close-call.ts",
    does: "settles the money and closes the audit entry, also after a failure; it never undoes the act",
  },
} as const satisfies Readonly<Record<string, PipelineStep>>;

export type ToolCallStep = keyof typeof toolCallSteps;
