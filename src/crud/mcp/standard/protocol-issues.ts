import type { JSONRPCMessage, Transport } from "@modelcontextprotocol/server";
import { isObject } from "#contract/is-object.ts";
import { rpcCodes } from "#contract/json-rpc.ts";
import type { ProblemCode } from "#contract/problem.ts";

/** JSON-RPC code of the protocol's own for headers that say another thing than the body. */
const HEADER_MISMATCH = -32020;

/** Our words for what the SDK refuses by itself, by the code of its answer. */
const codes: ReadonlyMap<number, ProblemCode> = new Map([
  [rpcCodes.parse, "body_unreadable"],
  [rpcCodes.methodNotFound, "unknown_method"],
  [rpcCodes.invalidParams, "invalid_params"],
  [rpcCodes.internal, "internal"],
  [HEADER_MISMATCH, "ambiguous_headers"],
]);

/** And, where it has one code for many, by the status. */
const statusCodes: ReadonlyMap<number, ProblemCode> = new Map([
  [404, "not_found"],
  [405, "method_not_allowed"],
  [406, "not_acceptable"],
  [413, "too_large"],
  [415, "unsupported_media_type"],
]);

interface Issue {
  readonly error: { readonly code: number; readonly message: string; readonly data?: unknown };
}

const isIssue = (message: unknown): message is Issue =>
  isObject(message) && isObject(message["error"]) && typeof message["error"]["code"] === "number";

/** An issue that says which it is and of which request, like every other of Sallyport; what is said already stays. */
const complete = <T>(message: T, correlationId: string, status?: number): T => {
  if (!isIssue(message)) return message;
  const { data, code } = message.error;
  const said = isObject(data) ? data : {};
  if (typeof said["code"] === "string") return message;
  const own = codes.get(code) ?? statusCodes.get(status ?? 0) ?? "invalid_request";
  return { ...message, error: { ...message.error, data: { ...said, code: own, correlation_id: correlationId } } };
};

/** Completes the issues that a server answers by itself, on their way out. */
export const completeIssues = (transport: Transport, correlationId: () => string): void => {
  const send = transport.send.bind(transport);
  transport.send = (message: JSONRPCMessage, options) => send(complete(message, correlationId()), options);
};

/** Completes a refusal that no server saw. */
export const completeRefusal = async (response: Response, correlationId: string): Promise<Response> => {
  if (response.status < 400 || response.headers.get("content-type")?.startsWith("application/json") !== true) return response;
  const message: unknown = await response.json();
  const headers = new Headers(response.headers);
  headers.delete("content-length");
  return new Response(JSON.stringify(complete(message, correlationId, response.status)), { status: response.status, headers });
};
