import { statement } from "#store/database.ts";
import { compareTexts, type SqlAnswer } from "./graph-reader.ts";
import { BOTH, IN, NODES, OUT, type StepRow } from "./sql-path.ts";
import { HEAD } from "./sql-parts.ts";
import { visible } from "./tenant-scope.ts";

const START = statement<{ version: bigint; known: boolean }>(
  "membership.near_start",
  `select ${HEAD} as version, exists (select 1 from membership.node n where n.id = $2 and ${visible("n")}) as known`,
);
const steps = { out: OUT, in: IN, both: BOTH } as const;

/** Breadth first, one statement a level; of a level the nodes with the smallest ids are taken. Run it in a read-only snapshot. */
export const readNear: SqlAnswer<"near"> = async (sql, scope, ask) => {
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
    const capacity = ask.limit - distances.size;
    truncated = reached.length > capacity;
    frontier = reached.slice(0, Math.max(0, capacity));
    for (const id of frontier) distances.set(id, hop);
  }
  const rows = await sql.run(NODES, [scope.tenant, [...distances.keys()]]);
  const nodes = rows
    .map((row) => ({ ...row, distance: distances.get(row.id) ?? 0 }))
    .sort((one, other) => one.distance - other.distance || compareTexts(one.id, other.id));
  const edges = [...seen.values()]
    .filter(({ src, dst }) => distances.has(src) && distances.has(dst))
    .sort((one, other) => compareTexts(one.id, other.id))
    // A delegation that is not live is no way.
    .map(({ id, kind, src, dst }) => ({ id, kind, from: src, to: dst, ...(kind === "DELEGATES_TO" ? { status: "active" } : {}) }));
  return { version, value: { nodes, edges, truncated } };
};
