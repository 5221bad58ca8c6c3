import { statement } from "#store/database.ts";
import type { EdgeRow } from "./drop-edge.ts";
import { compareTexts, type NodeBrief, type SqlAnswer } from "./graph-reader.ts";
import { HEAD, live, unexpired } from "./sql-parts.ts";
import { visible } from "./tenant-scope.ts";

export const MAX_EXPLORED = 200_000;

export type StepRow = Pick<EdgeRow, "id" | "kind" | "src" | "dst">;

const ENDS = statement<{ version: bigint; known: boolean }>(
  "membership.path_ends",
  `select ${HEAD} as version, (select count(*) from membership.node n where n.id in ($2, $3) and ${visible("n")}) =
     case when $2::text = $3::text then 1 else 2 end as known`,
);

/** Edges at a frontier whose other end is visible. A delegation that is not live is no way. */
const step = (direction: "out" | "in"): string => {
  const [here, there] = direction === "out" ? ["src", "dst"] : ["dst", "src"];
  return `select e.id, e.kind, e.src, e.dst from unnest($2::text[]) f(id)
    join membership.edge e on e.${here} = f.id and ${unexpired("e")} and ($3::text[] = '{}' or e.kind = any($3::text[]))
    join membership.node o on o.id = e.${there} and ${visible("o")}
    where e.kind <> 'DELEGATES_TO' or exists (select 1 from membership.delegation d where d.id = e.id and ${live("d")})`;
};
export const OUT = statement<StepRow>("membership.path_out", `${step("out")} limit ${MAX_EXPLORED}`);
export const IN = statement<StepRow>("membership.path_in", `${step("in")} limit ${MAX_EXPLORED}`);
export const BOTH = statement<StepRow>("membership.path_both", `(${step("out")}) union (${step("in")}) limit ${MAX_EXPLORED}`);
export const NODES = statement<NodeBrief>(
  "membership.path_nodes",
  `select n.id, n.name, n.kind as node_type, n.state from membership.node n where n.id = any($2::text[]) and ${visible("n")}`,
);

/**
 * Breadth first, one statement a level. Nodes of a level stand in the order of the step sequences that reach them, so the
 * first way to a node is the smallest in (kind, id) among the shortest. Run it in a read-only snapshot.
 */
export const readPath: SqlAnswer<"path"> = async (sql, scope, ask) => {
  const [ends] = await sql.run(ENDS, [scope.tenant, ask.from, ask.to]);
  const version = ends?.version ?? 0n;
  if (ends?.known !== true) return { version, value: undefined };

  const cameBy = new Map<string, { readonly from: string; readonly edge: StepRow }>();
  const seen = new Set([ask.from]);
  let frontier: readonly string[] = [ask.from];
  let explored = 1;
  let truncated = false;
  for (let hop = 0; hop < ask.maxHops && frontier.length > 0 && !seen.has(ask.to) && !truncated; hop++) {
    const rank = new Map(frontier.map((id, index) => [id, index]));
    const rows = await sql.run(ask.directed ? OUT : BOTH, [scope.tenant, frontier, ask.types]);
    truncated = rows.length >= MAX_EXPLORED;
    const ways = rows.flatMap((edge) => [
      { from: edge.src, to: edge.dst, edge },
      ...(ask.directed ? [] : [{ from: edge.dst, to: edge.src, edge }]),
    ]);
    const reached = ways
      .filter((way) => rank.has(way.from) && !seen.has(way.to))
      .sort(
        (one, other) =>
          (rank.get(one.from) ?? 0) - (rank.get(other.from) ?? 0) ||
          compareTexts(one.edge.kind, other.edge.kind) ||
          compareTexts(one.to, other.to) ||
          compareTexts(one.edge.id, other.edge.id),
      );
    const next: string[] = [];
    for (const way of reached) {
      if (seen.has(way.to)) continue;
      seen.add(way.to);
      cameBy.set(way.to, way);
      next.push(way.to);
    }
    explored += next.length;
    if (explored > MAX_EXPLORED) truncated = true;
    frontier = next;
  }

  const ids: string[] = [];
  const edges: StepRow[] = [];
  if (seen.has(ask.to)) {
    for (let at = ask.to; at !== ask.from;) {
      const way = cameBy.get(at);
      if (way === undefined) break;
      ids.unshift(at);
      edges.unshift(way.edge);
      at = way.from;
    }
    ids.unshift(ask.from);
  }
  const rows = ids.length === 0 ? [] : await sql.run(NODES, [scope.tenant, ids]);
  const nodes = ids.flatMap((id) => rows.filter((row) => row.id === id));
  return {
    version,
    value: {
      found: ids.length > 0,
      nodes,
      edges: edges.map((edge) => ({ id: edge.id, kind: edge.kind, from: edge.src, to: edge.dst })),
      explored,
      truncated,
    },
  };
};
