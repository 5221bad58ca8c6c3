import { pageOf } from "#authn/sealing/sealed-cursors.ts";
import {
  indexState,
  nodeLabelCounts,
  orphanNodeCounts,
  relatedNodes,
  relationshipConnections,
  relationshipTypeCounts,
} from "#contract/diagnostics.ts";
import { graphVersion, listGraphChanges, membershipHealth, shortestPath } from "#contract/membership.ts";
import { Problem } from "#contract/problem.ts";
import { answer } from "#http/serve.ts";
import { requireView, type Asking } from "#membership/context/access.ts";
import { versioned } from "#membership/context/graph-answers.ts";
import { edgeKindNames, isEdgeKind } from "#membership/model/kinds.ts";
import type { Answered } from "#membership/graph/graph-reader.ts";
import type { FeedState } from "#membership/graph/index/feed.ts";
import { readOrphans } from "#membership/graph/sql-counts.ts";
import { readClock } from "#membership/graph/sql-parts.ts";
import { oldestLogged } from "#membership/graph/trim-log.ts";
import { tenantScopeOf, type TenantScope } from "#membership/graph/tenant-scope.ts";
import type { MembershipContext } from "#membership/context/context.ts";
import { readChanges } from "./list-changes.ts";

const typesOf = (list: string | undefined): readonly string[] => {
  const types = list === undefined ? [] : list.split(",").map((word) => word.trim());
  if (!types.every(isEdgeKind))
    throw new Problem("unprocessable", { errors: [{ path: "query.types", message: `must be of ${edgeKindNames.join(", ")}` }] });
  return types;
};

/** Questions about the graph itself: how it hangs together, who changed it, whether it answers. */
export const serveDiagnostics = (context: MembershipContext): void => {
  const { reader, router, pdpClient } = context;

  router.serve(shortestPath, async ({ caller, query, correlationId }) => {
    const scope = tenantScopeOf(caller);
    const types = typesOf(query.types);
    await pdpClient.require(caller, { type: "graph", action: "diagnose" }, correlationId);
    const { version, value } = await reader.path(scope, {
      from: query.from,
      to: query.to,
      maxHops: query.max_hops,
      types,
      directed: query.directed === "true",
    });
    if (value === undefined) throw new Problem("not_found");
    const { found, nodes, edges, explored, truncated } = value;
    return answer(
      { found, length: edges.length, nodes: [...nodes], edges: [...edges], explored, truncated },
      { headers: versioned(version) },
    );
  });

  const requireScope = (call: Asking): Promise<TenantScope> => requireView(context, call, { type: "graph", action: "diagnose" });
  const MAX_CLOCK_OFF_MS = 5000;

  const totalOf = (counts: Readonly<Record<string, number>>): number => Object.values(counts).reduce((sum, count) => sum + count, 0);
  const counted = ({ version, value }: Answered<Readonly<Record<string, number>>>) =>
    answer({ counts: { ...value }, total: totalOf(value) }, { headers: versioned(version) });

  router.serve(nodeLabelCounts, async (call) => counted(await reader.kindCounts(await requireScope(call))));
  router.serve(relationshipTypeCounts, async (call) => counted(await reader.edgeKindCounts(await requireScope(call))));
  router.serve(orphanNodeCounts, async (call) => {
    const { sample } = call.query;
    const rows = await readOrphans(context.database, await requireScope(call), sample);
    const counts = Object.fromEntries(rows.map(({ kind, count }) => [kind, count]));
    const samples = Object.fromEntries(rows.map((row) => [row.kind, [...row.sample]]));
    return { counts, total: totalOf(counts), ...(sample === 0 ? {} : { sample: samples }) };
  });
  router.serve(relationshipConnections, async (call) => {
    const { start_id, type, direction, limit, cursor } = call.query;
    if (type !== undefined) typesOf(type);
    const scope = await requireScope(call);
    const binding = ["connections", call.caller.sub, scope.tenant, start_id, type ?? null, direction];
    const after = cursor === undefined ? undefined : context.cursors.open(cursor, binding);
    const { version, value } = await reader.edges(scope, { id: start_id, type, direction, limit: limit + 1, skip: 0, after });
    if (value === undefined) throw new Problem("not_found");
    const { page, last } = pageOf(value.items, limit);
    const items = page.map(({ edge_id, node, properties }) => ({ edge_id, node, properties }));
    const next_cursor = last && context.cursors.seal(last.edge_id, binding);
    return answer({ start_id, type: type ?? null, items, next_cursor }, { headers: versioned(version) });
  });
  router.serve(relatedNodes, async (call) => {
    const { id, hops, direction, limit } = call.query;
    const types = typesOf(call.query.types);
    const { version, value } = await reader.near(await requireScope(call), { id, hops, types, direction, limit });
    if (value === undefined) throw new Problem("not_found");
    const { nodes, edges, truncated } = value;
    return answer({ nodes: [...nodes], edges: [...edges], truncated }, { headers: versioned(version) });
  });

  const stalenessOf = ({ stalenessMs }: FeedState): number | null => (Number.isFinite(stalenessMs) ? stalenessMs : null);
  router.serve(indexState, async (call) => {
    const scope = await requireScope(call);
    const index = context.feed?.state();
    const [nodes, edges] = [await reader.kindCounts(scope), await reader.edgeKindCounts(scope)];
    const { version } = await reader.version();
    return {
      reader: index === undefined ? ("sql" as const) : ("index" as const),
      version: Number(index?.version ?? version),
      head: Number(version),
      nodes: totalOf(nodes.value),
      edges: totalOf(edges.value),
      ...(index === undefined ? {} : { state: index.state, staleness_ms: stalenessOf(index), fallbacks: index.fallbacks }),
      ...(index !== undefined && scope.tenant === "*" ? { bytes: index.bytes } : {}),
    };
  });

  router.serve(graphVersion, async ({ caller }) => {
    tenantScopeOf(caller);
    const { version, at } = await reader.version();
    return { version: Number(version), at };
  });

  router.serve(listGraphChanges, async (call) => {
    const { query, caller } = call;
    const { limit, cursor, ...filters } = query;
    const scope = await requireScope(call);
    const oldest = await oldestLogged(context.database);
    if (query.since !== undefined && oldest > 1n && BigInt(query.since) < oldest)
      throw new Problem("too_old", { members: { oldest_version: Number(oldest) } });
    const binding = ["changes", caller.sub, scope.tenant, filters];
    const from = BigInt(query.since ?? 0) > oldest ? BigInt(query.since ?? 0) : oldest;
    const [version = "", seq = ""] = cursor === undefined ? [String(from), "-1"] : context.cursors.open(cursor, binding).split(".");
    const { items, next } = await readChanges(context.database, scope, {
      after: { version: BigInt(version), seq: Number(seq) },
      until: query.until,
      nodeId: query.node_id,
      actor: query.actor,
      source: query.source,
      limit,
    });
    return { items, next_cursor: next && context.cursors.seal(`${next.version}.${next.seq}`, binding) };
  });

  router.serve(membershipHealth, async () => {
    const { version } = await reader.version();
    const index = context.feed?.state();
    // Tokens end by this process's clock, delegations by the database's.
    const offMs = context.now().getTime() - Date.parse(await readClock(context.database));
    const sweeper = context.sweeper.state();
    const isOff = Math.abs(offMs) > MAX_CLOCK_OFF_MS;
    return {
      status: isOff ? "degraded" : "healthy",
      ...(isOff ? { clock_off_ms: offMs } : {}),
      graph_version: Number(version),
      reader: index === undefined ? "sql" : "index",
      index: index && { state: index.state, version: Number(index.version), staleness_ms: stalenessOf(index) },
      // Without hints the log is looked at all the same, only later.
      feed: index === undefined ? "off" : context.database.isListening() ? "listening" : "polling",
      sweeper: { state: sweeper.state, at: sweeper.at?.toISOString() ?? null },
      database: context.database.kind,
      version: context.version,
    };
  });
};
