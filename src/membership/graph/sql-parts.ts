import { statement, type Sql } from "#store/database.ts";

/** Pieces of SQL that more than one statement says, so that all say them alike. The clock is the database's. */

/** Longest work of the server at what a decision waits for; see `Statement`. */
export const pipTimeout = { timeoutMs: 2_000 } as const;

/** An edge past its end counts as absent. */
export const unexpired = (edge: string): string => `(${edge}.expires_at is null or ${edge}.expires_at > now())`;

/** A delegation row on its own, by the clock: begun, not ended, not held. */
export const begun = (row: string): string =>
  `((${row}.status = 'active' or (${row}.status = 'paused' and ${row}.hold = 'not_yet_valid')) and ${row}.valid_from <= now()
    and (${row}.expires_at is null or ${row}.expires_at > now()))`;

/** A delegation is live only if every one on its path is. */
export const live = (row: string): string =>
  `not exists (select 1 from membership.delegation lp where lp.id = any(${row}.path) and not ${begun("lp")})`;

const own = (row: string): string =>
  `case when ${row}.status in ('revoked', 'expired') then ${row}.status when ${row}.expires_at <= now() then 'expired'
    when ${row}.status = 'paused' and ${row}.hold = 'not_yet_valid' and ${row}.valid_from <= now() then 'active' else ${row}.status end`;

/** The status that is told: by the clock, and never better than that of a delegation above it. */
export const effectiveStatus = (row: string): string =>
  `(case when ${own(row)} in ('revoked', 'expired') then ${own(row)} else coalesce((
     select case when bool_or(${own("sp")} in ('revoked', 'expired')) then 'revoked' when bool_or(${own("sp")} = 'paused') then 'paused' end
     from membership.delegation sp where sp.id = any(${row}.path) and sp.id <> ${row}.id), ${own(row)}) end)`;

/** Active first, then paused, expired, revoked. */
export const statusRank = (status: string): string => `array_position(array['active', 'paused', 'expired', 'revoked'], ${status})`;

/** When the rows `row` of delegations change by the clock alone: the next beginning or end, null if never. */
export const nextTurn = (row: string): string =>
  `min(least(case when ${row}.valid_from > now() then ${row}.valid_from end, case when ${row}.expires_at > now() then ${row}.expires_at end))
     filter (where ${row}.status in ('active', 'paused'))`;

/** How much of its limits a meter has used up or handed on, in percent: 100 = all, 80 = that much at least, else 0. */
export const usedUp = (meter: string): string => {
  const share = (of: number): string => `((${meter}.used_steps + ${meter}.lent_steps) * 5 >= ${meter}.limit_steps * ${of}
     or (${meter}.limit_micro > 0 and (${meter}.used_micro + ${meter}.lent_micro) * 5 >= ${meter}.limit_micro * ${of}))`;
  return `(case when ${share(5)} then 100 when ${share(4)} then 80 else 0 end)`;
};

const CLOCK = statement<{ now: string }>("membership.clock", "select clock_timestamp() as now");
/** The database's clock, by which everything ends and begins. */
export const readClock = async (sql: Sql): Promise<string> => {
  const [row] = await sql.run(CLOCK);
  if (row === undefined) throw new TypeError("a clock has a time");
  return row.now;
};

/** The version that a statement's answer is true at. */
export const HEAD = "(select h.version from membership.graph_head h)";

/** A term as a LIKE pattern that finds it literally. */
export const containing = (term: string): string => `%${term.replace(/[\\%_]/g, "\\$&")}%`;
