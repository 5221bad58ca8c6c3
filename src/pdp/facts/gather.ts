import { factAsk as factAskSchema, type FactAsk, type Facts } from "#contract/facts.ts";
import type { Ask } from "#pdp/model/ask.ts";
import type { FactSource } from "./fact-source.ts";
import { bareResource, noFacts } from "./no-facts.ts";
import { isBuiltInTool, type Pair } from "#pdp-client/pairs.ts";
import type { DecisionFacts } from "#pdp/model/decision-facts.ts";
import { builtInVocabulary, type Vocabulary } from "#pdp/engine/vocabulary.ts";

/** An ask whose pair is known, with what the graph and the records say about it. */
export interface Informed {
  readonly ask: Ask;
  /** The pair it is decided as; `undefined`: not one of ours. */
  readonly pair: Pair | undefined;
  /** As policies name it: a secret without its key. */
  readonly resourceId: string;
  readonly facts: Facts;
}

export interface InformedBatch {
  readonly graphVersion: number;
  readonly items: readonly Informed[];
}

/** A tool list asks `tools/list`, which is decided as the call itself. */
const decidedAs = (ask: Ask, words: Vocabulary): Pair | undefined =>
  ask.resource.type === "tool" && ask.action === "tools/list"
    ? ask.vouched.could
      ? words.pairOf("tool", "tools/call")
      : undefined
    : words.pairOf(ask.resource.type, ask.action);

/** Facts of a secret are those of its path: a key has no node, and a `#` ends the path in the canonical form. */
const withoutKey = (id: string): string => id.split("#", 1)[0] ?? id;

const pageOf = (widgetId: string): string => widgetId.slice(0, Math.max(widgetId.indexOf(":"), 0));

/**
 * The tenant that the ask is about: the subject's; for a service of Sallyport the one that it names for the resource; for
 * any other enforcement point its own.
 */
const tenantAskedAbout = (ask: Ask): string | undefined =>
  [ask.subject.tenant, ask.vouched.resourceTenant, ask.bound].find((tenant) => tenant !== undefined && tenant !== "*");

const { subject_id: subjectName, resource: resourceName } = factAskSchema.shape;

const isNamable = (ask: Ask): boolean => [ask.subject.id, ...ask.agents].every((id) => subjectName.safeParse(id).success);

/** A resource that the graph could not hold is none: only its type is asked about. */
const namable = (type: string, id: string): string => (resourceName.safeParse({ type, external_id: id }).success ? id : "*");

const factAsk = (ask: Ask, type: string, externalId: string): FactAsk => ({
  subject_id: ask.subject.id,
  ...(ask.subject.type === "identity" ? {} : { subject_type: ask.subject.type }),
  ...(ask.agents.length === 0 ? {} : { agent_ids: [...ask.agents] }),
  action: ask.action === "tools/list" && type === "tool" ? "tools/call" : ask.action,
  resource: { type, external_id: externalId },
  delegation_id: ask.vouched.delegationId,
  tenant_id: tenantAskedAbout(ask),
});

/** A widget shows with its page; a restricted one needs its own grant beside the page's. */
const widgetFacts = (widget: Facts, page: Facts): Facts => {
  const edges = [...page.edges, ...widget.edges];
  if (page.resource === null) return { ...widget, resource: null, edges };
  if (widget.resource?.attributes["restricted"] === true) {
    return { ...widget, resource: { ...widget.resource, granted: widget.resource.granted && page.resource.granted }, edges };
  }
  return { ...page, resource: { ...page.resource, attributes: { ...page.resource.attributes, restricted: false } }, edges: page.edges };
};

/**
 * Facts for every ask, in one call of the source. Decisions are no nodes of the graph: what policies may ask of them
 * comes from the records.
 */
export const informAsks = async (
  asks: readonly Ask[],
  parts: { readonly facts: FactSource; readonly decisions: DecisionFacts; readonly vocabulary?: Vocabulary },
): Promise<InformedBatch> => {
  const words = parts.vocabulary ?? builtInVocabulary;
  const wanted: FactAsk[] = [];
  const plan = asks.map((ask) => {
    const pair = decidedAs(ask, words);
    const type = ask.resource.type;
    const resourceId = type === "secret" ? withoutKey(ask.resource.id) : ask.resource.id;
    // Asked about, an id that the graph could not hold would fail all that is asked beside it: nothing is known of such a subject.
    if (!isNamable(ask)) {
      // Something is asked all the same: the decision names the graph that it was taken at.
      wanted.push(factAsk({ ...ask, subject: { ...ask.subject, id: "nobody" }, agents: [] }, type, "*"));
      return { ask, pair, resourceId, first: undefined, page: undefined };
    }
    const first = wanted.push(factAsk(ask, type, pair?.of === "all" ? "*" : namable(type, resourceId))) - 1;
    const page =
      pair?.entity === "PageWidget"
        ? wanted.push(factAsk({ ...ask, action: "view" }, "pages", namable("pages", pageOf(resourceId)))) - 1
        : undefined;
    return { ask, pair, resourceId, first, page };
  });
  const explained = plan.filter(({ pair }) => pair?.entity === "Decision").map(({ resourceId }) => resourceId);
  const [gathered, decisions] = await Promise.all([
    parts.facts.gather(wanted),
    explained.length === 0 ? new Map<string, NonNullable<Facts["resource"]>>() : parts.decisions.resources(explained),
  ]);
  const items = plan.map(({ ask, pair, resourceId, first, page }): Informed => {
    const own = first === undefined ? noFacts : gathered.facts[first];
    if (own === undefined) throw new RangeError("a fact is missing");
    const pageFacts = page === undefined ? undefined : gathered.facts[page];
    let facts = own;
    if (pageFacts !== undefined) facts = widgetFacts(own, pageFacts);
    // A tool of Sallyport needs no node in the graph.
    else if (pair !== undefined && isBuiltInTool(pair, resourceId)) facts = { ...own, resource: bareResource(resourceId, "Tool", []) };
    else if (pair?.entity === "Decision") facts = { ...own, resource: decisions.get(resourceId) ?? null };
    return { ask, pair, resourceId, facts };
  });
  return { graphVersion: gathered.graphVersion, items };
};
