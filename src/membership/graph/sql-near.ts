import { statement, type Sql } from "#store/database.ts";
import type { Answered, Near, NearAsk } from "./graph-reader.ts";
import { BOTH, IN, OUT, type StepRow } from "./sql-path.ts";
import { HEAD } from "./sql-parts.ts";
import { visible, type TenantScope } from "./tenant-scope.ts";

type NodeRow = Omit<Near["nodes"][number], "distance">;
const START = statement<{ version: bigint; known: boolean }>(
  "membership.near_start",
  `select ${HEAD} as version, exists (select 1 from membership.node n where n.id = $2 and ${visible("n")}) as known`,
);
const NODES = statement<NodeRow>(
  "membership.near_nodes",
  `select n.id, n.name, n.kind as node_type, n.state from membership.node n where n.id = any($2::text[]) and ${visible("n")}`,
);
const steps = { out: OUT, in: IN, both: BOTH } as const;

/** Breadth first, one statement a level; of a level the nodes with the smallest ids are taken. Run it in a read-only snapshot. */
export const readNear = async (sql: Sql, scope: TenantScope, ask: NearAsk): Promise<Answered<Near | undefined>> => {
  const [start] = await sql.run(START, [scope.tenant, ask.id]);
  const version = start?.version ?? 0n;
  if (start?.known !== true) return { version, value: undefined };
  const distances = new Map([[ask.id, 0]]);
  const seen = new Map<string, StepRow>();
  let frontier: readonly string[] = [ask.id];
  let truncated = false;
  for (let hop = 1; hop <= ask.hops && frontier.length > 0 && !truncated; hop++) {
    const rows = await sql.run(steps[ask.direction], [scope.tenant, frontier, ask.types]);
    for (const row of rows) seen.set(row.id, row);
    const reached = [...new Set(rows.flatMap(({ src, dst }) => [src, dst]))].filter((id) => !distances.has(id)).sort();
    const room = ask.limit - distances.size;
    truncated = reached.length > room;
    frontier = reached.slice(0, Math.max(0, room));
    for (const id of frontier) distances.set(id, hop);
  }
  const rows = await sql.run(NODES, [scope.tenant, [...distances.keys()]]);
  const nodes = rows
    .map((row) => ({ ...row, distance: distances.get(row.id) ?? 0 }))
    .sort((one, other) => one.distance - other.distance || (one.id < other.id ? -1 : 1));
  const edges = [...seen.values()]
    .filter(({ src, dst }) => distances.has(src) && distances.has(dst))
    .sort((one, other) => (one.id < other.id ? -1 : 1))
    // A delegation that is not live is no way.
    .map(({ id, kind, src, dst }) => ({ id, kind, from: src, to: dst, ...(kind === "DELEGATES_TO" ? { status: "active" } : {}) }));
  return { version, value: { nodes, edges, truncated } };
};
