import { Problem } from "#contract/problem.ts";
import { statement, type Database } from "#store/database.ts";
import { isSqlError } from "#store/sql-error.ts";
import type { GraphReader } from "./graph-reader.ts";
import { foldText } from "#contract/fold-text.ts";
import { inTime, isIndexed, requireInTime, searchTimeout } from "./search-limits.ts";
import { NODE, nodesOf, type Found } from "./sql-nodes.ts";
import { containing, HEAD } from "./sql-parts.ts";
import { visible } from "./tenant-scope.ts";

/** How like a word has to be, for this transaction: less misses typing errors of one letter in a short word, more finds anything. */
const LIKENESS = statement("membership.word_likeness", "select set_config('pg_trgm.word_similarity_threshold', '0.45', true)");
/** To the planner likeness costs no more than any comparison, so it would read all rows rather than the index of trigrams. */
const BY_INDEX = statement(
  "membership.full_text_by_index",
  "select set_config('enable_seqscan', 'off', true), set_config('enable_indexscan', 'off', true)",
);
/**
 * Nodes that are weighed: each is compared with each word. On the embedded database, where everybody waits for it, fewer, and the first that
 * are found: whatever is sorted has to be found first, all of it.
 */
const candidates = { postgres: { order: "order by n.id", max: 10_000 }, pglite: { order: "", max: 1_000 } } as const;

type FoundText = Found & { readonly total: number; readonly score: number; readonly late: boolean };

/** Of a word without three letters whatever is like it also has it as a part. */
const hasWord = "n.fold like w.pattern or (length(w.word) > 2 and w.word <% n.fold)";
/**
 * $2 kinds, $3 system or null, $4 the word that the index finds, $5 it as a pattern, $6 words, $7 patterns, $8 the whole text, $9 most that
 * are weighed, $10 milliseconds: behind them anything is taken, so that there are soon as many as are wanted. Fields of `fold` are id, name,
 * others.
 */
const searchBy = (way: string, found: string, order: string) =>
  statement<FoundText>(
    `membership.full_text_${way}`,
    `with candidate as materialized (
     select n.id, n.fold from membership.node n
     where n.kind = any($2::text[]) and ${visible("n")} and ($3::text is null or n.system = $3) and ${found}
       and case when ${inTime("$10")} then not exists (
         select 1 from unnest($6::text[], $7::text[]) w(word, pattern) where w.word <> $4 and not (${hasWord})) else true end
     ${order} limit $9),
   scored as (
     select c.id, round((case
       when not ${inTime("$10")} then 0
       when $8 = split_part(c.fold, chr(31), 2) and $8 <> split_part(c.fold, chr(31), 1) then 0.95
       when $8 = any(string_to_array(c.fold, chr(31))) then 1
       else 0.9 * (select avg(greatest(0.4, 0.8 * word_similarity(w.word, c.fold),
         word_similarity(w.word, split_part(c.fold, chr(31), 1) || ' ' || split_part(c.fold, chr(31), 2)))) from unnest($6::text[]) w(word))
     end)::numeric, 4)::float8 as score from candidate c),
   best as materialized (select s.id, s.score from scored s order by s.score desc, s.id limit $11 offset $12)
   select ${HEAD} as version, (select count(*)::int from scored) as total, found.*, not ${inTime("$10")} as late
   from (select 1) one left join lateral (select s.score, ${NODE} from best s join membership.node n on n.id = s.id) found on true
   order by found.score desc, found.id`,
    searchTimeout,
  );
const searchesOf = (kind: Database["kind"]) => ({
  indexed: searchBy(`indexed_${kind}`, "(n.fold like $5 or $4::text <% n.fold)", candidates[kind].order),
  /** Without a word that the index finds: `$4` is empty, and every row is looked at. */
  scanned: searchBy(`scanned_${kind}`, "$5::text is not null", candidates[kind].order),
});
const searches = { postgres: searchesOf("postgres"), pglite: searchesOf("pglite") };

/**
 * Nodes that have all words, each as part of a word of theirs or much like one; the best first. So many are weighed at most. Throws `not_supported` where the database knows no trigrams, `narrow_the_search`.
 */
export const searchFullText = async (
  database: Database,
  [scope, ask, page]: Parameters<GraphReader["fullText"]>,
  ms: (term: string) => number,
): ReturnType<GraphReader["fullText"]> => {
  const text = foldText(ask.text).trim();
  const words = text.split(/\s+/u);
  const [rarest = ""] = words.filter(isIndexed).toSorted((one, other) => other.length - one.length);
  const rows = await database
    .transaction(
      async (sql) => {
        sql.post(LIKENESS);
        if (rarest !== "") sql.post(BY_INDEX);
        return sql.run(searches[database.kind][rarest === "" ? "scanned" : "indexed"], [
          scope.tenant,
          ask.kinds,
          ask.system ?? null,
          rarest,
          containing(rarest),
          words,
          words.map(containing),
          text,
          candidates[database.kind].max,
          ms(rarest),
          page.limit,
          page.skip,
        ]);
      },
      { readOnly: true },
    )
    .catch((error: unknown) => {
      if (isSqlError(error, "42883")) throw new Problem("not_supported", { detail: "This database has no pg_trgm.", cause: error });
      throw error;
    });
  requireInTime(rows);
  return { version: rows[0]?.version ?? 0n, value: { nodes: nodesOf(rows), total: rows[0]?.total ?? 0 } };
};
