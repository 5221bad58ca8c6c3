import {
  countNodes,
  fulltextSearch,
  getNode,
  getRelationships,
  listSystems,
  nodeTypeStats,
  searchNodes,
  searchNodesWithMetadata,
  type IdentityNode,
} from "#contract/membership.ts";
import { Problem } from "#contract/problem.ts";
import { answer } from "#http/serve.ts";
import { requireNode, requireView, type Asking } from "#membership/context/access.ts";
import { skippedPage, versioned } from "#membership/context/graph-answers.ts";
import type { FullTextAsk, GraphNode, NodeFilter } from "#membership/graph/graph-reader.ts";
import { edgeKindNames, identityKinds, isEdgeKind, kindsOfLabel, labelsOfKind, nodeLabels } from "#membership/model/kinds.ts";
import { tenantScopeOf } from "#membership/graph/tenant-scope.ts";
import { tagOf } from "#membership/model/if-match.ts";
import type { MembershipContext } from "#membership/context/context.ts";

interface Filters {
  readonly node_type?: string | undefined;
  readonly search?: string | undefined;
  readonly system?: string | undefined;
}

const filterOf = (query: Filters, labels: readonly string[]): NodeFilter => {
  if (query.node_type !== undefined && kindsOfLabel(query.node_type).length === 0)
    throw new Problem("unprocessable", { errors: [{ path: "query.node_type", message: `must be one of ${nodeLabels.join(", ")}` }] });
  const wanted = query.node_type === undefined ? labels : [query.node_type];
  return { kinds: [...new Set(wanted.flatMap((label) => kindsOfLabel(label)))], search: query.search, system: query.system };
};

const MAX_WORDS = 8;

/** Throws `unprocessable` for no words, and for too many. */
const fullTextOf = (filter: NodeFilter, text: string | undefined, name: string): FullTextAsk => {
  const words = text?.trim().split(/\s+/u).filter(Boolean) ?? [];
  if (words.length === 0 || words.length > MAX_WORDS)
    throw new Problem("unprocessable", { errors: [{ path: `query.${name}`, message: `must have 1 to ${MAX_WORDS} words` }] });
  return { kinds: filter.kinds, system: filter.system, text: words.join(" ") };
};

/** A node as the wire shows it. */
const nodeView = (node: GraphNode): IdentityNode => ({
  id: node.id,
  name: node.name,
  node_type: node.kind,
  labels: [...labelsOfKind(node.kind)],
  display_name: node.display_name ?? undefined,
  system: node.system ?? undefined,
  state: node.state,
  tenant_id: node.tenant_id,
  external_id: node.external_id ?? undefined,
  properties: { ...node.props },
  created_at: node.created_at,
  updated_at: node.updated_at,
  relationships: { out: { ...node.out }, in: { ...node.in } },
});

/** Sums of a page's relationships, by kind. */
const sumRelationships = (nodes: readonly GraphNode[]): IdentityNode["relationships"] => {
  const add = (into: Record<string, number>, counts: Readonly<Record<string, number>>): Record<string, number> => {
    for (const [kind, count] of Object.entries(counts)) into[kind] = (into[kind] ?? 0) + count;
    return into;
  };
  return {
    out: nodes.reduce<Record<string, number>>((sums, node) => add(sums, node.out), {}),
    in: nodes.reduce<Record<string, number>>((sums, node) => add(sums, node.in), {}),
  };
};

/** Who and what is there, as far as the caller's tenant reaches and the decision point lets the caller look. */
export const serveIdentityNodes = (context: MembershipContext): void => {
  const { reader, router, pdpClient, config } = context;
  const viewing = { type: "identities", action: "view_all" } as const;
  /** Unknown and foreign ids end here, before any decision. Nobody needs one to look at himself. */
  const requireLook = async ({ caller, correlationId }: Asking, id: string) => {
    const scope = tenantScopeOf(caller);
    const found = await requireNode(context, scope, id);
    if (id !== caller.sub) await pdpClient.require(caller, { type: "identities", action: "view", id }, correlationId);
    return { ...found, scope };
  };

  router.serve(searchNodes, async (call) => {
    const filter = filterOf(call.query, config.searchLabels);
    const found = await reader.search(await requireView(context, call, viewing), filter, { ...call.query, withTotal: false });
    return answer(found.value.nodes.map(nodeView), { headers: versioned(found.version) });
  });
  router.serve(searchNodesWithMetadata, async (call) => {
    const { query } = call;
    const filter = filterOf(query, config.searchLabels);
    const isFullText = query.use_fulltext === "true";
    const asked = isFullText ? fullTextOf(filter, query.search, "search") : undefined;
    const scope = await requireView(context, call, viewing);
    const found =
      asked === undefined ? await reader.search(scope, filter, { ...query, withTotal: true }) : await reader.fullText(scope, asked, query);
    const { nodes, total } = found.value;
    return answer(
      { nodes: nodes.map(nodeView), ...skippedPage(query, nodes.length, total), relationships: sumRelationships(nodes) },
      { headers: versioned(found.version) },
    );
  });
  router.serve(fulltextSearch, async (call) => {
    const { query } = call;
    const asked = fullTextOf(filterOf(query, config.searchLabels), query.q, "q");
    const found = await reader.fullText(await requireView(context, call, viewing), asked, query);
    const { nodes, total } = found.value;
    return answer(
      { nodes: nodes.map((node) => ({ ...nodeView(node), score: node.score })), ...skippedPage(query, nodes.length, total) },
      { headers: versioned(found.version) },
    );
  });
  router.serve(countNodes, async (call) => {
    const counted = await reader.count(await requireView(context, call, viewing), filterOf(call.query, config.searchLabels));
    return answer({ count: counted.value }, { headers: versioned(counted.version) });
  });
  router.serve(listSystems, async (call) => {
    const found = await reader.systems(await requireView(context, call, viewing));
    return answer({ systems: [...found.value] }, { headers: versioned(found.version) });
  });
  router.serve(nodeTypeStats, async (call) => {
    const found = await reader.kindCounts(await requireView(context, call, viewing));
    const kinds = Object.entries(found.value);
    const sum = (rows: readonly (readonly [string, number])[]): number => rows.reduce((held, [, count]) => held + count, 0);
    const identities = sum(kinds.filter(([kind]) => identityKinds.some((known) => known === kind)));
    return answer(
      { total: sum(kinds), types: { ...(identities === 0 ? {} : { Identity: identities }), ...found.value } },
      { headers: versioned(found.version) },
    );
  });
  router.serve(getRelationships, async (call) => {
    const { params, query } = call;
    if (query.type !== undefined && !isEdgeKind(query.type))
      throw new Problem("unprocessable", { errors: [{ path: "query.type", message: `must be one of ${edgeKindNames.join(", ")}` }] });
    const { scope } = await requireLook(call, params.node_id);
    const found = await reader.edges(scope, { id: params.node_id, ...query });
    if (found.value === undefined) throw new Problem("not_found");
    const { items, total } = found.value;
    return answer(
      { node_id: params.node_id, relationships: [...items], ...skippedPage(query, items.length, total) },
      { headers: versioned(found.version) },
    );
  });
  router.serve(getNode, async (call) => {
    const { version, value } = await requireLook(call, call.params.node_id);
    return answer(nodeView(value), { headers: { ...versioned(version), etag: tagOf(value) } });
  });
};
