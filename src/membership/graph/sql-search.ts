import { statement, type Database, type Statement } from "#store/database.ts";
import { isTimedOut } from "#store/sql-error.ts";
import type { GraphReader, NodeFilter } from "./graph-reader.ts";
import { foldText } from "#contract/fold-text.ts";
import { createQueue, inTime, isIndexed, requireInTime, searchMs, searchTimeout, tooBroad } from "./search-limits.ts";
import { searchFullText } from "./sql-full-text.ts";
import { listSystems, NODE, nodesOf, type Found } from "./sql-nodes.ts";
import { containing, HEAD } from "./sql-parts.ts";
import { visible, type TenantScope } from "./tenant-scope.ts";

type Late = { readonly late: boolean };
type FoundLate = Found & Late & { readonly total: number };

/** $3 LIKE pattern, $5 milliseconds. What the index does not find is looked at only while there is time. */
const conditions = {
  none: `$3::text is null and ${inTime("$5")}`,
  indexed: `n.fold like $3 and ${inTime("$5")}`,
  scanned: `case when ${inTime("$5")} then n.fold like $3 else false end`,
};
interface Searches {
  readonly page: Statement<FoundLate>;
  readonly pageAndTotal: Statement<FoundLate>;
  readonly total: Statement<Late & { version: bigint; total: number }>;
}
/** $2 kinds, $4 system or null. */
const searchesBy = (way: keyof typeof conditions): Searches => {
  const matches = `${visible("n")} and n.kind = any($2::text[]) and ($4::text is null or n.system = $4) and ${conditions[way]}`;
  const total = `(select count(*)::int from membership.node n where ${matches})`;
  const page = (
    counted: string,
  ): string => `select ${HEAD} as version, ${counted} as total, found.*, not ${inTime("$5")} as late from (select 1) one
   left join lateral (select ${NODE} from membership.node n where ${matches} order by n.id limit $6 offset $7) found on true order by found.id`;
  return {
    page: statement(`membership.node_search_${way}`, page("0"), searchTimeout),
    pageAndTotal: statement(`membership.node_search_total_${way}`, page(total), searchTimeout),
    total: statement(
      `membership.node_count_${way}`,
      `select ${HEAD} as version, ${total} as total, not ${inTime("$5")} as late`,
      searchTimeout,
    ),
  };
};
const searches = { none: searchesBy("none"), indexed: searchesBy("indexed"), scanned: searchesBy("scanned") };

/** Terms hold no control character (the edge refuses them), so none can reach across the one that joins the fields. */
const askOf = (scope: TenantScope, { kinds, search, system }: NodeFilter, ms: (term: string | undefined) => number) => {
  const term = search === undefined ? undefined : foldText(search);
  const way = term === undefined ? "none" : isIndexed(term) ? "indexed" : "scanned";
  const values = [scope.tenant, kinds, term === undefined ? null : containing(term), system ?? null, ms(term)] as const;
  return { by: searches[way], values };
};

/** Most searches that wait for the embedded database. */
const MAX_WAITING = 8;

/**
 * What reads much of the graph because somebody looks for something. On the embedded database one at a time, so that whatever else is asked
 * waits for one of them at most; too many at once are `busy`. What would take too long is `narrow_the_search`.
 */
export const createSearches = (
  database: Database,
  /** Milliseconds that a search for the term has. */
  ms = (term: string | undefined) => searchMs(database.kind, term),
): Pick<GraphReader, "search" | "count" | "fullText" | "systems"> => {
  const inTurn = database.kind === "pglite" ? createQueue(MAX_WAITING) : <T>(work: () => Promise<T>) => work();
  const searching = <T>(work: () => Promise<T>): Promise<T> =>
    inTurn(work).catch((error: unknown) => {
      throw isTimedOut(error) ? tooBroad(error) : error;
    });
  return {
    search: (scope, filter, { withTotal, limit, skip }) =>
      searching(async () => {
        const { by, values } = askOf(scope, filter, ms);
        const rows = await database.run(withTotal ? by.pageAndTotal : by.page, [...values, limit, skip]);
        requireInTime(rows);
        return { version: rows[0]?.version ?? 0n, value: { nodes: nodesOf(rows), total: rows[0]?.total ?? 0 } };
      }),
    count: (scope, filter) =>
      searching(async () => {
        const { by, values } = askOf(scope, filter, ms);
        const rows = await database.run(by.total, [...values]);
        requireInTime(rows);
        return { version: rows[0]?.version ?? 0n, value: rows[0]?.total ?? 0 };
      }),
    fullText: (scope, ask, page) => searching(() => searchFullText(database, [scope, ask, page], ms)),
    systems: (scope) => searching(() => listSystems(database, scope)),
  };
};
