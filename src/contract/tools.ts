import { z } from "zod";
import { endpoint } from "./endpoint.ts";
import { rpcRequest, rpcResponse } from "./json-rpc.ts";

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
const listQuery = z.strictObject({ limit: z.string().transform(Number).or(z.number()).optional(), cursor: z.string().optional() });
const view = z.object({ view: z.string() });
const list = { auth: "bearer" as const, scope: ["mcp.tools.discovery"] };
/** Faults of the envelope are answered as JSON-RPC, so the handler reads the body. Scopes depend on the method. */
const call = { auth: "bearer" as const, ownBody: true as const };

export const listTools = endpoint("crud", "GET", "/mcp/tools/list", {
  query: listQuery,
  reply: toolListReply,
  ...list,
  problems: ["invalid_limit", "invalid_cursor", "pdp_unavailable"],
  summary: "Tools that the caller may use.",
});

export const listViewTools = endpoint("crud", "GET", "/mcp/{view}/tools/list", {
  params: view,
  query: listQuery,
  reply: toolListReply,
  ...list,
  problems: ["unknown_view", "invalid_limit", "invalid_cursor", "pdp_unavailable"],
  summary: "Tools of one view that the caller may use; health is always there.",
});

export const toolRpc = endpoint("crud", "POST", "/mcp/jsonrpc", {
  body: rpcRequest,
  reply: rpcResponse,
  ...call,
  summary: "tools/list, tools/invoke and its alias tools/call, over JSON-RPC.",
});

export const viewToolRpc = endpoint("crud", "POST", "/mcp/{view}/jsonrpc", {
  params: view,
  body: rpcRequest,
  reply: rpcResponse,
  ...call,
  problems: ["unknown_view"],
  summary: "The same within one view.",
});

export const explainedDoor = z.object({
  door: z.string(),
  outcome: z.enum(["pass", "fail", "depends", "skipped"]),
  reason: z.string().optional(),
  edge: z.object({ kind: z.string(), from: z.string(), to: z.string() }).optional(),
  policy_id: z.string().optional(),
  decision_id: z.string().optional(),
  remedy: z.string().optional(),
});

export const toolExplanation = z.object({
  tool: z.string(),
  listed: z.boolean(),
  callable: z.enum(["yes", "no", "depends"]),
  revision: z.string(),
  doors: z.array(explainedDoor),
});
export type ToolExplanation = z.infer<typeof toolExplanation>;

export const explainTool = endpoint("crud", "GET", "/mcp/tools/explain", {
  query: z.strictObject({ tool: z.string(), view: z.string().optional(), user_id: z.string().optional(), agent_id: z.string().optional() }),
  reply: toolExplanation,
  auth: "bearer",
  scope: ["mcp.tools.discovery"],
  decision: "tool/explain",
  problems: ["access_denied", "unknown_tool"],
  summary: "Why a tool is, or is not, in somebody's list; nothing is called.",
});

/** Module switches of the web client, computed for the caller; a missing key is off. */
export const uiConfig = endpoint("crud", "GET", "/configs/ui", {
  reply: z.object({ modules: z.record(z.string(), z.boolean()), brand: z.record(z.string(), z.string()) }),
  auth: "bearer",
  summary: "Which modules the signed-in person's client shows.",
});

export const crudHealth = endpoint("crud", "GET", "/health", {
  reply: z.looseObject({ status: z.string() }),
  auth: "none",
  summary: "Whether the tool server answers.",
});
