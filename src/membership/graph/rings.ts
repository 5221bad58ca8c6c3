import { Problem } from "#contract/problem.ts";
import { statement, type Sql } from "#store/database.ts";
import type { EdgeRow } from "./drop-edge.ts";
import { edgeKindRow, type EdgeKind } from "#membership/model/kinds.ts";
import { unexpired } from "./sql-parts.ts";

type Joined = Pick<EdgeRow, "kind" | "src" | "dst" | "expires_at">;

const LOCK_KIND = statement("membership.edge_kind_lock", "select pg_advisory_xact_lock(hashtextextended('membership.edge.' || $1, 0))");
const RINGS = statement<{ src: string; dst: string; back: boolean; length: number }>(
  "membership.edge_rings",
  `with recursive given(src, dst) as (select s collate "C", d collate "C" from unnest($2::text[], $3::text[], $4::timestamptz[]) x(s, d, ends)
     where x.ends is null or x.ends > now()),
   down(root, id, depth) as (
     select distinct g.dst, g.dst, 0 from given g union
     select d.root, e.dst, d.depth + 1 from down d
       cross join lateral (select e.dst from membership.edge e where e.src = d.id and e.kind = $1 and ${unexpired("e")} offset 0) e where d.depth < 32),
   up(root, id, depth) as (
     select distinct g.src, g.src, 0 from given g union
     select u.root, e.src, u.depth + 1 from up u
       cross join lateral (select e.src from membership.edge e where e.dst = u.id and e.kind = $1 and ${unexpired("e")} offset 0) e where u.depth < 32),
   below as (select root, max(depth) as depth from down group by root),
   above as (select root, max(depth) as depth from up group by root)
   select g.src, g.dst, exists (select 1 from down d where d.root = g.dst and d.id = g.src) as back, a.depth + 1 + b.depth as length
   from given g join below b on b.root = g.dst join above a on a.root = g.src`,
);

const acyclicKinds = (edges: readonly Joined[]): readonly EdgeKind[] =>
  [...new Set(edges.map(({ kind }) => kind))].filter((kind) => edgeKindRow(kind).acyclic === true).sort();

/** Kinds of edges that lead nowhere back: nesting of groups, places in places. */
export const leadsBack = {
  /** Two edges written at once could close a ring that neither sees: such kinds are written one at a time. */
  lock: async (sql: Sql, edges: readonly Joined[]): Promise<void> => {
    for (const kind of acyclicKinds(edges)) await sql.run(LOCK_KIND, [kind]);
  },
  /** Of edges just written; what has ended leads nowhere. Throws `cycle`, and `unprocessable` where they nest too deeply. */
  require: async (sql: Sql, edges: readonly Joined[]): Promise<void> => {
    for (const kind of acyclicKinds(edges)) {
      const those = edges.filter((edge) => edge.kind === kind);
      const found = await sql.run(RINGS, [
        kind,
        those.map(({ src }) => src),
        those.map(({ dst }) => dst),
        those.map(({ expires_at }) => expires_at),
      ]);
      const ring = found.find(({ back }) => back);
      if (ring !== undefined) throw new Problem("cycle", { detail: `${kind} from ${ring.src} to ${ring.dst} would close a ring.` });
      const { depth = Number.POSITIVE_INFINITY } = edgeKindRow(kind);
      const deep = found.find(({ length }) => length > depth);
      if (deep !== undefined)
        throw new Problem("unprocessable", {
          detail: `${kind} nests at most ${depth} deep; ${deep.src} in ${deep.dst} would make ${deep.length}.`,
        });
    }
  },
};
