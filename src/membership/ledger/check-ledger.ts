import { statement, type Database } from "#store/database.ts";
import type { Log } from "#telemetry/log.ts";

/** Meters that one statement looks at: the embedded database serves nothing else meanwhile. */
const PAGE = 50;

interface Checked {
  readonly last: string | null;
  /** Absent: nothing of the page wants doing. */
  readonly id: string | null;
  readonly is_wrong: boolean;
  readonly was_wrong: boolean;
}
/** $2 meters after $1: the last id of the page, and those that are wrong or were. */
const CHECK = statement<Checked>(
  "membership.ledger_check",
  `with page as (select m.* from membership.meter m where m.delegation_id > $1 order by m.delegation_id limit $2),
   s as (
     select m.delegation_id, m.is_wrong as was_wrong, (m.used_micro, m.held_micro, m.lent_micro, m.used_steps, m.held_steps, m.lent_steps)
       <> (x.used_micro, x.held_micro, c.lent_micro, x.used_steps, x.held_steps, c.lent_steps) as is_wrong
     from page m
     cross join lateral (
       select coalesce(sum(r.charged_micro), 0) as used_micro, coalesce(sum(r.micro) filter (where r.state = 'held'), 0) as held_micro,
         coalesce(sum(r.charged_steps), 0) as used_steps, coalesce(sum(r.steps) filter (where r.state = 'held'), 0) as held_steps
       from membership.reservation r where r.delegation_id = m.delegation_id) x
     cross join lateral (
       select coalesce(sum(case when d.ended_at is null then b.limit_micro else b.used_micro + b.held_micro + b.lent_micro end), 0) as lent_micro,
         coalesce(sum(case when d.ended_at is null then b.limit_steps else b.used_steps + b.held_steps + b.lent_steps end), 0) as lent_steps
       from membership.delegation d join membership.meter b on b.delegation_id = d.id where d.parent_id = m.delegation_id) c),
   u as (update membership.meter m set is_wrong = s.is_wrong from s where m.delegation_id = s.delegation_id and s.is_wrong <> s.was_wrong)
   select (select max(delegation_id) from page) as last, s.delegation_id as id, s.is_wrong, s.was_wrong
   from (select 1) one left join s on s.is_wrong or s.was_wrong`,
);

/**
 * Compares every meter with what its reservations and those below it say. Where they differ nothing is held any more (`ledger_inconsistent`)
 * until a later check finds them equal; the log says which. Cost: reads every reservation once, a page of meters at a time.
 */
export const checkLedger = async (parts: { readonly database: Database; readonly log: Log }, signal?: AbortSignal): Promise<void> => {
  for (let after: string | null = ""; after !== null && signal?.aborted !== true;) {
    const rows: readonly Checked[] = await parts.database.run(CHECK, [after, PAGE]);
    for (const { id, is_wrong: isWrong } of rows) {
      if (id === null) continue;
      if (isWrong) parts.log.error("ledger_inconsistent", { delegation_id: id });
      else parts.log.info("ledger_consistent", { delegation_id: id });
    }
    after = rows[0]?.last ?? null;
  }
};
