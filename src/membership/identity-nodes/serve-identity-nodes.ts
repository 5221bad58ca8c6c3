import {
  countNodes,
  fulltextSearch,
  getNode,
  getRelationships,
  listSystems,
  nodeTypeStats,
  searchNodes,
  searchNodesWithMetadata,
} from "#contract/membership.ts";
import { nodeId } from "#contract/ids.ts";
import { Problem } from "#contract/problem.ts";
import { answer } from "#http/serve.ts";
import { requireView, type Asking } from "#membership/asking.ts";
import { skippedPage, versioned } from "#membership/graph-edit/graph-answers.ts";
import type { Answered, FullTextAsk, GraphNode, NodeFilter } from "#membership/graph/graph-reader.ts";
import { edgeKindNames, identityKinds, isEdgeKind, kindsOfLabel, nodeLabels } from "#membership/graph/kinds.ts";
import { tenantScopeOf, type TenantScope } from "#membership/graph/tenant-scope.ts";
import { tagOf } from "#membership/if-match.ts";
import type { MembershipRoom } from "#membership/room.ts";
import { nodeView, sumRelationships } from "./node-view.ts";

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

const MOST_WORDS = 8;

/** Throws `unprocessable` for no words, and for too many. */
const fullTextOf = (filter: NodeFilter, text: string | undefined, name: string): FullTextAsk => {
  const words = text?.trim().split(/\s+/u).filter(Boolean) ?? [];
  if (words.length === 0 || words.length > MOST_WORDS)
    throw new Problem("unprocessable", { errors: [{ path: `query.${name}`, message: `must have 1 to ${MOST_WORDS} words` }] });
  return { kinds: filter.kinds, system: filter.system, text: words.join(" ") };
};

/** Who and what is there, as far as the caller's tenant reaches and the decision point lets the caller look. */
export const serveIdentityNodes = (room: MembershipRoom): void => {
  const { reader, router, decider, config } = room;
  const viewing = { type: "identities", action: "view_all" } as const;
  /** Unknown and foreign ids end here, before any decision. Nobody needs one to look at himself. */
  const requireNode = async ({ caller, correlationId }: Asking, id: string): Promise<Answered<GraphNode> & { scope: TenantScope }> => {
    const scope = tenantScopeOf(caller);
    const { version, value } = nodeId.safeParse(id).success ? await reader.node(scope, id) : { version: 0n, value: undefined };
    if (value === undefined) throw new Problem("not_found");
    if (id !== caller.sub) await decider.require(caller, { type: "identities", action: "view", id }, correlationId);
    return { version, value, scope };
  };

  router.serve(searchNodes, async (call) => {
    const filter = filterOf(call.query, config.searchLabels);
    const found = await reader.search(await requireView(room, call, viewing), filter, { ...call.query, withTotal: false });
    return answer(found.value.nodes.map(nodeView), { headers: versioned(found.version) });
  });
  router.serve(searchNodesWithMetadata, async (call) => {
    const { query } = call;
    const filter = filterOf(query, config.searchLabels);
    const isFullText = query.use_fulltext === "true";
    const asked = isFullText ? fullTextOf(filter, query.search, "search") : undefined;
    const scope = await requireView(room, call, viewing);
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
    const found = await reader.fullText(await requireView(room, call, viewing), asked, query);
    const { nodes, total } = found.value;
    return answer(
      { nodes: nodes.map((node) => ({ ...nodeView(node), score: node.score })), ...skippedPage(query, nodes.length, total) },
      { headers: versioned(found.version) },
    );
  });
  router.serve(countNodes, async (call) => {
    const counted = await reader.count(await requireView(room, call, viewing), filterOf(call.query, config.searchLabels));
    return answer({ count: counted.value }, { headers: versioned(counted.version) });
  });
  router.serve(listSystems, async (call) => {
    const found = await reader.systems(await requireView(room, call, viewing));
    return answer({ systems: [...found.value] }, { headers: versioned(found.version) });
  });
  router.serve(nodeTypeStats, async (call) => {
    const found = await reader.kindCounts(await requireView(room, call, viewing));
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
    const { scope } = await requireNode(call, params.node_id);
    const found = await reader.edges(scope, { id: params.node_id, ...query });
    if (found.value === undefined) throw new Problem("not_found");
    const { items, total } = found.value;
    return answer(
      { node_id: params.node_id, relationships: [...items], ...skippedPage(query, items.length, total) },
      { headers: versioned(found.version) },
    );
  });
  router.serve(getNode, async (call) => {
    const { version, value } = await requireNode(call, call.params.node_id);
    return answer(nodeView(value), { headers: { ...versioned(version), etag: tagOf(value) } });
  });
};
