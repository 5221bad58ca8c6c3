import { Problem } from "#contract/problem.ts";
import { statement, type Database } from "#store/database.ts";
import { isSqlFault } from "#store/sql-fault.ts";
import type { Answered, FullTextAsk, GraphNode } from "./graph-reader.ts";
import { foldText } from "./put-node.ts";
import { NODE } from "./sql-nodes.ts";
import { containing, HEAD } from "./sql-parts.ts";
import { visible, type TenantScope } from "./tenant-scope.ts";

/** How like a word has to be, for this transaction: less misses typing errors of one letter in a short word, more finds anything. */
const LIKENESS = statement("membership.word_likeness", "select set_config('pg_trgm.word_similarity_threshold', '0.45', true)");
const MOST_CANDIDATES = 10_000;

type Found = { readonly version: bigint; readonly total: number; readonly score: number } & {
  readonly [K in keyof GraphNode]: GraphNode[K] | null;
};

/** $2 kinds, $3 system or null, $4 the longest word, $5 it as a pattern, $6 words, $7 patterns, $8 the whole text. Fields of `fold` are id, name, others. */
const SEARCH = statement<Found>(
  "membership.full_text",
  `with candidate as materialized (
     select n.id, n.fold from membership.node n
     where n.kind = any($2::text[]) and ${visible("n")} and ($3::text is null or n.system = $3) and (n.fold like $5 or $4::text <% n.fold)
       and not exists (select 1 from unnest($6::text[], $7::text[]) w(word, pattern) where not (n.fold like w.pattern or w.word <% n.fold))
     order by n.id limit ${MOST_CANDIDATES}),
   scored as (
     select c.id, round((case
       when $8 = split_part(c.fold, chr(31), 2) and $8 <> split_part(c.fold, chr(31), 1) then 0.95
       when $8 = any(string_to_array(c.fold, chr(31))) then 1
       else 0.9 * (select avg(greatest(0.4, 0.8 * word_similarity(w.word, c.fold),
         word_similarity(w.word, split_part(c.fold, chr(31), 1) || ' ' || split_part(c.fold, chr(31), 2)))) from unnest($6::text[]) w(word))
     end)::numeric, 4)::float8 as score from candidate c)
   select ${HEAD} as version, (select count(*)::int from scored) as total, found.* from (select 1) one left join lateral (
     select s.score, ${NODE} from scored s join membership.node n on n.id = s.id order by s.score desc, n.id limit $9 offset $10) found on true
   order by found.score desc, found.id`,
);

const isFound = (row: Found): row is Found & GraphNode => row.id !== null;

/**
 * Nodes that have all words, each as part of a word of theirs or much like one; the best first. At most 10,000 are weighed, in the order
 * of ids. Throws `not_supported` where the database knows no trigrams.
 */
export const searchFullText = async (
  database: Database,
  scope: TenantScope,
  ask: FullTextAsk,
  page: { readonly limit: number; readonly skip: number },
): Promise<Answered<{ readonly nodes: readonly (GraphNode & { readonly score: number })[]; readonly total: number }>> => {
  const text = foldText(ask.text).trim();
  const words = text.split(/\s+/u);
  const longest = words.toSorted((one, other) => other.length - one.length)[0] ?? text;
  const rows = await database
    .transaction(
      async (sql) => {
        await sql.run(LIKENESS);
        return sql.run(SEARCH, [
          scope.tenant,
          ask.kinds,
          ask.system ?? null,
          longest,
          containing(longest),
          words,
          words.map(containing),
          text,
          page.limit,
          page.skip,
        ]);
      },
      { readOnly: true },
    )
    .catch((error: unknown) => {
      if (isSqlFault(error, "42883")) throw new Problem("not_supported", { detail: "This database has no pg_trgm.", cause: error });
      throw error;
    });
  const nodes = rows.filter(isFound).map(({ version: _version, total: _total, ...node }) => node);
  return { version: rows[0]?.version ?? 0n, value: { nodes, total: rows[0]?.total ?? 0 } };
};
