import { graphVersion, listGraphChanges, membershipHealth, shortestPath } from "#contract/membership.ts";
import { Problem } from "#contract/problem.ts";
import { answer } from "#http/serve.ts";
import { edgeKindNames, isEdgeKind } from "#membership/graph/kinds.ts";
import { tenantScopeOf } from "#membership/graph/tenant-scope.ts";
import type { MembershipRoom } from "#membership/room.ts";
import { readChanges } from "./list-changes.ts";

const typesOf = (list: string | undefined): readonly string[] => {
  const types = list === undefined ? [] : list.split(",").map((word) => word.trim());
  if (!types.every(isEdgeKind))
    throw new Problem("unprocessable", { errors: [{ path: "query.types", message: `must be of ${edgeKindNames.join(", ")}` }] });
  return types;
};

/** Questions about the graph itself: how it hangs together, who changed it, whether it answers. */
export const serveDiagnostics = (room: MembershipRoom): void => {
  const { reader, router, decider } = room;

  router.serve(shortestPath, async ({ caller, query, correlationId }) => {
    const scope = tenantScopeOf(caller);
    const types = typesOf(query.types);
    await decider.require(caller, { type: "graph", action: "diagnose" }, correlationId);
    const { version, value } = await reader.path(scope, {
      from: query.from,
      to: query.to,
      maxHops: query.max_hops,
      types,
      directed: query.directed === "true",
    });
    if (value === undefined) throw new Problem("not_found");
    return answer(
      {
        found: value.found,
        length: value.edges.length,
        nodes: value.nodes.map((node) => ({ ...node })),
        edges: value.edges.map((edge) => ({ ...edge })),
        explored: value.explored,
        truncated: value.truncated,
      },
      { headers: { "x-graph-version": String(version) } },
    );
  });

  router.serve(graphVersion, async ({ caller }) => {
    tenantScopeOf(caller);
    const { version, at } = await reader.version();
    return { version: Number(version), at };
  });

  router.serve(listGraphChanges, async ({ caller, query, correlationId }) => {
    const scope = tenantScopeOf(caller);
    const { limit, cursor, ...filters } = query;
    await decider.require(caller, { type: "graph", action: "diagnose" }, correlationId);
    const binding = ["changes", caller.sub, scope.tenant, filters];
    const after = cursor === undefined ? BigInt(query.since ?? 0) - 1n : BigInt(room.cursors.open(binding, cursor));
    const items = await readChanges(room.database, scope, {
      after,
      until: query.until,
      nodeId: query.node_id,
      actor: query.actor,
      source: query.source,
      limit: limit + 1,
    });
    const page = items.slice(0, limit);
    const last = page.at(-1);
    return {
      items: page,
      ...(items.length > limit && last !== undefined ? { next_cursor: room.cursors.seal(binding, String(last.version)) } : {}),
    };
  });

  router.serve(membershipHealth, async () => {
    const { version } = await reader.version();
    return { status: "healthy", graph_version: Number(version), reader: "sql", database: room.database.kind, version: room.version };
  });
};
