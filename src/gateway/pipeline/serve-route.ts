import { Problem } from "#contract/problem.ts";
import { createBodyShares } from "#http/body-shares.ts";
import { asProblem } from "#http/problem-body.ts";
import type { Tracing } from "#telemetry/tracing.ts";
import type { Answer } from "#gateway/model/answer.ts";
import { guardMarks } from "#gateway/model/canonical-path.ts";
import { offerBearer } from "#gateway/steps/challenge.ts";
import { returnQuery } from "#gateway/auth/return-to.ts";
import { freePass } from "#gateway/steps/authorize-route.ts";
import type { Steps } from "#gateway/steps/steps.ts";
import type { Inbound } from "#gateway/model/inbound.ts";
import { isForeignNavigation, isNavigation, refreshPage } from "#gateway/model/plain-page.ts";
import type { Proxy } from "#gateway/proxy/proxy.ts";
import { limitBody, withReadBody } from "#gateway/model/read-body.ts";
import { hasBearer, type Recognised } from "#gateway/steps/recognise.ts";
import { redirect } from "#gateway/model/reply.ts";
import { requestSteps } from "#gateway/model/request-steps.ts";
import { allowOf, chooseRoute, guardDeleteBody, requireRows } from "#gateway/routes/choose-route.ts";
import { corsHeaders } from "#gateway/routes/cors-headers.ts";
import { capturesOf, type Route, type RouteHit } from "#gateway/routes/route-table.ts";
import type { SessionRecord } from "#gateway/sessions/session-store.ts";
import { isListening } from "#gateway/model/is-listening.ts";
import type { Entered, InternalHandler } from "#gateway/steps/route-call.ts";
import type { createRawStreams } from "#gateway/streams/raw-streams.ts";
import type { createStreamRelay } from "#gateway/streams/stream-relay.ts";

export interface ServeRouteParts extends Pick<Steps, "origins" | "rate" | "recogniser" | "csrf" | "decide" | "reveal"> {
  readonly tracing: Tracing;
  readonly proxy: Proxy;
  readonly relay: ReturnType<typeof createStreamRelay>;
  readonly rawStreams: ReturnType<typeof createRawStreams>;
  /** As `Sessions.livesUntil`, which asks the session store itself. */
  readonly requireLiving: (record: SessionRecord) => Promise<number>;
  /** Whether a row is still that of the table in force. */
  readonly isInForce: (route: Route) => boolean;
  /** Handlers of rows with `target_service: internal`, by the row's id. */
  readonly inside: ReadonlyMap<string, InternalHandler>;
}

export type ServeRoute = (inbound: Inbound, hit: RouteHit, matched: (id: string) => void) => Promise<Answer>;

const isOnNavigation = (inbound: Inbound): boolean => inbound.method === "GET" && isNavigation(inbound);

const signInPage = (inbound: Inbound): Response => {
  const query = new URLSearchParams(returnQuery(inbound.target.path + inbound.target.query));
  return redirect(302, `/auth/login${query.size === 0 ? "" : `?${query.toString()}`}`);
};

export const createServeRoute = (parts: ServeRouteParts): ServeRoute => {
  const shares = createBodyShares();
  const recognise = async (inbound: Inbound, route: Route, captures: ReadonlyMap<string, string>): Promise<Recognised | Response> => {
    if (route.row.auth === "none") return { kind: "none" };
    if (route.row.auth === "bearer") return parts.recogniser.bearer(inbound, route, captures);
    // The strict cookie gets its chance to come along, and our own page is the one that asks.
    if (isForeignNavigation(inbound)) return refreshPage();
    try {
      const who = await parts.recogniser.session(inbound);
      parts.csrf.guard(inbound, who.record);
      return who;
    } catch (error) {
      if (error instanceof Problem && error.code === "unauthenticated" && isOnNavigation(inbound)) return signInPage(inbound);
      throw error;
    }
  };

  const send = async (call: Entered): Promise<Answer> => {
    const { inbound, route, captures, who } = call;
    const record = who.kind === "session" ? who.record : undefined;
    const { body, again } =
      who.kind === "none"
        ? freePass
        : await parts.decide({ inbound, route, captures, principal: who.principal, record, method: inbound.method });
    const recheck = async (): Promise<number> => {
      const until = who.kind === "session" ? await parts.requireLiving(who.record) : Infinity;
      if (who.kind === "bearer") await parts.recogniser.bearer(inbound, route, captures);
      // What the row of this moment says is for a new request to find out; an answer under way is still that of its own.
      if (isListening(inbound) && !parts.isInForce(route)) throw new Problem("not_found");
      await again();
      return until;
    };
    if (route.target.kind === "internal") {
      const handler = parts.inside.get(route.id);
      if (handler === undefined) throw new Problem("not_found");
      using share = shares(who.kind === "none" ? inbound.clientAddress : `${who.principal.tenant} ${who.principal.sub}`);
      const limited = { ...call, recheck, inbound: limitBody(withReadBody(inbound, body), route.row.body_limit, share) };
      return await parts.tracing.span(requestSteps.internal.span, {}, () => handler(limited));
    }
    if (route.row.streaming && who.kind === "session") {
      const requireLiving = () => parts.requireLiving(who.record);
      return parts.tracing.span(requestSteps.proxy.span, { kind: "client" }, () =>
        parts.relay({ ...call, who, body, requireLiving, recheck }),
      );
    }
    const forward = () => parts.rawStreams(parts.proxy, { ...call, body, recheck });
    return parts.tracing.span(requestSteps.proxy.span, { kind: "client" }, forward);
  };

  const pass = async (inbound: Inbound, route: Route, captured: readonly string[]): Promise<Answer> => {
    guardMarks(inbound.target, route.row.allow_encoded);
    guardDeleteBody(route, inbound);
    const captures = capturesOf(route, captured);
    if (route.row.own_credential) return parts.rate.serveByCredential(inbound, () => passOn(inbound, route, captures, { kind: "none" }));
    const limit = route.row.rate ?? (route.row.auth === "none" ? "anonymous" : route.row.auth);
    const who = await parts.rate.requireByCaller(inbound, limit, () =>
      parts.tracing.span(requestSteps.recognise.span, {}, () => recognise(inbound, route, captures)),
    );
    return who instanceof Response ? who : passOn(inbound, route, captures, who);
  };

  const passOn = (inbound: Inbound, route: Route, captures: ReadonlyMap<string, string>, who: Recognised): Promise<Answer> => {
    // No plugin is registered: what calls itself one is nobody's.
    if (inbound.headers.get("x-plugin-id") !== undefined) throw new Problem("access_denied", { detail: "There is no such plugin." });
    parts.reveal.guard(inbound, who);
    return send({ inbound, route, captures, who });
  };

  /** Credentials are looked for only where two rows leave a choice. */
  const routeOf = (rows: readonly Route[], inbound: Inbound): Route => {
    const [only] = rows;
    if (only !== undefined && rows.length === 1) return only;
    return chooseRoute(rows, { cookie: parts.recogniser.hasCookie(inbound), bearer: hasBearer(inbound) });
  };

  return async (inbound, hit, matched) => {
    matched(hit.routes[0]?.id ?? "unmatched");
    const rows = requireRows(hit.routes, inbound.method);
    const origin = inbound.headers.get("origin");
    if (inbound.method === "OPTIONS")
      return new Response(null, { status: 204, headers: { allow: allowOf(hit.routes), ...corsHeaders(rows, origin, "preflight") } });
    const route = routeOf(rows, inbound);
    matched(route.id);
    const cors = corsHeaders([route], origin, "answer");
    try {
      const response = await pass(inbound, route, hit.captured);
      for (const [name, value] of Object.entries(cors)) response.headers.append(name, value);
      return response;
    } catch (thrown) {
      const error = offerBearer(thrown, rows, { inbound, captured: hit.captured, firstOrigin: parts.origins.first });
      if (Object.keys(cors).length === 0) throw error;
      // A page of a listed origin may read why it was refused.
      const problem = asProblem(error);
      throw new Problem(problem.code, { ...problem.options, headers: { ...problem.options.headers, ...cors } });
    }
  };
};
