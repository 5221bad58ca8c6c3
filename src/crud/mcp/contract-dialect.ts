import { createHash } from "node:crypto";
import { isObject } from "#contract/is-object.ts";
import { rpcCodes, type RpcResponse } from "#contract/json-rpc.ts";
import { Problem } from "#contract/problem.ts";
import { MASKED_META } from "#contract/masked-places.ts";
import { listTools, listViewTools, toolRpc, viewToolRpc, type ToolDescriptor } from "#contract/tools.ts";
import { requireScope, type Caller } from "#authn/model/caller.ts";
import { asProblem } from "#http/problem-body.ts";
import { readBytes } from "#http/read-bytes.ts";
import type { Router } from "#http/serve.ts";
import { readStrictJson } from "#http/strict-json.ts";
import { leftOut, leftOutMeta } from "#crud/tools/catalogue.ts";
import type { ToolReply } from "#crud/tools/tool-call.ts";
import type { Watch } from "./protocol-log.ts";
import { sinceMs, watchRpc } from "./protocol-log.ts";
import { contractStatus, errorData, messageOf } from "./rpc-error.ts";
import type { Tool } from "#crud/tools/tool.ts";
import { scopes, type ToolService, type Visit } from "./tool-service.ts";

export interface ContractDialectParts extends Watch {
  readonly toolService: ToolService;
  readonly maxBodyBytes: number;
}

/** A list entry: the contract's members and no others. */
const descriptorOf = (tool: Tool): ToolDescriptor => {
  const { definition } = tool;
  return {
    name: tool.name,
    title: definition.title,
    description: definition.description,
    inputSchema: { ...definition.inputSchema },
    source: tool.source,
    ...(tool.isBuiltIn ? {} : { metadata: { provider: tool.provider, instance: tool.instance, env: tool.env } }),
    ...(definition.annotations === undefined ? {} : { annotations: { ...definition.annotations } }),
  };
};

/** Exactly the contract's result: the output as JSON text, then what is no JSON. */
const resultOf = (reply: ToolReply) => ({
  content: [{ type: "text", text: JSON.stringify(reply.value) }, ...reply.media],
  ...(reply.masked.length === 0 ? {} : { _meta: { [MASKED_META]: reply.masked } }),
});

const parseList = (params: unknown): { limit?: number; cursor?: string } => {
  if (params === undefined) return {};
  if (!isObject(params)) throw new Problem("invalid_params", { detail: "params must be an object" });
  const { limit, cursor } = params;
  if (limit !== undefined && typeof limit !== "number") throw new Problem("invalid_limit");
  if (cursor !== undefined && typeof cursor !== "string") throw new Problem("invalid_cursor");
  return { limit, cursor };
};

const parseCall = (params: unknown): { name: string; arguments: unknown; idempotencyKey?: unknown } => {
  if (!isObject(params) || typeof params["name"] !== "string") throw new Problem("invalid_params", { detail: "params.name must be text" });
  const meta = params["_meta"];
  const key = isObject(meta) ? meta["sallyport/idempotencyKey"] : undefined;
  return { name: params["name"], arguments: params["arguments"], idempotencyKey: key };
};

interface Envelope {
  readonly id: string | number;
  readonly method: string;
  readonly params: unknown;
}

/** The envelope; anything but one request of version 2.0 with a usable id is `invalid_request`. Unknown members are ignored. */
const parseEnvelope = (message: unknown): Envelope => {
  if (!isObject(message) || message["jsonrpc"] !== "2.0" || typeof message["method"] !== "string") throw new Problem("invalid_request");
  const { id } = message;
  if (typeof id !== "string" && !(typeof id === "number" && Number.isInteger(id))) throw new Problem("invalid_request");
  return { id, method: message["method"], params: message["params"] };
};

const readMessage = async (request: Request, maxBytes: number): Promise<unknown> => {
  if (!/^application\/json *(?:; *charset="?utf-8"?)? *$/i.test(request.headers.get("content-type") ?? ""))
    throw new Problem("unsupported_media_type");
  const bytes = await readBytes(request, maxBytes);
  // The step of the arguments names what has no canonical form, and where it stands.
  return readStrictJson(bytes, { depth: 64, keepsUnfit: true });
};

/** JSON-RPC code of a message that could not be read; a body that names a member twice is unreadable too. */
const envelopeCode = (problem: Problem): number =>
  problem.code === "duplicate_member" ? rpcCodes.parse : problem.code === "body_too_large" ? rpcCodes.invalidRequest : problem.rpcCode;

export const createContractDialect = (router: Router<Caller>, parts: ContractDialectParts): void => {
  const { toolService } = parts;

  const answerError = (problem: Problem, id: string | number | null, correlationId: string, code = problem.rpcCode): Response => {
    const body: RpcResponse = { jsonrpc: "2.0", id, error: { code, message: messageOf(problem), data: errorData(problem, correlationId) } };
    const headers = new Headers({ "content-type": "application/json", "cache-control": "no-store", "x-correlation-id": correlationId });
    for (const name of ["www-authenticate", "retry-after"]) {
      const value = problem.options.headers?.[name];
      if (value !== undefined) headers.set(name, value);
    }
    const decisionId = problem.options.members?.["decision_id"];
    if (typeof decisionId === "string") headers.set("x-decision-id", decisionId);
    const status = contractStatus(problem);
    if ((status === 503 || status === 429) && !headers.has("retry-after")) headers.set("retry-after", "1");
    return new Response(JSON.stringify(body), { status, headers });
  };

  const run = async (visit: Visit, envelope: Envelope, request: Request): Promise<{ result: unknown; headers: Record<string, string> }> => {
    const { method, params } = envelope;
    if (method === "tools/list") {
      requireScope(visit.caller, [scopes.list]);
      const listed = await toolService.list(visit, parseList(params));
      return {
        result: {
          tools: listed.tools.map(descriptorOf),
          nextCursor: listed.nextCursor,
          ...leftOutMeta(visit.snapshot, visit.view, visit.caller.tenant),
        },
        headers: {},
      };
    }
    if (method !== "tools/invoke" && method !== "tools/call") throw new Problem("unknown_method");
    requireScope(visit.caller, [scopes.call]);
    const { idempotencyKey, ...asked } = parseCall(params);
    const key = request.headers.get("idempotency-key") ?? idempotencyKey;
    const reply = await toolService.call(visit, { method, ...asked, idempotencyKey: key, signal: request.signal });
    return {
      result: resultOf(reply),
      headers: {
        "x-decision-id": reply.decisionId,
        "x-call-id": reply.callId,
        ...(reply.isAuditPending ? { "x-sallyport-audit": "pending" } : {}),
        ...(reply.isReplay ? { "idempotent-replayed": "true" } : {}),
      },
    };
  };

  const rpc = async (caller: Caller, viewName: string, request: Request, correlationId: string): Promise<Response> => {
    let visit: Visit;
    try {
      visit = toolService.enter(caller, viewName, "contract", correlationId);
    } catch (error) {
      const problem = asProblem(error);
      if (problem.code === "unknown_view") throw problem;
      return answerError(problem, null, correlationId, rpcCodes.refused);
    }
    let envelope: Envelope;
    const started = performance.now();
    try {
      envelope = parseEnvelope(await readMessage(request, parts.maxBodyBytes));
    } catch (error) {
      const problem = asProblem(error);
      parts.log.warn("mcp_jsonrpc_error", {
        correlation_id: correlationId,
        dialect: "contract",
        view: viewName,
        code: envelopeCode(problem),
        data_code: problem.code,
        duration_ms: sinceMs(started),
      });
      return answerError(problem, null, correlationId, envelopeCode(problem));
    }
    const name = isObject(envelope.params) && typeof envelope.params["name"] === "string" ? envelope.params["name"] : undefined;
    try {
      const { result, headers } = await watchRpc({ ...visit, view: viewName }, envelope.method, name, parts, () =>
        run(visit, envelope, request),
      );
      const body: RpcResponse = { jsonrpc: "2.0", id: envelope.id, result };
      return new Response(JSON.stringify(body), {
        headers: { "content-type": "application/json", "cache-control": "no-store", "x-correlation-id": correlationId, ...headers },
      });
    } catch (error) {
      return answerError(asProblem(error), envelope.id, correlationId);
    }
  };

  /** The REST lists: `private, no-cache` with an ETag, so that a client may ask again for nothing. */
  const list = async (
    caller: Caller,
    viewName: string,
    query: { limit?: number | undefined; cursor?: string | undefined },
    request: Request,
    correlationId: string,
  ): Promise<Response> => {
    const visit = toolService.enter(caller, viewName, "contract", correlationId);
    const listed = await toolService.list(visit, query);
    const truncated = leftOut(visit.snapshot, visit.view, caller.tenant);
    const tools = JSON.stringify(listed.tools.map(descriptorOf));
    // A cursor is sealed anew each time; the list is the same all the same.
    const held = `${tools} ${listed.nextCursor !== undefined} ${JSON.stringify(truncated)}`;
    const etag = `"sha256-${createHash("sha256").update(held).digest("hex")}"`;
    const headers = {
      etag,
      "cache-control": "private, no-cache",
      vary: "Authorization",
      "x-content-type-options": "nosniff",
      ...(truncated === undefined ? {} : { "x-sallyport-truncated": `kept=${truncated.kept};total=${truncated.total}` }),
    };
    if (request.headers.get("if-none-match") === etag) return new Response(null, { status: 304, headers });
    const cursor = listed.nextCursor === undefined ? "" : `,"nextCursor":${JSON.stringify(listed.nextCursor)}`;
    return new Response(`{"tools":${tools}${cursor}}`, { headers: { ...headers, "content-type": "application/json" } });
  };

  router.serve(listTools, ({ caller, query, request, correlationId }) => list(caller, "", query, request, correlationId));
  router.serve(listViewTools, ({ caller, params, query, request, correlationId }) =>
    list(caller, params.view, query, request, correlationId),
  );
  router.serve(toolRpc, ({ caller, request, correlationId }) => rpc(caller, "", request, correlationId));
  router.serve(viewToolRpc, ({ caller, params, request, correlationId }) => rpc(caller, params.view, request, correlationId));
};
