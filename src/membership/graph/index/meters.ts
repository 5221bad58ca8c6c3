import { statement, type Sql } from "#store/database.ts";
import type { FactHop } from "#membership/graph/sql-facts.ts";

/** What is left of delegations, by id. It is a ledger and no part of the graph: always read where it is kept. */
export type Meters = ReadonlyMap<string, Pick<FactHop, "steps_left" | "micro_left">>;

const METERS = statement<{ readonly head: bigint; readonly id: string; readonly steps_left: bigint; readonly micro_left: string }>(
  "membership.index_meters",
  `select h.version as head, m.delegation_id as id, m.limit_steps - m.used_steps - m.held_steps - m.lent_steps as steps_left,
     least(m.limit_micro - m.used_micro - m.held_micro - m.lent_micro, membership.budget_left(d.id, d.tenant_id))::text as micro_left
   from membership.graph_head h, membership.meter m join membership.delegation d on d.id = m.delegation_id where m.delegation_id = any($1)`,
);

/** What is left, and the graph's version at that moment: whoever goes on with an older graph would use a delegation that has ended. */
export const readMeters = async (
  sql: Sql,
  delegationIds: readonly string[],
): Promise<{ readonly meters: Meters; readonly head: bigint }> => {
  const rows = await sql.run(METERS, [delegationIds]);
  return {
    meters: new Map(rows.map((row) => [row.id, { steps_left: Number(row.steps_left), micro_left: row.micro_left }])),
    head: rows[0]?.head ?? -1n,
  };
};
