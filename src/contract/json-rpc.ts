import { z } from "zod";

/** JSON-RPC 2.0 as the contract's tool dialect speaks it. */

export const rpcId = z.string().or(z.number().int());

export const rpcRequest = z.looseObject({ jsonrpc: z.literal("2.0"), id: rpcId, method: z.string(), params: z.unknown().optional() });

/** Where and how strongly to sign in before the call is repeated. */
export const rpcStepUp = z.object({ level: z.string(), max_age_s: z.number().int(), url: z.string() });

export const rpcErrorData = z.looseObject({
  /** A code of `problem.ts`; for a denial the decision's reason. */
  code: z.string(),
  correlation_id: z.string(),
  call_id: z.string().optional(),
  decision_id: z.string().optional(),
  retry_after_s: z.number().int().optional(),
  errors: z.array(z.looseObject({ path: z.string(), message: z.string() })).optional(),
  step_up: rpcStepUp.optional(),
});
export type RpcErrorData = z.infer<typeof rpcErrorData>;
export const rpcError = z.object({ code: z.number().int(), message: z.string(), data: rpcErrorData.optional() });

export const rpcResponse = z.object({
  jsonrpc: z.literal("2.0"),
  id: rpcId.nullable(),
  result: z.unknown().optional(),
  error: rpcError.optional(),
});
export type RpcResponse = z.infer<typeof rpcResponse>;

/** HTTP statuses with which an error may come besides 200. */
export const rpcStatuses = [400, 403, 413, 415, 429, 503] as const;

export const rpcCodes = {
  parse: -32700,
  invalidRequest: -32600,
  methodNotFound: -32601,
  invalidParams: -32602,
  internal: -32603,
  refused: -32001,
} as const;
