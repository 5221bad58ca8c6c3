import { STATUS_CODES } from "node:http";
import type { Problem } from "#contract/problem.ts";
import { asProblem, logLevelOf, problemResponse } from "#http/problem-body.ts";
import { isScimPath, scimRefusal } from "#http/scim-refusal.ts";
import type { Span, Tracing } from "#telemetry/tracing.ts";
import type { Answer } from "#gateway/model/answer.ts";
import { requireHandler, type BuiltIns } from "#gateway/steps/built-in.ts";
import { guardMarks } from "#gateway/model/canonical-path.ts";
import type { Steps } from "#gateway/steps/steps.ts";
import { echoRequestId } from "#gateway/authzen/request-id.ts";
import { ingressProblem } from "#gateway/model/ingress-problem.ts";
import { inboundMethods, type Inbound } from "#gateway/model/inbound.ts";
import type { Pipeline } from "#gateway/ingress/raw-server.ts";
import type { GatewayParts } from "#gateway/model/gateway-parts.ts";
import { requestSteps } from "#gateway/model/request-steps.ts";
import type { HeldRoutes } from "#gateway/active-routes/active-routes.ts";
import type { Load } from "#gateway/limits/load.ts";
import { withSecurityHeaders } from "#gateway/model/security-headers.ts";
import { acceptsHtml, problemPage } from "#gateway/model/plain-page.ts";
import type { ServeRoute } from "./serve-route.ts";
import { isReserved } from "#gateway/routes/client-pages.ts";
import type { WebClient } from "#gateway/web-client/web-client.ts";

export interface PipelineParts extends Pick<Steps, "isTrustedProxy" | "rate">, Pick<GatewayParts, "metrics" | "log"> {
  readonly builtIns: BuiltIns;
  /** The table of the moment, held for one request. */
  readonly holdRoutes: () => HeldRoutes;
  readonly serveRouteOf: (held: HeldRoutes) => ServeRoute;
  readonly webClient: WebClient;
  readonly tracing: Tracing;
  readonly load: Load;
}

/** The way on from an address that is none. */
const toStart = { href: "/", text: "Go to the start page" };

/** What served a request: its label in metrics and logs, and its path as it stands in the table. */
interface Served {
  endpoint: string;
  route?: string;
  /** How a fault on the way is told. */
  asProblem: (error: unknown) => Problem;
}

/** A page load by a browser, of an address where pages are: a person looks at what it is told. */
const isForPerson = (method: string, accept: string | undefined, path: string): boolean =>
  method === "GET" && acceptsHtml(accept) && !isReserved(path);

/** A refusal in the form that whoever asked reads: a page, an Error message of SCIM, or problem+json. */
const refusalOf = (
  problem: Problem,
  mayBePage: boolean,
  to: { readonly method: string; readonly accept?: string | undefined; readonly path: string; readonly correlationId: string },
): Response => {
  if (isScimPath(to.path)) return scimRefusal(problem, to.correlationId);
  return mayBePage && isForPerson(to.method, to.accept, to.path)
    ? problemPage(problem, to.correlationId, toStart)
    : problemResponse(problem, to.correlationId);
};

/** In place of a status: nobody waited for one. */
const CLIENT_CLOSED = "client_closed";

/** An upstream may answer with any number; those that nobody has given a meaning count as one. */
const statusLabel = (status: string): string => (status in STATUS_CODES || status === CLIENT_CLOSED ? status : "other");
const methodLabel = (method: string): string => ((inboundMethods as readonly string[]).includes(method) ? method : "other");

/**
 * Every request, read downwards: the gateway's own paths, then the table's rows, then the web client. Whatever is thrown
 * on the way becomes one answer, with the headers that every answer has.
 */
export const createPipeline = (parts: PipelineParts): Pipeline => {
  const guardLoad = ({ clientAddress }: Inbound): void => {
    const headers = { "retry-after": "1" };
    if (parts.load.isOverOf(clientAddress)) {
      parts.metrics.count("bff_rate_limit_violations_total", { client_id: "in_flight" });
      throw ingressProblem("rate_limited", { detail: "Too many requests of this address are under way.", headers });
    }
    if (parts.load.isOver) throw ingressProblem("overloaded", { headers });
  };

  const serve = async (inbound: Inbound, served: Served): Promise<Answer> => {
    const { target } = inbound;
    const own = parts.builtIns.find(target.path);
    if (own !== undefined) {
      served.endpoint = own.builtIn.id;
      served.route = own.builtIn.path;
      served.asProblem = own.builtIn.asProblem ?? asProblem;
    }
    if (own?.builtIn.isNeverShed !== true) guardLoad(inbound);
    if (inbound.origin === undefined && own?.builtIn.anyHost !== true) throw ingressProblem("misdirected_host");
    if (own !== undefined) {
      guardMarks(target, []);
      const handler = requireHandler(own.builtIn, inbound.method);
      const handle = () => handler({ inbound, captures: own.captures });
      if (own.builtIn.hasOwnCredential === true && inbound.headers.get("authorization") !== undefined)
        return parts.rate.serveByCredential(inbound, handle);
      const limit = own.builtIn.rates?.[inbound.method === "HEAD" ? "GET" : inbound.method];
      if (limit !== undefined) await parts.rate.requireByAddress(inbound, limit);
      return handle();
    }
    const held = parts.holdRoutes();
    try {
      const find = async () => (parts.webClient.has(target.path) ? undefined : held.table.find(target.path));
      const hit = await parts.tracing.span(requestSteps.match.span, {}, find);
      const [first] = hit?.routes ?? [];
      if (first !== undefined) served.route = first.pattern.text;
      // Awaited here: the table is held until the answer's head is there.
      if (hit !== undefined) return await parts.serveRouteOf(held)(inbound, hit, (id) => (served.endpoint = id));
    } finally {
      held.release();
    }
    guardMarks(target, []);
    const page = await parts.webClient.page(inbound);
    served.endpoint = "web.page";
    return page;
  };

  const fail = (problem: Problem, inbound: Inbound, endpoint: string): Response => {
    const level = logLevelOf(problem.status);
    if (level !== undefined)
      parts.log[level]("http_rejected", {
        correlation_id: inbound.correlationId,
        endpoint,
        code: problem.code,
        cause: problem.options.cause ?? problem,
      });
    return refusalOf(problem, problem.status === 400, {
      method: inbound.method,
      accept: inbound.headers.get("accept"),
      path: inbound.target.path,
      correlationId: inbound.correlationId,
    });
  };

  const observe = (method: string, endpoint: string, status: string, started: number, correlationId: string): void => {
    const traceId = parts.tracing.traceId();
    const seconds = (performance.now() - started) / 1000;
    parts.metrics.count("http_requests_total", { method: methodLabel(method), endpoint, status: statusLabel(status) });
    parts.metrics.observe("http_request_duration_seconds", { method: methodLabel(method), endpoint }, seconds);
    parts.log.info("http_request", {
      method: methodLabel(method),
      endpoint,
      status,
      duration_ms: Math.round(seconds * 10_000) / 10,
      correlation_id: correlationId,
      trace_id: traceId,
    });
  };

  /** The request in a trace: how it was asked, by its place in the table, and how it ended; nothing of what was sent. */
  const traced = (inbound: Inbound, served: Served, work: (span: Span) => Promise<Answer>): Promise<Answer> => {
    const method = methodLabel(inbound.method);
    const parent = inbound.headers.get("traceparent");
    const options = {
      kind: "server",
      parent: parent !== undefined && parts.isTrustedProxy(inbound.peerAddress) ? parent : undefined,
      facts: { "http.request.method": method },
    } as const;
    return parts.tracing.span(method, options, async (span) => {
      const answer = await work(span);
      span.rename(served.route === undefined ? method : `${method} ${served.route}`);
      span.set({ "http.response.status_code": answer.status, ...(served.route === undefined ? {} : { "http.route": served.route }) });
      return answer;
    });
  };

  return {
    handle: (inbound) => {
      const started = performance.now();
      const served: Served = { endpoint: "unmatched", asProblem };
      return traced(inbound, served, async (span) => {
        let answer: Answer;
        try {
          answer = await serve(inbound, served);
        } catch (error) {
          // Nobody waits for this answer any more.
          if (inbound.signal.aborted) {
            observe(inbound.method, served.endpoint, CLIENT_CLOSED, started, inbound.correlationId);
            return new Response(null, { status: 400 });
          }
          const problem = served.asProblem(error);
          if (problem.status >= 500) span.fail(problem.code);
          answer = fail(problem, inbound, served.endpoint);
        }
        observe(inbound.method, served.endpoint, String(answer.status), started, inbound.correlationId);
        return echoRequestId(inbound, withSecurityHeaders(answer, inbound));
      });
    },
    refuse: (issue, head) => {
      const path = head.rawTarget?.split(/[?#]/, 1)[0] ?? "";
      const { asProblem: reported = asProblem } = parts.builtIns.find(path)?.builtIn ?? {};
      const problem = reported(issue);
      observe(head.method, "unmatched", String(problem.status), performance.now(), head.correlationId);
      return withSecurityHeaders(refusalOf(problem, true, { ...head, path }), head);
    },
    unparsed: (problem) => {
      parts.metrics.count("http_requests_total", { method: "other", endpoint: "unparsed", status: String(problem.status) });
    },
  };
};
