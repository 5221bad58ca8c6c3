import { differenceClass, type DifferenceClass } from "#contract/replay.ts";
import type { ReplyOf } from "#contract/endpoint.ts";
import type { rolloutDifferences } from "#contract/rollouts.ts";
import { mergeSamples } from "#pdp/lifecycle/compare/difference-classes.ts";
import { statement, type Database } from "#store/database.ts";
import { addDecisions, type ShadowedDecision } from "./shadow-decisions.ts";

export type ShadowTotals = Pick<ReplyOf<typeof rolloutDifferences>, "evaluated" | "dropped" | "different">;

/** What one process saw since it last wrote. */
export interface ShadowSeen extends ShadowTotals {
  /** By tenant, then by class. */
  readonly classes: ReadonlyMap<string, ReadonlyMap<string, DifferenceClass>>;
  /** For the records of those decisions. */
  readonly decisions: readonly ShadowedDecision[];
}

/** A class as it is kept: with its key, and not yet read. */
type Row = Readonly<Record<Exclude<keyof DifferenceClass, "count">, unknown>> & { readonly class: string; readonly count: bigint };

// Also the lock that makes the writers of one version wait for one another.
const addTotals = statement(
  "pdp.shadow.totals",
  `insert into pdp.shadow_total as t (version, evaluated, dropped, different)
   select b.version, $2, $3, $4 from pdp.bundle b where b.version = $1
   on conflict (version) do update set evaluated = t.evaluated + excluded.evaluated, dropped = t.dropped + excluded.dropped,
     different = t.different + excluded.different
   returning version`,
);
const readTotals = statement<{ readonly evaluated: bigint; readonly dropped: bigint; readonly different: bigint }>(
  "pdp.shadow.read_totals",
  "select evaluated, dropped, different from pdp.shadow_total where version = $1",
);
const readClasses = statement<Row>(
  "pdp.shadow.read",
  `select class, resource_type, action, active, other, count, first_seen, last_seen, sample from pdp.shadow
   where version = $1 and tenant = $2 order by count desc, class limit 1000`,
);
const readSamples = statement<{ readonly class: string; readonly sample: unknown }>(
  "pdp.shadow.samples",
  "select class, sample from pdp.shadow where version = $1 and tenant = $2 and class = any($3)",
);
const putClass = statement(
  "pdp.shadow.put",
  `insert into pdp.shadow as s (version, tenant, class, resource_type, action, active, other, count, first_seen, last_seen, sample)
   values ($1, $2, $3, $4, $5, $6::jsonb, $7::jsonb, $8, $9, $10, $11::jsonb)
   on conflict (version, tenant, class) do update set count = s.count + excluded.count, sample = excluded.sample,
     first_seen = least(s.first_seen, excluded.first_seen), last_seen = greatest(s.last_seen, excluded.last_seen)`,
);

const samples = differenceClass.shape.sample.unwrap();

/** Adds to what is kept of a version. Nothing happens when the version is gone. */
export const addSeen = (database: Database, version: string, seen: ShadowSeen): Promise<void> =>
  database.transaction(async (sql) => {
    const there = await sql.run(addTotals, [version, seen.evaluated, seen.dropped, seen.different]);
    if (there.length === 0) return;
    await addDecisions(sql, seen.decisions);
    for (const [tenant, classes] of seen.classes) {
      const kept = new Map(
        (await sql.run(readSamples, [version, tenant, [...classes.keys()]])).map((row) => [row.class, samples.parse(row.sample)]),
      );
      for (const [key, kind] of classes) {
        const sample = mergeSamples(kept.get(key) ?? [], kind.sample ?? []);
        await sql.run(putClass, [
          version,
          tenant,
          key,
          kind.resource_type,
          kind.action,
          JSON.stringify(kind.active),
          JSON.stringify(kind.other),
          kind.count,
          kind.first_seen,
          kind.last_seen,
          JSON.stringify(sample),
        ]);
      }
    }
  });

/** What a version decided otherwise, for one tenant; the totals are of all. */
export const readSeen = async (
  database: Database,
  version: string,
  tenant: string,
): Promise<ShadowTotals & { readonly classes: readonly DifferenceClass[] }> => {
  const [totals] = await database.run(readTotals, [version]);
  const rows = await database.run(readClasses, [version, tenant]);
  return {
    evaluated: Number(totals?.evaluated ?? 0n),
    dropped: Number(totals?.dropped ?? 0n),
    different: Number(totals?.different ?? 0n),
    classes: rows.map(({ class: _class, count, ...row }) => differenceClass.parse({ ...row, count: Number(count) })),
  };
};
