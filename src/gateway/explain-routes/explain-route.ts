import { Problem } from "#contract/problem.ts";
import type { ExplainRequest, Explanation } from "#contract/routes.ts";
import { asProblem } from "#http/problem-body.ts";
import { verifyVerdictOf } from "#gateway/auth/verdict.ts";
import { evaluationOf, type Principal } from "#pdp-client/pdp-client.ts";
import { parseForwarded, requireForwardRow } from "#gateway/auth/forwarded-request.ts";
import { requireHandler, type BuiltIns } from "#gateway/steps/built-in.ts";
import { offerBearer } from "#gateway/steps/challenge.ts";
import { canonicalise, guardMarks } from "#gateway/model/canonical-path.ts";
import { MAX_DECIDED_BODY_BYTES } from "#gateway/steps/authorize-route.ts";
import type { Steps } from "#gateway/steps/steps.ts";
import type { Inbound } from "#gateway/model/inbound.ts";
import { upstreamPath } from "#gateway/proxy/proxy.ts";
import { readBody } from "#gateway/model/read-body.ts";
import { clientOf, guardBearer, type RecogniseParts } from "#gateway/steps/recognise.ts";
import { endsSession } from "#gateway/steps/end-by-decision.ts";
import { askOfRoute, metByRow } from "#gateway/steps/route-question.ts";
import { allowOf, chooseRoute, guardDeleteBody, requireRows } from "#gateway/routes/choose-route.ts";
import { capturesOf, type Route, type RouteHit, type RouteTable } from "#gateway/routes/route-table.ts";
import type { WebClient } from "#gateway/web-client/web-client.ts";
import { candidatesOf } from "./candidates.ts";
import {
  principalOf,
  brings,
  choose,
  credentialOf,
  type Credential,
  type DecidedRequest,
  type Enter,
  type ExplainViewer,
  type Findings,
} from "./findings.ts";
import { imagineRequest } from "./imagined-request.ts";

export interface ExplainParts
  extends Pick<Steps, "origins" | "recogniser" | "reveal" | "pdpClient">, Pick<RecogniseParts, "sessionScopes" | "firstPartyClients"> {
  /** The table of this moment. */
  readonly table: () => RouteTable;
  readonly builtIns: () => BuiltIns;
  readonly webClient: WebClient;
}

export type ExplainRoute = (ask: ExplainRequest, viewer: ExplainViewer) => Promise<Explanation>;

const refusalView = (problem: Problem): Explanation["answer"] => {
  const { detail, errors, members, headers } = problem.options;
  return {
    outcome: "refused",
    status: problem.status,
    code: problem.code,
    detail,
    errors: errors?.map((issue) => ({ ...issue })),
    allow: headers?.["allow"],
    www_authenticate: headers?.["www-authenticate"],
    ...members,
  };
};

/** What the upstream gets in `Authorization`: never the caller's own credential unless the row's policy says so. */
const credentialSent = (route: Route): string => {
  if (route.target.kind !== "service") return "none";
  if (route.target.service.isInternal) return route.row.auth === "none" ? "none" : "house_token";
  return route.row.token_policy?.mode ?? "none";
};

/**
 * A request through the checks of the live pipeline, by the same functions, up to where it would leave: nothing is sent
 * upstream, nothing is counted, and no session is touched. The decision point is really asked. What a dry run cannot have
 * (the CSRF headers, the content type, a signature) counts as right and is marked `assumed`.
 */
export const createExplainRoute = (parts: ExplainParts): ExplainRoute => {
  /** The check that a request without the row's own credential meets: the live one. */
  const recogniseNobody = async (inbound: Inbound, route: Route, captures: ReadonlyMap<string, string>): Promise<void> => {
    await (route.row.auth === "bearer" ? parts.recogniser.bearer(inbound, route, captures) : parts.recogniser.session(inbound));
  };

  const decide = async (request: DecidedRequest, found: Findings, enter: Enter): Promise<void> => {
    const { inbound, route, captures, principal } = request;
    if (route.row.authz !== "pdp") return;
    enter("decide");
    const { question } = await askOfRoute({ route, method: inbound.method, captures, client: clientOf(inbound) }, () =>
      readBody(inbound, MAX_DECIDED_BODY_BYTES),
    );
    found.authzen_request = evaluationOf(principal, question, inbound.correlationId);
    const dry = { ...question, context: { ...question.context, showing: true } };
    const decided = await parts.pdpClient.decide(principal, dry, inbound.correlationId);
    if (route.row.auth === "session" && decided.obligations.some(endsSession))
      throw new Problem("unauthenticated", { members: { decision_id: decided.decisionId } });
    const refusal = parts.pdpClient.refusal(principal, decided, { meets: metByRow, publicOrigin: inbound.origin });
    if (refusal !== undefined) throw refusal;
  };

  /** A request for another application, as its proxy asks `/auth/verify` about it. */
  const passForward = async (
    ask: ExplainRequest & { readonly host: string },
    viewer: ExplainViewer,
    found: Findings,
    enter: Enter,
  ): Promise<Explanation["answer"]> => {
    enter("frame");
    const asked = parseForwarded({ method: ask.method, uri: ask.target, host: ask.host }, parts.origins);
    const { body: _body, ...bare } = ask;
    enter("canonical_form");
    const target = canonicalise(asked.uri);
    found.canonical = { path: target.path, query: target.query, marks: [...target.marks] };
    const inbound: Inbound = { ...imagineRequest(bare, viewer.inbound), target, host: asked.host, origin: asked.origin };
    enter("match");
    found.candidates = candidatesOf(parts.table(), target.path, asked.method, asked.host);
    const { route, captures } = requireForwardRow(parts.table(), asked, target.path);
    choose(route, captures, inbound, found);
    enter("encoded_marks");
    guardMarks(target, route.row.allow_encoded);
    const kind = route.row.auth;
    enter("recognise", kind === "none" ? "nobody is looked for" : `by ${kind}`);
    if (kind !== "none") {
      if (!brings(credentialOf(ask, viewer), "session")) await parts.recogniser.session(inbound);
      const assumed = route.row.csrf === "origin" ? "the origin of that site's own page" : "the headers and origin of that site's own page";
      found.steps.push({ step: "csrf", result: "assumed", detail: assumed });
      await decide({ inbound, route, captures, principal: principalOf(ask, viewer, parts.sessionScopes) }, found, enter);
    }
    return { outcome: "answered", status: 200 };
  };

  const passRow = async (
    request: { readonly inbound: Inbound; readonly hit: RouteHit; readonly credential: Credential; readonly principal: Principal },
    found: Findings,
    enter: Enter,
  ): Promise<Explanation["answer"]> => {
    const { inbound, hit, credential, principal } = request;
    enter("method");
    const rows = requireRows(hit.routes, inbound.method);
    if (inbound.method === "OPTIONS") return { outcome: "answered", status: 204, allow: allowOf(hit.routes) };
    enter("credential");
    const route = chooseRoute(rows, { cookie: brings(credential, "session"), bearer: brings(credential, "bearer") });
    const captures = capturesOf(route, hit.captured);
    choose(route, captures, inbound, found);
    enter("encoded_marks");
    guardMarks(inbound.target, route.row.allow_encoded);
    guardDeleteBody(route, inbound);
    const kind = route.row.auth;
    enter("recognise", kind === "none" ? "both credentials are removed" : `by ${kind}`);
    if (kind !== "none" && !brings(credential, kind))
      await recogniseNobody(inbound, route, captures).catch((error: unknown) => {
        throw offerBearer(error, rows, { inbound, captured: hit.captured, firstOrigin: parts.origins.first });
      });
    if (kind === "bearer") guardBearer(route, inbound.target.path, principal, parts.firstPartyClients);
    if (kind === "session") found.steps.push({ step: "csrf", result: "assumed", detail: "the headers and origin of this site's own page" });
    enter("reveal");
    parts.reveal.guard(inbound, { kind });
    await decide({ inbound, route, captures, principal }, found, enter);
    if (route.target.kind !== "service") return { outcome: "handled", by: "gateway" };
    if (inbound.body !== undefined)
      found.steps.push({ step: "content_type", result: "assumed", detail: `one of ${route.row.content_types.join(", ")}` });
    enter("upstream");
    const path = upstreamPath(route, captures);
    const { service } = route.target;
    found.upstream = {
      service: service.name,
      path: `${path}${inbound.target.query}`,
      method: inbound.method,
      credential: credentialSent(route),
    };
    return { outcome: "forwarded", to: service.name };
  };

  const pass = async (ask: ExplainRequest, viewer: ExplainViewer, found: Findings, enter: Enter): Promise<Explanation["answer"]> => {
    const table = parts.table();
    found.revision = table.revision;
    const { host } = ask;
    if (host !== undefined) return passForward({ ...ask, host }, viewer, found, enter);
    enter("frame");
    const head = imagineRequest(ask, viewer.inbound);
    enter("canonical_form");
    const target = canonicalise(ask.target);
    found.canonical = { path: target.path, query: target.query, marks: [...target.marks] };
    const inbound: Inbound = { ...head, target };
    enter("match");
    const own = parts.builtIns().find(target.path);
    if (own !== undefined) {
      found.row = { id: own.builtIn.id, kind: "built_in", path: own.builtIn.path };
      found.captures = Object.fromEntries(own.captures);
      guardMarks(target, []);
      enter("method");
      requireHandler(own.builtIn, inbound.method);
      return { outcome: "handled", by: "gateway" };
    }
    const principal = principalOf(ask, viewer, parts.sessionScopes);
    const credential = credentialOf(ask, viewer);
    const isScreen = parts.webClient.has(target.path);
    if (!isScreen) found.candidates = candidatesOf(table, target.path, inbound.method);
    const hit = isScreen ? undefined : table.find(target.path);
    if (hit !== undefined) return passRow({ inbound, hit, credential, principal }, found, enter);
    guardMarks(target, []);
    const page = await parts.webClient.page(inbound, brings(credential, "session") ? principal : undefined);
    found.row = { id: "web.page", kind: "page", path: target.path };
    return { outcome: "answered", status: page.status };
  };

  return async (ask, viewer) => {
    const found: Findings = { steps: [] };
    const enter: Enter = (step, detail) => {
      found.steps.push({ step, result: "pass", detail });
    };
    let answer: Explanation["answer"];
    try {
      answer = await pass(ask, viewer, found, enter);
    } catch (error) {
      const problem = asProblem(error);
      if (problem.code === "internal") throw error;
      answer = refusalView(ask.host === undefined ? problem : verifyVerdictOf(error));
      const last = found.steps.pop();
      if (last !== undefined) found.steps.push({ ...last, result: "refuse" });
    }
    const { revision = parts.table().revision, candidates = [], captures = {}, ...rest } = found;
    return { revision, candidates, captures, ...rest, answer };
  };
};
