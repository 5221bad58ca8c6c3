import { AsyncLocalStorage } from "node:async_hooks";
import { createMcpHandler, isInitializeRequest, isLegacyRequest, type AuthInfo } from "@modelcontextprotocol/server";
import { rpcCodes } from "#contract/json-rpc.ts";
import { Problem } from "#contract/problem.ts";
import { endpoint as endpointShape } from "#contract/endpoint.ts";
import { z } from "zod";
import { requireScope, type Caller } from "#authn/caller.ts";
import type { Authenticate } from "#authn/authenticate.ts";
import { correlationIdOf } from "#http/correlation-id.ts";
import { asProblem, problemResponse } from "#http/problem-body.ts";
import { readBytes } from "#http/read-bytes.ts";
import type { Router } from "#http/serve.ts";
import { parseStrictJson } from "#http/strict-json.ts";
import { endpointAsk } from "#crud/mcp/list-tools.ts";
import { scopes, type Visit } from "#crud/mcp/tool-desk.ts";
import { requireEntry } from "#crud/mcp/call/decide-door.ts";
import type { Decider } from "#pdp/decide.ts";
import { createOriginGuard } from "./guard-origin.ts";
import { createLegacySessions, type LegacySessions } from "./legacy-sessions.ts";
import type { ListChanges } from "./list-changes.ts";
import { createProtectedResource } from "./protected-resource.ts";
import { createToolServer, type ToolServerParts } from "./tool-server.ts";

export interface StandardEndpointParts extends ToolServerParts {
  readonly authenticate: Authenticate;
  readonly decider: Decider;
  readonly changes: ListChanges;
  /** Origin under which clients reach `/mcp`. */
  readonly publicUrl: string;
  /** This service's own address. */
  readonly ownUrl: string;
  readonly authorizationServers: readonly string[];
  readonly allowedOrigins: readonly string[];
  readonly maxBodyBytes: number;
  readonly legacySessions: boolean;
  readonly now: () => Date;
}

export interface StandardEndpoint {
  readonly sessions: number;
  [Symbol.asyncDispose](): Promise<void>;
}

/** Only a credential; which scope is needed depends on the message. */
const bearer = endpointShape("crud", "POST", "/mcp", { reply: z.unknown(), auth: "bearer", summary: "Standard MCP." });

const discovery = new Set(["tools/list", "initialize", "server/discover", "subscriptions/listen", "ping"]);
const entering = new Set(["initialize", "server/discover", "subscriptions/listen"]);

const methodOf = (message: unknown): string | undefined =>
  typeof message === "object" && message !== null && "method" in message && typeof message.method === "string" ? message.method : undefined;

const rpcFault = (status: number, code: number, message: string, id: unknown = null): Response =>
  new Response(JSON.stringify({ jsonrpc: "2.0", id, error: { code, message } }), {
    status,
    headers: { "content-type": "application/json", "cache-control": "no-store" },
  });

/** Entering is for whoever may discover or invoke; a call needs its own scope. */
const requireMethodScope = (caller: Caller, method: string | undefined): void => {
  if (method === "tools/call") requireScope(caller, [scopes.call]);
  else if (method === "tools/list") requireScope(caller, [scopes.list]);
  else if (method === undefined || discovery.has(method) || method.startsWith("notifications/"))
    requireScope(caller, Object.values(scopes));
  else requireScope(caller, [scopes.list]);
};

/**
 * Standard MCP at `/mcp` and `/mcp/{view}` on the official SDK: the 2026-07-28 revision statelessly, the 2025 ones with
 * sessions (or without). Bearer tokens only. Every request is authenticated, whatever its session.
 */
export const createStandardEndpoint = (router: Router<Caller>, parts: StandardEndpointParts): StandardEndpoint => {
  const resource = createProtectedResource(parts);
  const guardOrigin = createOriginGuard({ urls: [parts.publicUrl, parts.ownUrl], origins: parts.allowedOrigins });
  const visits = new AsyncLocalStorage<Visit>();
  const sessions: LegacySessions = createLegacySessions({
    serverFor: (view) => createToolServer(view, parts),
    changes: parts.changes,
    now: parts.now,
  });

  const currentVisit = (): Visit => {
    const visit = visits.getStore();
    if (visit === undefined) throw new TypeError("outside a request");
    return visit;
  };
  const handler = createMcpHandler(() => createToolServer(currentVisit().view, parts), {
    legacy: "stateless",
    onerror: (error) => parts.log.debug("mcp_protocol_fault", { cause: error }),
    // The SDK subscribes while it serves the request that asked for it, so the listener is known by its caller.
    bus: {
      publish: () => {},
      subscribe: (listener) => parts.changes.subscribe(currentVisit(), () => listener({ kind: "tools_list_changed" })),
    },
  });

  const authInfoOf = (visit: Visit): AuthInfo => ({
    token: "",
    clientId: visit.caller.clientId ?? visit.caller.sub,
    scopes: [...visit.caller.scopes],
    expiresAt: visit.caller.expiresAt,
    extra: { visit },
  });

  const enter = async (request: Request, viewName: string, message: unknown, correlationId: string): Promise<Visit> => {
    const caller = await parts.authenticate(request, bearer);
    const method = methodOf(message);
    requireMethodScope(caller, method);
    const visit = parts.desk.enter(caller, viewName, "standard", correlationId);
    if (method !== undefined && entering.has(method)) {
      const decided = await parts.decider.decide(caller, endpointAsk(method, parts.publicUrl), correlationId);
      requireEntry(decided, caller, { publicOrigin: parts.publicUrl, now: parts.now });
    }
    return visit;
  };

  const readMessage = async (request: Request): Promise<{ readonly message: unknown } | Response> => {
    if (!/^application\/json\b/i.test(request.headers.get("content-type") ?? ""))
      return rpcFault(415, rpcCodes.invalidRequest, "Send application/json.");
    try {
      // The door of the arguments names what has no canonical form, and where it stands.
      const message = parseStrictJson(await readBytes(request, parts.maxBodyBytes), { depth: 64, keepsUnfit: true });
      return Array.isArray(message) ? rpcFault(400, rpcCodes.invalidRequest, "Batches are not served.") : { message };
    } catch (error) {
      const problem = asProblem(error);
      return problem.code === "body_too_large"
        ? rpcFault(413, rpcCodes.invalidRequest, "The message is too large.")
        : rpcFault(400, rpcCodes.parse, "The message is not readable.");
    }
  };

  const serve = async (request: Request, viewName: string, correlationId: string): Promise<Response> => {
    guardOrigin(request);
    const hasSession = request.headers.has("mcp-session-id");
    if (request.method !== "POST") {
      const visit = await enter(request, viewName, undefined, correlationId);
      if (hasSession && parts.legacySessions) return sessions.serve(request, visit, authInfoOf(visit));
      return visits.run(visit, () => handler.fetch(request, { authInfo: authInfoOf(visit) }));
    }
    // Who asks is settled before what they sent is read.
    await parts.authenticate(request, bearer);
    const read = await readMessage(request);
    if (read instanceof Response) return read;
    const { message } = read;
    const visit = await enter(request, viewName, message, correlationId);
    const authInfo = authInfoOf(visit);
    return visits.run(visit, async () => {
      if (parts.legacySessions && (await isLegacyRequest(request, message))) {
        if (hasSession) return sessions.serve(request, visit, authInfo, message);
        if (isInitializeRequest(message)) return sessions.begin(request, visit, authInfo, message);
      }
      return handler.fetch(request, { authInfo, parsedBody: message });
    });
  };

  const answer = async (request: Request, viewName: string): Promise<Response> => {
    const correlationId = correlationIdOf(request.headers.get("x-correlation-id"));
    let response: Response;
    try {
      response = await serve(request, viewName, correlationId);
    } catch (error) {
      const problem = asProblem(error);
      if (problem.status >= 500)
        parts.log.error("mcp_request_failed", { correlation_id: correlationId, code: problem.code, cause: problem.options.cause });
      response = problemResponse(resource.challenge(viewName, problem), correlationId);
    }
    if (!response.headers.has("x-correlation-id")) response.headers.set("x-correlation-id", correlationId);
    return response;
  };

  for (const method of ["POST", "GET", "DELETE"] as const) {
    router.raw(method, "/mcp", (request) => answer(request, ""));
    router.raw(method, "/mcp/{view}", (request, params) => answer(request, params["view"] ?? ""));
  }
  const metadata = async (view: string): Promise<Response> =>
    new Response(JSON.stringify(resource.metadata(view)), {
      headers: { "content-type": "application/json", "cache-control": "public, max-age=300", "access-control-allow-origin": "*" },
    });
  router.raw("GET", "/.well-known/oauth-protected-resource/mcp", () => metadata(""));
  router.raw("GET", "/.well-known/oauth-protected-resource/mcp/{view}", (_request, params) => {
    if (!parts.desk.hasView(params["view"] ?? "")) throw new Problem("not_found");
    return metadata(params["view"] ?? "");
  });

  return {
    get sessions() {
      return sessions.count;
    },
    [Symbol.asyncDispose]: async () => {
      await sessions[Symbol.asyncDispose]();
      await handler.close();
    },
  };
};
