import { LRUCache } from "lru-cache";
import type { Caller } from "#authn/model/caller.ts";
import { requireScope } from "#authn/model/caller.ts";
import type { VerifyBearer } from "#authn/keys/service-identity.ts";
import { Problem } from "#contract/problem.ts";
import type { Principal } from "#pdp-client/pdp-client.ts";
import { bearerChallenge } from "./challenge.ts";
import type { Inbound } from "#gateway/model/inbound.ts";
import type { PublicOrigins } from "#gateway/model/public-origins.ts";
import type { GatewayParts } from "#gateway/model/gateway-parts.ts";
import { fillPath } from "#gateway/routes/route-pattern.ts";
import type { Route } from "#gateway/routes/route-table.ts";
import type { SessionCookies } from "#gateway/sessions/session-cookies.ts";
import type { SessionRecord } from "#gateway/sessions/session-store.ts";
import type { Sessions } from "#gateway/sessions/sessions.ts";
import type { BrowserClient } from "#gateway/sessions/session-records.ts";

/** Who a request comes from, once its row has said which credential counts. */
export type Recognised =
  | { readonly kind: "none" }
  | { readonly kind: "session"; readonly record: SessionRecord; readonly principal: Principal }
  | { readonly kind: "bearer"; readonly caller: Caller; readonly principal: Principal };

export interface RecogniseParts extends Pick<GatewayParts, "verifierFor" | "metrics"> {
  readonly sessions: Sessions;
  readonly cookies: SessionCookies;
  readonly origins: PublicOrigins;
  /** Scopes of what a session asks of Sallyport's services. */
  readonly sessionScopes: readonly string[];
  /** Clients that may enter the tool endpoints without being an agent. */
  readonly firstPartyClients: ReadonlySet<string>;
}

export interface Recogniser {
  /** By cookie alone. Throws `unauthenticated`; two cookies of our name are none, and both are cleared. */
  session(inbound: Inbound): Promise<Recognised & { readonly kind: "session" }>;
  /** By the Authorization header alone; query tokens never count. */
  bearer(inbound: Inbound, route: Route, captures: ReadonlyMap<string, string>): Promise<Recognised & { readonly kind: "bearer" }>;
  /** Against the gateway's own public origins, for its own endpoints. */
  ownBearer(inbound: Inbound): Promise<Caller>;
  hasCookie(inbound: Inbound): boolean;
  /** The refusal of a session that lives no more; its cookie is cleared. */
  unknownSession(): Problem;
}

const MAX_VERIFIERS = 256;

export const clientOf = (inbound: Inbound): BrowserClient => ({
  userAgent: inbound.headers.get("user-agent") ?? "",
  address: inbound.clientAddress,
});

export const hasBearer = (inbound: Inbound): boolean => /^bearer(?: |$)/i.test(inbound.headers.get("authorization") ?? "");

/** The session's person as the decision point and the services see them. */
const principalOfSession = (record: SessionRecord, scopes: ReadonlySet<string>): Principal => ({
  sub: record.subject,
  tenant: record.tenant,
  amr: record.amr,
  scopes,
  acr: record.acr,
  authTime: record.authTime,
});

/** Tool endpoints are entered by agents and by our own clients; any other client is unknown there. */
const isToolEndpoint = (path: string): boolean => /^(?:\/api\/crud)?\/mcp(?:\/|$)/.test(path);

/** What a row asks of a valid token. Throws `insufficient_scope`, `unknown_client`. */
export const guardBearer = (
  route: Route,
  path: string,
  caller: Pick<Caller, "scopes" | "agent" | "clientId">,
  firstPartyClients: ReadonlySet<string>,
): void => {
  requireScope(caller, route.row.bearer?.scopes ?? []);
  if (!isToolEndpoint(path) || caller.agent !== undefined) return;
  if (caller.clientId === undefined || !firstPartyClients.has(caller.clientId))
    throw new Problem("unknown_client", { detail: "Register this client as an agent first." });
};

export const createRecogniser = (parts: RecogniseParts): Recogniser => {
  const verifiers = new LRUCache<string, VerifyBearer>({ max: MAX_VERIFIERS });
  const sessionScopes = new Set(parts.sessionScopes);
  const verifier = (audiences: readonly string[]): VerifyBearer => {
    const key = audiences.join(" ");
    const made = verifiers.get(key) ?? parts.verifierFor(audiences);
    verifiers.set(key, made);
    return made;
  };
  const check = (inbound: Inbound, audiences: readonly string[]): Promise<Caller> => {
    const authorization = inbound.headers.get("authorization");
    const headers = new Headers();
    if (authorization !== undefined) headers.set("authorization", authorization);
    return verifier(audiences)(new Request("http://gateway.internal/", { headers }));
  };

  const challenge = (error: unknown, inbound: Inbound, route: Route, captures: ReadonlyMap<string, string>): never => {
    if (!(error instanceof Problem) || error.status !== 401) throw error;
    const origin = inbound.origin ?? parts.origins.first;
    const value = bearerChallenge({ route, captures, origin }, error.code === "unauthenticated" ? undefined : "invalid_token");
    throw new Problem(error.code, { ...error.options, headers: { ...error.options.headers, "www-authenticate": value } });
  };

  /** How recognition ended, for both credentials; and how long it took for a session. */
  const watched = async <T>(auth: "session" | "bearer", work: () => Promise<T>): Promise<T> => {
    const started = performance.now();
    let status = "ok";
    try {
      return await work();
    } catch (error) {
      status = error instanceof Problem && error.status < 500 ? "refused" : "error";
      throw error;
    } finally {
      parts.metrics.count("bff_auth_requests_total", { auth, status });
      if (auth === "session") parts.metrics.observe("bff_session_validation_duration_ms", { status }, performance.now() - started);
    }
  };

  const refuse = (clear: boolean): Problem =>
    new Problem("unauthenticated", {
      members: { login_url: "/auth/login" },
      headers: { "www-authenticate": "Cookie", ...(clear ? { "set-cookie": parts.cookies.clearSid() } : {}) },
    });

  const bySession: Recogniser["session"] = async (inbound) => {
    const sid = parts.cookies.readSid(inbound.headers.get("cookie"));
    if (sid.kind !== "one") throw refuse(sid.kind === "ambiguous");
    try {
      const record = await parts.sessions.recognise(sid.value, clientOf(inbound), inbound.correlationId);
      return { kind: "session", record, principal: principalOfSession(record, sessionScopes) };
    } catch (error) {
      if (error instanceof Problem && error.code === "unauthenticated") throw refuse(true);
      throw error;
    }
  };
  const byBearer: Recogniser["bearer"] = async (inbound, route, captures) => {
    const audiences = route.audiences.flatMap((text) => {
      const filled = fillPath(text, captures);
      return filled.startsWith("/") ? parts.origins.list.map((origin) => (filled === "/" ? origin : `${origin}${filled}`)) : [filled];
    });
    let caller: Caller;
    try {
      caller = await check(inbound, audiences);
    } catch (error) {
      return challenge(error, inbound, route, captures);
    }
    guardBearer(route, inbound.target.path, caller, parts.firstPartyClients);
    return { kind: "bearer", caller, principal: caller };
  };

  return {
    hasCookie: (inbound) => parts.cookies.readSid(inbound.headers.get("cookie")).kind !== "none",
    session: (inbound) => watched("session", () => bySession(inbound)),
    bearer: (inbound, route, captures) => watched("bearer", () => byBearer(inbound, route, captures)),
    ownBearer: (inbound) => check(inbound, parts.origins.list),
    unknownSession: () => refuse(true),
  };
};
