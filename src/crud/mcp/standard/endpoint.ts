import { AsyncLocalStorage } from "node:async_hooks";
import { randomUUID } from "node:crypto";
import { createMcpHandler, isInitializeRequest, isLegacyRequest, type AuthInfo } from "@modelcontextprotocol/server";
import { rawNumberPaths } from "#contract/exact-numbers.ts";
import { isObject } from "#contract/is-object.ts";
import { rpcCodes } from "#contract/json-rpc.ts";
import { Problem } from "#contract/problem.ts";
import { placeOf } from "#contract/shape-issues.ts";
import { endpoint as endpointShape } from "#contract/endpoint.ts";
import { z } from "zod";
import { endsInMs, requireScope, type Caller } from "#authn/model/caller.ts";
import type { Authenticate } from "#authn/callers/authenticate.ts";
import { correlationIdOf } from "#http/correlation-id.ts";
import { asProblem, problemResponse } from "#http/problem-body.ts";
import { readBytes } from "#http/read-bytes.ts";
import type { Router } from "#http/serve.ts";
import { readStrictJson } from "#http/strict-json.ts";
import { principalOf } from "#crud/tools/tool-call.ts";
import { endpointAsk } from "#crud/mcp/list-tools.ts";
import { scopes, type Visit } from "#crud/mcp/tool-service.ts";
import { requireEntry } from "#crud/mcp/call/steps/authorize.ts";
import type { PdpClient } from "#pdp-client/pdp-client.ts";
import { createOriginGuard } from "./guard-origin.ts";
import { createLegacySessions } from "./legacy-sessions.ts";
import type { ListChanges } from "./list-changes.ts";
import { createProtectedResource } from "./protected-resource.ts";
import { createSessionShare, type HeldPlace } from "./session-share.ts";
import { completeRefusal } from "./protocol-issues.ts";
import { createToolServer, type ToolServerParts } from "./tool-server.ts";

export interface StandardEndpointParts extends ToolServerParts {
  readonly authenticate: Authenticate;
  readonly pdpClient: PdpClient;
  readonly changes: ListChanges;
  /** Origin under which clients reach `/mcp`. */
  readonly publicUrl: string;
  /** This service's own address. */
  readonly ownUrl: string;
  readonly authorizationServers: readonly string[];
  readonly allowedOrigins: readonly string[];
  readonly maxBodyBytes: number;
  readonly legacySessions: boolean;
  readonly sessionsPerPrincipal: number;
  readonly now: () => Date;
}

/** Only a credential; which scope is needed depends on the message. */
const bearer = endpointShape("crud", "POST", "/mcp", { reply: z.unknown(), auth: "bearer", agents: "decided", summary: "Standard MCP." });

const MAX_SUBSCRIPTIONS = 10_000;

const discovery = new Set(["tools/list", "initialize", "server/discover", "subscriptions/listen", "ping"]);
const entering = new Set(["initialize", "server/discover", "subscriptions/listen"]);

const methodOf = (message: unknown): string | undefined =>
  typeof message === "object" && message !== null && "method" in message && typeof message.method === "string" ? message.method : undefined;

const rpcError = (status: number, code: number, message: string, id: unknown = null): Response =>
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
export const createStandardEndpoint = (router: Router<Caller>, parts: StandardEndpointParts): AsyncDisposable => {
  const resource = createProtectedResource(parts);
  const guardOrigin = createOriginGuard({ urls: [parts.publicUrl, parts.ownUrl], origins: parts.allowedOrigins });
  const visits = new AsyncLocalStorage<{ readonly visit: Visit; readonly place?: HeldPlace }>();
  const correlationIdOfVisit = (): string => visits.getStore()?.visit.correlationId ?? randomUUID();
  const share = createSessionShare({ max: parts.sessionsPerPrincipal, now: parts.now });
  const sessions = createLegacySessions({
    serverFor: (view) => createToolServer(view, parts, correlationIdOfVisit),
    changes: parts.changes,
    share,
    log: parts.log,
    now: parts.now,
  });

  const current = () => {
    const entered = visits.getStore();
    if (entered === undefined) throw new TypeError("outside a request");
    return entered;
  };
  const handler = createMcpHandler(() => createToolServer(current().visit.view, parts, correlationIdOfVisit), {
    legacy: "stateless",
    onerror: (error) => parts.log.debug("mcp_protocol_fault", { cause: error }),
    // The SDK subscribes while it serves the request that asked for it, so the listener is known by its caller.
    bus: {
      publish: () => {},
      subscribe: (listener) => {
        const { visit, place } = current();
        if (place !== undefined) place.streams++;
        const unsubscribe = parts.changes.subscribe(visit, () => listener({ kind: "tools_list_changed" }));
        return () => {
          unsubscribe();
          place?.release();
        };
      },
    },
    // Each principal has its share.
    maxSubscriptions: MAX_SUBSCRIPTIONS,
  });

  const authInfoOf = (visit: Visit): AuthInfo => ({
    token: "",
    clientId: visit.caller.clientId ?? visit.caller.sub,
    scopes: [...visit.caller.scopes],
    expiresAt: visit.caller.expiresAt,
    extra: { visit },
  });

  const enter = async (caller: Caller, viewName: string, message: unknown, correlationId: string): Promise<Visit> => {
    const method = methodOf(message);
    requireMethodScope(caller, method);
    const visit = parts.toolService.enter(caller, viewName, "standard", correlationId);
    if (method !== undefined && entering.has(method)) {
      const decided = await parts.pdpClient.decide(caller, endpointAsk(method, parts.publicUrl), correlationId);
      requireEntry(decided, caller, { pdpClient: parts.pdpClient, publicOrigin: parts.publicUrl });
    }
    return visit;
  };

  /** The library would leave it out without a word. */
  const namesPrototype = (message: unknown): boolean =>
    isObject(message) &&
    isObject(message["params"]) &&
    isObject(message["params"]["arguments"]) &&
    Object.hasOwn(message["params"]["arguments"], "__proto__");
  const readMessage = async (request: Request): Promise<{ readonly message: unknown } | Response> => {
    if (!/^application\/json\b/i.test(request.headers.get("content-type") ?? ""))
      return rpcError(415, rpcCodes.invalidRequest, "Send application/json.");
    try {
      // The step of the arguments names what has no canonical form, and where it stands.
      const message = await readStrictJson(await readBytes(request, parts.maxBodyBytes), { depth: 64, keepsUnfit: true });
      if (Array.isArray(message)) return rpcError(400, rpcCodes.invalidRequest, "Batches are not served.");
      // Elsewhere the library would copy a number that is stored as its text as an object.
      const astray = rawNumberPaths(message).find(
        ([first, second, third]) => first !== "params" || second !== "arguments" || third === undefined,
      );
      if (astray !== undefined) return rpcError(400, rpcCodes.invalidParams, `${placeOf(astray)} is a number that no double holds.`);
      return namesPrototype(message) ? rpcError(400, rpcCodes.invalidParams, "No argument is called __proto__.") : { message };
    } catch (error) {
      const problem = asProblem(error);
      if (problem.code === "rate_limited") throw problem;
      return problem.code === "body_too_large"
        ? rpcError(413, rpcCodes.invalidRequest, "The message is too large.")
        : rpcError(400, rpcCodes.parse, "The message is not readable.");
    }
  };

  /** What lasts ends with the token that opened it. */
  const untilExpiry = (visit: Visit): readonly AbortSignal[] => {
    const left = endsInMs(visit.caller, parts.now());
    return left === undefined ? [] : [AbortSignal.timeout(left)];
  };

  /** A stream that tells of changes: one of the principal's places for as long as it is open. */
  const subscribe = async (request: Request, visit: Visit, message: unknown): Promise<Response> => {
    const leave = new AbortController();
    const place = share.claim(principalOf(visit.caller), () => leave.abort());
    const { url, method, headers } = request;
    const asked = new Request(url, { method, headers, signal: AbortSignal.any([request.signal, leave.signal, ...untilExpiry(visit)]) });
    try {
      return await visits.run({ visit, place }, () => handler.fetch(asked, { authInfo: authInfoOf(visit), parsedBody: message }));
    } finally {
      // Refused: nothing was opened.
      if (place.streams === 0) place.release();
    }
  };

  const serve = async (request: Request, viewName: string, correlationId: string): Promise<Response> => {
    guardOrigin(request);
    const hasSession = request.headers.has("mcp-session-id");
    // Who asks is settled before what they sent is read.
    const caller = await parts.authenticate(request, bearer);
    if (request.method !== "POST") {
      const visit = await enter(caller, viewName, undefined, correlationId);
      if (hasSession && parts.legacySessions) return sessions.serve(request, visit, authInfoOf(visit), undefined, untilExpiry(visit));
      return visits.run({ visit }, () => handler.fetch(request, { authInfo: authInfoOf(visit) }));
    }
    using _share = router.shareOf(request, caller);
    const read = await readMessage(request);
    if (read instanceof Response) return read;
    const { message } = read;
    const visit = await enter(caller, viewName, message, correlationId);
    const authInfo = authInfoOf(visit);
    return visits.run({ visit }, async () => {
      if (parts.legacySessions && (await isLegacyRequest(request, message))) {
        if (hasSession) return sessions.serve(request, visit, authInfo, message);
        if (isInitializeRequest(message)) return sessions.begin(request, visit, authInfo, message);
      }
      if (methodOf(message) === "subscriptions/listen") return subscribe(request, visit, message);
      return handler.fetch(request, { authInfo, parsedBody: message });
    });
  };

  const answer = async (request: Request, viewName: string): Promise<Response> => {
    const correlationId = correlationIdOf(request.headers.get("x-correlation-id"));
    let response: Response;
    try {
      response = await completeRefusal(await serve(request, viewName, correlationId), correlationId);
    } catch (error) {
      const problem = asProblem(error);
      if (problem.status >= 500)
        parts.log.error("mcp_request_failed", { correlation_id: correlationId, code: problem.code, cause: problem.options.cause });
      response = problemResponse(resource.challenge(request, viewName, problem), correlationId);
    }
    if (!response.headers.has("x-correlation-id")) response.headers.set("x-correlation-id", correlationId);
    return response;
  };

  for (const method of ["POST", "GET", "DELETE"] as const) {
    router.raw(method, "/mcp", (request) => answer(request, ""));
    router.raw(method, "/mcp/{view}", (request, params) => answer(request, params["view"] ?? ""));
  }
  const metadata = async (request: Request, view: string): Promise<Response> =>
    new Response(JSON.stringify(resource.metadata(request, view)), {
      headers: { "content-type": "application/json", "cache-control": "public, max-age=300", "access-control-allow-origin": "*" },
    });
  router.raw("GET", "/.well-known/oauth-protected-resource/mcp", (request) => metadata(request, ""));
  router.raw("GET", "/.well-known/oauth-protected-resource/mcp/{view}", (request, params) => {
    if (!parts.toolService.hasView(params["view"] ?? "")) throw new Problem("not_found");
    return metadata(request, params["view"] ?? "");
  });

  return {
    [Symbol.asyncDispose]: async () => {
      await sessions[Symbol.asyncDispose]();
      await handler.close();
    },
  };
};
