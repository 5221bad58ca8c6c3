import { z } from "zod";
import { endpoint, withoutAgents } from "./endpoint.ts";
import { nodeId, plainText, queryNumber } from "./ids.ts";
import { reasons, type Reason } from "./authzen.ts";
import { reserveRefusals } from "./reservations.ts";
import { switchedOff } from "./switched-off.ts";
import { isProblemCode, type ProblemCode } from "./problem.ts";
import { anyMembers } from "./json-members.ts";
import { rpcRequest, rpcResponse, rpcStatuses } from "./json-rpc.ts";

/** The tool protocol of the CRUD service: the contract's dialect. The standard endpoint `/mcp` is the SDK's. */

export const toolDescriptor = z.object({
  name: z.string(),
  title: z.string().optional(),
  description: z.string(),
  inputSchema: z.record(z.string(), z.unknown()),
  source: z.enum(["system", "workflow"]),
  metadata: z.object({ provider: z.string().optional(), instance: z.string().optional(), env: z.string().optional() }).optional(),
  annotations: z.record(z.string(), z.unknown()).optional(),
});
export type ToolDescriptor = z.infer<typeof toolDescriptor>;

export const toolListReply = z.object({ tools: z.array(toolDescriptor), nextCursor: z.string().optional() });

/** A limit that is no number is `invalid_limit`, like one that is out of range: the handler says so. */
const listQuery = z.strictObject({
  limit: z
    .unknown()
    .transform((given) => (given === undefined ? undefined : Number(queryNumber(given))))
    .optional()
    .meta({ type: "integer", minimum: 1, maximum: 500 }),
  cursor: z.string().optional(),
});
const viewName = plainText(1, 200);
/** Of what no tool is called the handler says so. */
const toolName = plainText(1, 128);
const view = z.object({ view: viewName });
const withAgents = { auth: "bearer", agents: "decided" } as const;
const list = {
  query: listQuery,
  reply: toolListReply,
  ...withAgents,
  scope: ["mcp.tools.discovery"],
  headers: { "If-None-Match": z.string().optional() },
  moreStatuses: [304],
};
/** The tool protocol says a decision's reason as the code. */
export const decidedProblems = [
  "unknown_client",
  "pdp_unavailable",
  "decision_unavailable",
  "access_denied",
  ...reasons.filter((reason): reason is Reason & ProblemCode => isProblemCode(reason)),
] as const;
/** A view may be closed to the caller. */
const listProblems = ["invalid_limit", "invalid_cursor", "kill_switch_unknown", ...decidedProblems] as const;
/** What a client calls one call by, so that it is done once. */
export const callKey = z.string().regex(/^[\x21-\x7e]{1,128}$/);
/** Issues of the envelope are answered as JSON-RPC, so the handler reads the body. Scopes depend on the method. */
const call = {
  body: rpcRequest,
  reply: rpcResponse,
  ...withAgents,
  ownBody: { statuses: rpcStatuses },
  headers: { "Idempotency-Key": callKey.optional() },
};

export const listTools = endpoint("crud", "GET", "/mcp/tools/list", {
  ...list,
  problems: listProblems,
  summary: "Tools that the caller may use.",
});

export const listViewTools = endpoint("crud", "GET", "/mcp/{view}/tools/list", {
  params: view,
  ...list,
  problems: ["unknown_view", ...listProblems],
  summary: "Tools of one view that the caller may use; health is always there.",
});

export const toolRpc = endpoint("crud", "POST", "/mcp/jsonrpc", {
  ...call,
  summary: "tools/list, tools/invoke and its alias tools/call, over JSON-RPC.",
});

export const viewToolRpc = endpoint("crud", "POST", "/mcp/{view}/jsonrpc", {
  params: view,
  ...call,
  problems: ["unknown_view"],
  summary: "The same within one view.",
});

const toolArguments = anyMembers.optional();
/** A tool by its name, or an operation by its system, the kind of object that it is about, and the action. */
const executeAsk = z.union([
  z.strictObject({ tool: toolName, arguments: toolArguments }),
  z.strictObject({
    system: plainText(1, 128),
    object_type: z.string().min(1).max(64).optional(),
    action: z.string().min(1).max(64),
    params: toolArguments,
  }),
]);
export type ExecuteAsk = z.infer<typeof executeAsk>;

const executeReply = z.object({
  /** False where the upstream, not Sallyport, did not do it: `error` says why. */
  success: z.boolean(),
  data: z.unknown().optional(),
  error: z
    .object({
      code: z.string(),
      message: z.string(),
      /** What the upstream answered, where it did. */
      status: z.int().optional(),
      /** Nothing was done; the same call may go better later. */
      retryable: z.boolean(),
    })
    .optional(),
  call_id: z.string(),
  decision_id: z.string(),
  /** Charged to the delegation, US dollars. */
  cost_usd: z.number(),
  duration_ms: z.int(),
  /** There is more than `data` holds. */
  truncated: z.boolean(),
  /** The call is done, its record is still to be closed. */
  audit: z.literal("pending").optional(),
  /** The answer is that of an earlier call with the same key. */
  replayed: z.literal(true).optional(),
  /** What the tool itself calls its next page. */
  next_cursor: z.string().optional(),
});

export const execute = endpoint("crud", "POST", "/execute", {
  body: executeAsk,
  keepsDigits: true,
  reply: executeReply,
  ...withAgents,
  scope: ["mcp.tools.invoke"],
  headers: { "Idempotency-Key": callKey.optional() },
  problems: [
    ...decidedProblems,
    ...reserveRefusals,
    "audit_unavailable",
    "data_scope_unavailable",
    "expression_limit",
    "idempotency_conflict",
    "in_progress",
    "invalid_arguments",
    "invalid_params",
    "kill_switch_unknown",
    "ledger_inconsistent",
    "mapping_error",
    "membership_unavailable",
    "outcome_unknown",
    "output_invalid",
    "output_too_large",
    "pdp_bad_answer",
    "reply_withheld",
    "secrets_unavailable",
    "stopping",
    "tool_disabled",
    "tool_quarantined",
    "unknown_tool",
  ],
  limits: ["overloaded"],
  summary:
    "One call of one tool without JSON-RPC, through every step of the pipeline; a refusal is a problem, a failure of the upstream an answer.",
});

export const explainedStep = z.object({
  step: z.string(),
  outcome: z.enum(["pass", "fail", "depends", "skipped"]),
  reason: z.string().optional(),
  edge: z.object({ kind: z.string(), from: z.string(), to: z.string() }).optional(),
  policy_id: z.string().optional(),
  decision_id: z.string().optional(),
  remedy: z.string().optional(),
});

/** What is still lacking for a call, in the order in which it is done. */
export const missingStep = z.object({
  step: z.enum(["switch_on", "register", "approve", "grant", "capability", "delegate", "application", "network", "secret", "secret_use"]),
  /** Who can do it. */
  who: z.string(),
  how: z.string(),
  /** What it is done to, where that is not the tool: a secret, an application, the scope of a kill switch. */
  on: z.string().optional(),
});
export type MissingStep = z.infer<typeof missingStep>;

export const toolExplanation = z.object({
  tool: z.string(),
  /** What holds for whoever calls it. */
  about: z.object({
    state: z.enum(["serving", "disabled", "quarantined"]),
    digest: z.string(),
    system: z.string().optional(),
    owner: z.string().optional(),
    /** Held for a call of an agent and at most charged for it, US dollars. */
    price_usd: z.number(),
    read_only: z.boolean(),
    /** Absent: no stronger sign-in than the session's own. */
    step_up: z.object({ acr_value: z.string(), max_age_seconds: z.int() }).optional(),
    /** The kill switch that is in the way. */
    switched_off: switchedOff.optional(),
  }),
  listed: z.boolean(),
  callable: z.enum(["yes", "no", "depends"]),
  revision: z.string(),
  steps: z.array(explainedStep),
  missing: z.array(missingStep),
});
export type ToolExplanation = z.infer<typeof toolExplanation>;

export const explainTool = endpoint("crud", "GET", "/mcp/tools/explain", {
  query: z.strictObject({
    tool: toolName,
    view: viewName.or(z.literal("")).optional(),
    user_id: nodeId.optional(),
    agent_id: nodeId.optional(),
  }),
  reply: toolExplanation,
  ...withAgents,
  scope: ["mcp.tools.discovery"],
  decision: "tool/explain",
  problems: ["unknown_tool", "unknown_view"],
  summary: "Why a tool is, or is not, in somebody's list; nothing is called.",
});

/** Which systems would be without their credential if a secret went away. */
export const listSecretUses = endpoint("crud", "GET", "/config/secret-uses", {
  query: z.strictObject({ uri: z.string().min(1).max(1024) }),
  reply: z.object({ systems: z.array(z.object({ name: z.string(), title: z.string(), uris: z.array(z.string()) })) }),
  ...withoutAgents({ scope: ["config.read"], decision: "system/view" }),
  summary: "Systems that name a secret, a key of it, or something below it; those that the caller may see.",
});

/** Parts of the web client that an instance switches on for groups. */
export const uiModules = ["agents", "pdp", "secrets", "tasks", "workflows"] as const;
export type UiModule = (typeof uiModules)[number];

/** Module switches of the web client, computed for the caller; a missing key is off. */
export const uiConfig = endpoint("crud", "GET", "/configs/ui", {
  reply: z.object({ modules: z.record(z.string(), z.boolean()), brand: z.record(z.string(), z.string()) }),
  ...withoutAgents(),
  problems: ["membership_unavailable"],
  summary: "Which modules the signed-in person's client shows.",
});

export const crudHealth = endpoint("crud", "GET", "/health", {
  reply: z.looseObject({ status: z.string() }),
  auth: "none",
  summary: "Whether the tool server answers.",
});
