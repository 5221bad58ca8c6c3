import type { HouseIdentity } from "#authn/house-identity.ts";
import type { SearchReply } from "#contract/searches.ts";
import { Problem } from "#contract/problem.ts";
import { parseStrictJson } from "#http/strict-json.ts";
import type { Asker, Decider } from "#pdp/decide.ts";
import type { Metrics } from "#telemetry/metrics.ts";
import type { Inbound } from "#gateway/front-door/inbound.ts";
import { readBytes } from "#gateway/read-body.ts";
import type { Recognised } from "#gateway/recognise.ts";
import { questionRefusals, type AskPoint } from "#pdp/ask-point/ask-point.ts";
import { completeContext, subjectOf } from "./complete-item.ts";
import { answerFacade } from "./facade-answer.ts";
import { parseSearch, type FacadeSearch, type SearchKind } from "./parse-search.ts";
import { readSearch } from "#pdp/ask-point/point-answers.ts";
import { createTransparent, guardJson, isEnforcementPoint } from "./transparent.ts";

export interface SearchFacadeParts {
  readonly askPoint: AskPoint;
  readonly decider: Decider;
  readonly identity: HouseIdentity;
  readonly pdpAudience: string;
  readonly limits: { readonly items: number; readonly itemBytes: number; readonly bodyBytes: number; readonly depth: number };
  readonly metrics: Metrics;
}

const MOST_RESULTS = 1000;

/**
 * The standard's searches for the browser and for bearers. What may be done, and to what, is searched for the caller alone;
 * who may do something only by those who may see all decisions of their tenant, and never beyond it.
 */
export const createSearchFacade = (parts: SearchFacadeParts) => {
  const transparent = createTransparent(parts);
  const count = (event: string) => parts.metrics.count("bff_security_events_total", { event_type: event, severity: "info" });

  /** Who else may do it is nobody's business but theirs who see all decisions. */
  const requireView = async (who: Recognised & { readonly asker: Asker }, correlationId: string): Promise<void> => {
    if (who.kind === "bearer" && who.caller.scopes.has("authzen.search")) return;
    await parts.decider.require(who.asker, { type: "decisions", action: "view_all" }, correlationId);
  };

  const questionOf = (search: FacadeSearch, asker: Asker): Readonly<Record<string, unknown>> => {
    const claims = { ...search.action?.properties, ...search.resource.properties };
    const { context, dropped } = completeContext(search.context, claims, search.kind === "subject" ? undefined : asker);
    if (search.hasSubject) count("authz_subject_override");
    if (dropped.length > 0) count("authz_context_override");
    const { type, id = "*" } = search.resource;
    return {
      subject: search.kind === "subject" ? { type: search.subjectType, properties: { tenant: asker.tenant } } : subjectOf(asker),
      ...(search.action === undefined ? {} : { action: { name: search.action.name } }),
      resource: search.kind === "resource" ? { type } : { type, id },
      // A page token is good for one question: with the searcher in it, for one searcher.
      context: { ...context, searched_by: asker.sub },
      ...(search.page === undefined ? {} : { page: search.page }),
    };
  };

  const answer = async (kind: SearchKind, inbound: Inbound, who: Recognised, requestId: string | undefined) => {
    if (who.kind === "none") throw new Problem("unauthenticated");
    guardJson(inbound, who);
    const bytes = await readBytes(inbound, parts.limits.bodyBytes);
    const body = parseStrictJson(bytes, { depth: parts.limits.depth, keepsUnfit: true });
    const call = { correlationId: inbound.correlationId, requestId, signal: inbound.signal };
    const started = performance.now();
    try {
      if (isEnforcementPoint(who)) return shown(await transparent.search(kind, who.caller, { value: body, bytes }, call));
      const search = parseSearch(kind, body, parts.limits);
      if (kind === "subject") await requireView(who, inbound.correlationId);
      const searched = kind === "resource" ? search.resource.type : search.subjectType;
      const found = await parts.askPoint({
        ...call,
        path: `/access/v1/search/${kind}`,
        authorization: `Bearer ${await parts.identity.asService(parts.pdpAudience, ["authzen.search"])}`,
        body: JSON.stringify(questionOf(search, who.asker)),
        read: readSearch(kind, searched, search.page?.limit ?? MOST_RESULTS),
        // What is left of the client's own is its page token, and that it searches at all.
        passes: questionRefusals,
      });
      return shown(found);
    } finally {
      parts.metrics.observe("bff_authz_latency_seconds", { resource: "search" }, (performance.now() - started) / 1000);
    }
  };

  return (kind: SearchKind, inbound: Inbound, who: Recognised): Promise<Response> =>
    answerFacade(inbound, (requestId) => answer(kind, inbound, who, requestId));
};

/** The standard's members and no others, in its order. */
const shown = (found: { readonly value: SearchReply; readonly headers: Readonly<Record<string, string>> }) => ({
  value: { ...(found.value.page === undefined ? {} : { page: found.value.page }), results: found.value.results },
  headers: found.headers,
});
