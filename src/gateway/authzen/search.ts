import type { SearchReply } from "#contract/searches.ts";
import type { Principal, PdpClient } from "#pdp-client/pdp-client.ts";
import { questionRefusals } from "#pdp-client/ask-point.ts";
import { completeContext, subjectOf } from "./complete-item.ts";
import { answerFacade, isEnforcementPoint, type Asked, type Asking } from "./authzen-answer.ts";
import { MAX_RESULTS, parseSearchQuestion, type FacadeSearch, type SearchKind } from "./parse-search.ts";
import { readSearch } from "#pdp-client/point-answers.ts";
import { createTransparent, type FacadeParts } from "./transparent.ts";

/**
 * The standard's searches for the browser and for bearers. What may be done, and to what, is searched for the caller alone;
 * who may do something only by those who may see all decisions of their tenant, and never beyond it.
 */
export const createSearchFacade = (parts: FacadeParts & { readonly pdpClient: PdpClient }) => {
  const transparent = createTransparent(parts);
  const count = (event: string) => parts.metrics.count("bff_security_events_total", { event_type: event, severity: "info" });

  /** Who else may do it is nobody's business but theirs who see all decisions. */
  const requireView = async (who: Asked["who"], correlationId: string): Promise<void> => {
    if (who.kind === "bearer" && who.caller.scopes.has("authzen.search")) return;
    await parts.pdpClient.require(who.principal, { type: "decisions", action: "view_all" }, correlationId);
  };

  const questionOf = (search: FacadeSearch, principal: Principal): Readonly<Record<string, unknown>> => {
    const claims = { ...search.action?.properties, ...search.resource.properties };
    const { context, dropped } = completeContext(search.context, claims, search.kind === "subject" ? undefined : principal);
    if (search.hasSubject) count("authz_subject_override");
    if (dropped.length > 0) count("authz_context_override");
    const { type, id = "*" } = search.resource;
    return {
      subject: search.kind === "subject" ? { type: search.subjectType, properties: { tenant: principal.tenant } } : subjectOf(principal),
      action: search.action && { name: search.action.name },
      resource: search.kind === "resource" ? { type } : { type, id },
      // A page token is good for one question: with the searcher in it, for one searcher.
      context: { ...context, searched_by: principal.sub },
      page: search.page,
    };
  };

  const answer = async (kind: SearchKind, asked: Asked) => {
    const { who, call } = asked;
    const started = performance.now();
    try {
      if (isEnforcementPoint(who)) return shown(await transparent.search(kind, who.caller, asked));
      const search = parseSearchQuestion(kind, asked.value, parts.limits);
      if (kind === "subject") await requireView(who, call.correlationId);
      const searched = kind === "resource" ? search.resource.type : search.subjectType;
      const found = await parts.askPoint({
        ...call,
        path: `/access/v1/search/${kind}`,
        authorization: `Bearer ${await parts.identity.asService(parts.pdpAudience, ["authzen.search"])}`,
        body: JSON.stringify(questionOf(search, who.principal)),
        read: readSearch(kind, searched, search.page?.limit ?? MAX_RESULTS),
        // What is left of the client's own is its page token, and that it searches at all.
        passes: questionRefusals,
      });
      return shown(found);
    } finally {
      parts.metrics.observe("bff_authz_latency_seconds", { resource: "search" }, (performance.now() - started) / 1000);
    }
  };

  return (kind: SearchKind) =>
    (asking: Asking): Promise<Response> =>
      answerFacade(asking, parts.limits, (asked) => answer(kind, asked));
};

/** The standard's members and no others, in its order. */
const shown = (found: { readonly value: SearchReply; readonly headers: Readonly<Record<string, string>> }) => ({
  value: { page: found.value.page, results: found.value.results },
  headers: found.headers,
});
