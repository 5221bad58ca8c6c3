import { Problem } from "#contract/problem.ts";
import type { Tracing } from "#telemetry/tracing.ts";
import { guardMarks } from "./canonical-path.ts";
import type { CsrfDoor } from "./csrf.ts";
import type { DecideRoute } from "./decide-route.ts";
import type { Inbound } from "./front-door/inbound.ts";
import type { RateDoor } from "./limits/rate-door.ts";
import { isNavigation, refreshPage } from "./plain-page.ts";
import type { Proxy } from "./proxy/proxy.ts";
import { hasBearer, type Recognised, type Recogniser } from "./recognise.ts";
import { redirect } from "./reply.ts";
import type { RevealDoor } from "./reveal-door.ts";
import type { RowMethod } from "./routes/route-row.ts";
import { capturesOf, type Route, type RouteHit } from "./routes/route-table.ts";
import type { createStreamRelay } from "./streams/stream-relay.ts";

/** A request of a row that has passed every door. */
export interface RouteCall {
  readonly inbound: Inbound;
  readonly route: Route;
  readonly captures: ReadonlyMap<string, string>;
  readonly who: Recognised;
}

export type InsideHandler = (call: RouteCall) => Promise<Response>;

export interface ServeRouteParts {
  readonly tracing: Tracing;
  readonly rate: RateDoor;
  readonly recogniser: Recogniser;
  readonly csrf: CsrfDoor;
  readonly decide: DecideRoute;
  readonly reveal: RevealDoor;
  readonly proxy: Proxy;
  readonly relay: ReturnType<typeof createStreamRelay>;
  /** Handlers of rows with `target_service: internal`, by the row's id. */
  readonly inside: Readonly<Record<string, InsideHandler>>;
}

export type ServeRoute = (inbound: Inbound, hit: RouteHit, matched: (id: string) => void) => Promise<Response>;

const admits = (route: Route, method: string): boolean =>
  (route.row.methods as string[]).includes(method) || (method === "HEAD" && route.row.methods.includes("GET") && !route.row.streaming);

const allowOf = (routes: readonly Route[]): string => {
  const methods = new Set<string>(routes.flatMap((route) => route.row.methods));
  if (routes.some((route) => admits(route, "HEAD"))) methods.add("HEAD");
  return [...methods].join(", ");
};

/** The rows of one path that take the method. The most specific pattern has spoken: there is no other to try. */
const requireRows = (routes: readonly Route[], method: string): readonly Route[] => {
  const fitting = routes.filter((route) => admits(route, method));
  if (fitting.length === 0) throw new Problem("method_not_allowed", { headers: { allow: allowOf(routes) } });
  return fitting;
};

const isOnNavigation = (inbound: Inbound): boolean => inbound.method === "GET" && isNavigation(inbound);

/** The way to sign in for a page load: a link from another site first gets the strict cookie a chance to come along. */
const signInPage = (inbound: Inbound): Response => {
  const site = inbound.headers.get("sec-fetch-site");
  if (site !== undefined && site !== "same-origin" && site !== "none") return refreshPage();
  return redirect(302, `/auth/login?return_to=${encodeURIComponent(inbound.target.path + inbound.target.query)}`);
};

export const createServeRoute = (parts: ServeRouteParts): ServeRoute => {
  /** Of a session and a bearer row of one path the credential chooses; on a single row the other credential is stripped. */
  const chooseRow = (rows: readonly Route[], inbound: Inbound): Route => {
    const [only, other] = rows;
    if (only === undefined) throw new Problem("not_found");
    if (other === undefined) return only;
    const byCookie = parts.recogniser.hasCookie(inbound);
    const byToken = hasBearer(inbound);
    if (byCookie && byToken) throw new Problem("ambiguous_credentials");
    const wanted = byToken ? "bearer" : "session";
    const found = rows.find((route) => route.row.auth === wanted);
    if (found === undefined) throw new Problem("not_found");
    return found;
  };

  const recognise = async (inbound: Inbound, route: Route, captures: ReadonlyMap<string, string>): Promise<Recognised | Response> => {
    if (route.row.auth === "none") return { kind: "none" };
    if (route.row.auth === "bearer") return parts.recogniser.bearer(inbound, route, captures);
    try {
      const who = await parts.recogniser.session(inbound);
      parts.csrf.guard(inbound, who.record);
      return who;
    } catch (error) {
      if (error instanceof Problem && error.code === "unauthenticated" && isOnNavigation(inbound)) return signInPage(inbound);
      throw error;
    }
  };

  const send = async (call: RouteCall): Promise<Response> => {
    const { inbound, route, captures, who } = call;
    const record = who.kind === "session" ? who.record : undefined;
    const decide = () =>
      who.kind === "none"
        ? Promise.resolve({ body: undefined })
        : parts.decide({ inbound, route, captures, asker: who.asker, record, method: inbound.method });
    const { body } = await decide();
    if (route.target.kind === "internal") {
      const handler = parts.inside[route.id];
      if (handler === undefined) throw new Problem("not_found");
      return parts.tracing.span("gateway.inside", {}, () => handler(call));
    }
    if (route.row.streaming && who.kind === "session") {
      const recheck = async (): Promise<void> => {
        await decide();
      };
      return parts.tracing.span("gateway.proxy", { kind: "client" }, () => parts.relay({ ...call, who, body, recheck }));
    }
    return parts.tracing.span("gateway.proxy", { kind: "client" }, () => parts.proxy.forward({ ...call, body }));
  };

  return async (inbound, hit, matched) => {
    matched(hit.routes[0]?.id ?? "unmatched");
    const rows = requireRows(hit.routes, inbound.method);
    if (inbound.method === "OPTIONS")
      return withCors(new Response(null, { status: 204, headers: { allow: allowOf(hit.routes) } }), inbound, rows, true);
    const route = chooseRow(rows, inbound);
    matched(route.id);
    guardMarks(inbound.target, route.row.allow_encoded);
    if (inbound.method === "DELETE" && inbound.body !== undefined && !route.row.delete_body) throw new Problem("body_not_allowed");
    const captures = capturesOf(route, hit.captured);
    const limit = route.row.rate ?? (route.row.auth === "none" ? "anonymous" : route.row.auth);
    const who = await parts.rate.requireByCaller(inbound, limit, () =>
      parts.tracing.span("gateway.recognise", {}, () => recognise(inbound, route, captures)),
    );
    if (who instanceof Response) return who;
    // No plugin is registered: what calls itself one is nobody's.
    if (inbound.headers.get("x-plugin-id") !== undefined) throw new Problem("access_denied", { detail: "There is no such plugin." });
    parts.reveal.guard(inbound, who);
    return withCors(await send({ inbound, route, captures, who }), inbound, [route], false);
  };
};

/** Opens an answer of a bearer row to the origins it lists, and to no cookie ever. */
const withCors = (response: Response, inbound: Inbound, rows: readonly Route[], isPreflight: boolean): Response => {
  const listed = rows.filter((route) => route.row.cors_origins.length > 0);
  if (listed.length === 0) return response;
  response.headers.append("vary", "Origin");
  const origin = inbound.headers.get("origin");
  if (origin === undefined || !listed.some((route) => route.row.cors_origins.includes(origin))) return response;
  response.headers.set("access-control-allow-origin", origin);
  if (!isPreflight) return response;
  const methods = new Set<RowMethod>(listed.flatMap((route) => route.row.methods));
  response.headers.set("access-control-allow-methods", [...methods].join(", "));
  response.headers.set(
    "access-control-allow-headers",
    "authorization, content-type, accept, last-event-id, mcp-protocol-version, mcp-session-id, x-correlation-id",
  );
  response.headers.set("access-control-max-age", "600");
  return response;
};
