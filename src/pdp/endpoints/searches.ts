import { createHash } from "node:crypto";
import { canonicalJson } from "#contract/canonical-json.ts";
import { searchAction, type searchPage, searchResource, searchSubject, type SearchReply } from "#contract/searches.ts";
import { Problem } from "#contract/problem.ts";
import type { Router } from "#http/serve.ts";
import type { Caller } from "#authn/model/caller.ts";
import type { Ask } from "#pdp/model/ask.ts";
import type { SealedCursors } from "#authn/sealing/sealed-cursors.ts";
import { scanCandidates, type Scan } from "#pdp/search/scan.ts";
import { createAskParser, guardSaid, isAsk, type Pep } from "#pdp/model/parse-ask.ts";
import type { Serving } from "#pdp/context/serving.ts";
import type { z } from "zod";

export interface SearchParts extends Pick<Serving, "decisionPoint" | "candidates" | "vocabulary" | "pepOf"> {
  readonly tokens: SealedCursors<{ readonly after: string; readonly limit: number }>;
  readonly maxCandidates: number;
}

type Page = z.infer<typeof searchPage>;
type Sent = Readonly<Record<"subject" | "action" | "resource" | "context", unknown>>;

const DEFAULT_LIMIT = 100;
/** Stands for what is searched while the rest of the question is read. */
const SEARCHED = "searched";
const isHopeless: Scan["isHopeless"] = ({ reason }) => reason === "subject_unresolved";

/** What a token is good for: this question of this caller. */
const boundOf = (kind: string, sent: Sent, caller: Caller): string =>
  createHash("sha256")
    .update(canonicalJson([kind, sent, caller.sub, caller.tenant]) ?? "")
    .digest("base64url");

/** The three searches of the standard: every candidate is decided as an evaluation is, nothing is kept and nothing recorded. */
export const serveSearches = (router: Router<Caller>, parts: SearchParts): void => {
  const { decisionPoint, candidates, vocabulary } = parts;

  const readAsk = (sent: Partial<Sent>, pep: Pep): Ask => {
    guardSaid(pep, sent, [sent]);
    const ask = createAskParser(pep)(sent);
    if (!isAsk(ask)) throw new Problem("invalid_request", { errors: ask });
    return ask;
  };

  const answer = async <T>(
    kind: string,
    sent: Sent,
    page: Page | undefined,
    caller: Caller,
    scan: Pick<Scan, "next" | "askOf" | "isHopeless">,
    show: (candidate: string) => T,
  ): Promise<{ page?: Extract<SearchReply["page"], object>; results: T[] }> => {
    const bound = boundOf(kind, sent, caller);
    const held = page?.token === undefined ? undefined : parts.tokens.open(page.token, bound);
    const limit = page?.limit ?? held?.limit ?? DEFAULT_LIMIT;
    if (held !== undefined && held.limit !== limit) throw new Problem("invalid_page_token", { detail: "It was given for another limit." });
    const { found, goOn } = await scanCandidates(decisionPoint, { ...scan, after: held?.after, limit, max: parts.maxCandidates });
    const results = found.map(show);
    if (page === undefined && goOn === undefined) return { results };
    const token = goOn === undefined ? "" : parts.tokens.seal({ after: goOn, limit }, bound);
    // First, as the standard asks (8.3).
    return { page: { next_token: token, count: results.length }, results };
  };

  /** Entities of the tenant that is named, else of the caller's own; `*` may look at all. */
  const listing = (of: "subject" | "resource", type: string, ask: Ask): Scan["next"] => {
    const tenant = ask.subject.tenant ?? ask.bound;
    const within = { of, type, action: ask.action, ...(tenant === "*" ? {} : { tenant_id: tenant }) };
    return (after, limit) => candidates.list({ ...within, after, limit });
  };

  router.serve(searchSubject, async ({ body, caller }) => {
    const { subject, action, resource, context, page } = body;
    const ask = readAsk({ subject: { ...subject, id: SEARCHED }, action, resource, context }, parts.pepOf(caller));
    const next = listing("subject", subject.type, ask);
    const askOf = (id: string): Ask => ({ ...ask, subject: { ...ask.subject, id } });
    return answer("subject", { subject, action, resource, context }, page, caller, { next, askOf }, (id) => ({ type: subject.type, id }));
  });

  router.serve(searchResource, async ({ body, caller }) => {
    const { subject, action, resource, context, page } = body;
    const ask = readAsk({ subject, action, resource: { ...resource, id: SEARCHED }, context }, parts.pepOf(caller));
    const pair = vocabulary.pairOf(ask.resource.type, ask.action);
    const entities = listing("resource", ask.resource.type, ask);
    const next: Scan["next"] = async (after, limit) => {
      if (pair === undefined) return [];
      // A right to the whole collection has one object, and Sallyport's name for it.
      if (pair.of === "all") return after === undefined ? ["*"] : [];
      return entities(after, limit);
    };
    const askOf = (id: string): Ask => ({ ...ask, resource: { ...ask.resource, id } });
    return answer("resource", { subject, action, resource, context }, page, caller, { next, askOf, isHopeless }, (id) => ({
      type: resource.type,
      id,
    }));
  });

  router.serve(searchAction, async ({ body, caller }) => {
    const { subject, resource, context, page } = body;
    const pep = parts.pepOf(caller);
    const ask = readAsk({ subject, action: { name: SEARCHED }, resource, context }, pep);
    const names = vocabulary.pairsOf(ask.resource.type).map((pair) => pair.action);
    const next: Scan["next"] = async (after, limit) => names.filter((name) => after === undefined || name > after).slice(0, limit);
    const askOf = (action: string): Ask => ({ ...ask, action });
    return answer("action", { subject, action: undefined, resource, context }, page, caller, { next, askOf, isHopeless }, (name) => ({
      name,
    }));
  });
};
