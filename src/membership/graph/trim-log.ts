import { statement, type Database } from "#store/database.ts";

/** Ops that one statement takes out: the embedded database serves nothing else meanwhile. */
const PAGE = 1000;

const OLD = statement<{ log_from: bigint; upto: bigint }>(
  "membership.log_old",
  `select h.log_from, coalesce((select c.version from membership.graph_change c
     where c.version >= h.log_from and c.at >= now() - make_interval(days => $1) order by c.version limit 1), h.version + 1) as upto
   from membership.graph_head h`,
);
/** Ops after ($1, $2) of versions before $3, at most $4; nobody is shown those versions any more. */
const TRIM = statement<{ version: bigint | null; seq: number | null }>(
  "membership.log_trim",
  `with page as materialized (
     select o.version, o.seq, o.subject from membership.graph_change_op o
     where (o.version, o.seq) > ($1::bigint, $2::int) and o.version < $3 order by o.version, o.seq limit $4),
   moved as (update membership.graph_head set log_from = (select max(version) + 1 from page) where exists (select 1 from page)),
   gone as (
     delete from membership.graph_change_op o using page p where o.version = p.version and o.seq = p.seq
       and exists (select 1 from membership.graph_change_op n where n.subject = p.subject and (n.version, n.seq) > (p.version, p.seq)))
   select version, seq from page order by version desc, seq desc limit 1`,
);
const EMPTY = statement(
  "membership.log_empty",
  `delete from membership.graph_change c where c.version >= $1 and c.version < $2
     and not exists (select 1 from membership.graph_change_op o where o.version = c.version)`,
);

/**
 * Forgets changes older than so many days. The last word about each node and edge stays, however old: it says who granted what, and what a
 * seed must not bring back. Where nothing is old it reads one row.
 */
export const trimLog = async (database: Database, days: number, signal?: AbortSignal): Promise<void> => {
  const [{ log_from: from, upto } = { log_from: 0n, upto: 0n }] = await database.run(OLD, [days]);
  if (upto <= from) return;
  for (let last: { version: bigint | null; seq: number | null } | undefined = { version: from, seq: -1 }; last !== undefined;) {
    if (signal?.aborted === true) return;
    [last] = await database.run(TRIM, [last.version, last.seq, upto, PAGE]);
  }
  await database.run(EMPTY, [from, upto]);
};

const FLOOR = statement<{ log_from: bigint }>("membership.log_from", "select log_from from membership.graph_head");

/** The oldest version that the log has whole. */
export const oldestLogged = async (database: Database): Promise<bigint> => (await database.run(FLOOR))[0]?.log_from ?? 1n;
