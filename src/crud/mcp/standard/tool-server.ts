import { ProtocolError, Server, type CallToolResult, type ServerContext, type Tool as WireTool } from "@modelcontextprotocol/server";
import { isRawNumber } from "#contract/exact-numbers.ts";
import { rpcCodes } from "#contract/json-rpc.ts";
import type { Problem } from "#contract/problem.ts";
import { MASKED_META } from "#contract/masked-places.ts";
import { asProblem } from "#http/problem-body.ts";
import { leftOutMeta } from "#crud/tools/catalogue.ts";
import { listedName } from "#crud/tools/views.ts";
import type { ToolReply } from "#crud/tools/tool-call.ts";
import { LIST_TTL_MS } from "#crud/mcp/list-tools.ts";
import { watchRpc, type Watch } from "#crud/mcp/protocol-log.ts";
import { errorData, isRefusal, messageOf } from "#crud/mcp/rpc-error.ts";
import type { Tool } from "#crud/tools/tool.ts";
import type { ToolService, Visit } from "#crud/mcp/tool-service.ts";
import { completeIssues } from "./protocol-issues.ts";

export interface ToolServerParts extends Watch {
  readonly toolService: ToolService;
  readonly version: string;
}

const PAGE = 200;
const hints = ["title", "readOnlyHint", "destructiveHint", "idempotentHint", "openWorldHint"] as const;

const wireTool = (tool: Tool, visit: Visit): WireTool => {
  const { definition } = tool;
  const annotations = Object.fromEntries(
    hints.flatMap((name) => (definition.annotations?.[name] === undefined ? [] : [[name, definition.annotations[name]]])),
  );
  return {
    name: listedName(visit.view, tool),
    title: definition.title,
    description: definition.description,
    inputSchema: definition.inputSchema as WireTool["inputSchema"],
    ...(definition.outputSchema === undefined ? {} : { outputSchema: definition.outputSchema as NonNullable<WireTool["outputSchema"]> }),
    ...(Object.keys(annotations).length === 0 ? {} : { annotations }),
  };
};

/** The output twice: structured for programs, the same as text for models. */
const resultOf = (server: Server, reply: ToolReply): CallToolResult => {
  const isText = typeof reply.value === "string";
  const content = [
    { type: "text", text: isText ? (reply.value as string) : JSON.stringify(reply.value) },
    ...reply.media,
  ] as CallToolResult["content"];
  const result: CallToolResult = {
    content,
    // The library would take a number that is stored as its text for an object.
    ...(isText || isRawNumber(reply.value) ? {} : { structuredContent: reply.value as NonNullable<CallToolResult["structuredContent"]> }),
    _meta: {
      "sallyport/callId": reply.callId,
      "sallyport/decisionId": reply.decisionId,
      ...(reply.isAuditPending ? { "sallyport/audit": "pending" } : {}),
      ...(reply.isReplay ? { "sallyport/replayed": true } : {}),
      ...(reply.masked.length === 0 ? {} : { [MASKED_META]: reply.masked }),
    },
  };
  return server.projectCallToolResult(result, reply.outputSchema);
};

/** What a model needs to read to know what to do next. */
const adviceOf = (problem: Problem, data: ReturnType<typeof errorData>, isForAgent: boolean): string => {
  const lines = [`${messageOf(problem)} (${problem.code}).`];
  for (const issue of problem.options.errors ?? []) lines.push(`${issue.path === "" ? "arguments" : issue.path} ${issue.message}`);
  if (data.step_up !== undefined)
    lines.push(
      `Sign in again (${data.step_up.level}, at most ${data.step_up.max_age_s} s ago) at ${data.step_up.url} and repeat the call.`,
    );
  const offer = problem.options.members?.["access_request"] as
    | { readonly endpoint: string; readonly display: { readonly message: string } }
    | undefined;
  if (offer !== undefined)
    lines.push(
      `${offer.display.message} ${isForAgent ? "The person you act for asks" : "Ask"} for it at ${offer.endpoint} with the members of access_request, then repeat the call as it is.`,
    );
  if (data.decision_id !== undefined) lines.push(`Decision ${data.decision_id}.`);
  return lines.join("\n");
};

/** Failures that the model can do something about are results; refusals and issues of Sallyport are errors. */
const isResult = (problem: Problem, visit: Visit): boolean =>
  problem.code === "invalid_arguments" ||
  problem.code === "step_up_required" ||
  problem.code === "approval_required" ||
  problem.fails === "upstream" ||
  (isRefusal(problem) && visit.view.denial === "result");

const failureOf = (problem: Problem, visit: Visit): CallToolResult => {
  const data = errorData(problem, visit.correlationId);
  if (isResult(problem, visit))
    return {
      isError: true,
      content: [{ type: "text", text: adviceOf(problem, data, visit.caller.agent !== undefined) }],
      _meta: { "sallyport/error": data },
    };
  const code = problem.code === "unknown_tool" ? rpcCodes.invalidParams : problem.rpcCode;
  throw new ProtocolError(code, messageOf(problem), data);
};

/** The visit of one request; put there by the endpoint after it has authenticated it. */
const visitOf = (context: ServerContext): Visit => {
  const visit = context.http?.authInfo?.extra?.["visit"];
  if (visit === undefined) throw new ProtocolError(rpcCodes.internal, "no caller");
  return visit as Visit;
};

/**
 * A server of the official SDK for one request or one session. Handlers take caller, view and snapshot from the request,
 * so a session's token may change while its principal stays. `correlationId` is that of the request being answered.
 */
export const createToolServer = (view: Visit["view"], parts: ToolServerParts, correlationId: () => string): Server => {
  const server = new Server(
    { name: "sallyport", title: view.title ?? "Sallyport", version: parts.version },
    {
      capabilities: { tools: { listChanged: true } },
      instructions: view.instructions,
      cacheHints: {
        "tools/list": { ttlMs: LIST_TTL_MS, cacheScope: "private" },
        "server/discover": { ttlMs: LIST_TTL_MS, cacheScope: "private" },
      },
    },
  );
  const watched = <T>(visit: Visit, method: string, tool: string | undefined, work: () => Promise<T>): Promise<T> =>
    watchRpc({ ...visit, view: visit.view.name }, method, tool, parts, work);

  server.setRequestHandler("tools/list", async (request, context) => {
    const visit = visitOf(context);
    try {
      const cursor = request.params?.cursor;
      const listed = await watched(visit, "tools/list", undefined, () => parts.toolService.list(visit, { limit: PAGE, cursor }));
      return {
        tools: listed.tools.map((tool) => wireTool(tool, visit)),
        nextCursor: listed.nextCursor,
        ...leftOutMeta(visit.snapshot, visit.view, visit.caller.tenant),
      };
    } catch (error) {
      const problem = asProblem(error);
      throw new ProtocolError(problem.rpcCode, messageOf(problem), errorData(problem, visit.correlationId));
    }
  });

  server.setRequestHandler("tools/call", async (request, context) => {
    const visit = visitOf(context);
    const { name, arguments: given } = request.params;
    const idempotencyKey = context.http?.req?.headers.get("idempotency-key") ?? context.mcpReq._meta?.["sallyport/idempotencyKey"];
    try {
      const reply = await watched(visit, "tools/call", name, () =>
        parts.toolService.call(visit, { method: "tools/call", name, arguments: given, idempotencyKey, signal: context.mcpReq.signal }),
      );
      return resultOf(server, reply);
    } catch (error) {
      return failureOf(asProblem(error), visit);
    }
  });
  const connect = server.connect.bind(server);
  server.connect = (transport) => {
    completeIssues(transport, correlationId);
    return connect(transport);
  };
  return server;
};
