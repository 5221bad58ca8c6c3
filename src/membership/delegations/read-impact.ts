import { Problem } from "#contract/problem.ts";
import { unrecorded } from "#membership/graph/write.ts";
import { statement, type Database, type Sql } from "#store/database.ts";
import { readCapabilities } from "#membership/graph/sql-pip.ts";
import type { TenantScope } from "#membership/graph/tenant-scope.ts";
import { listOpen } from "#membership/delegations/read-ledger.ts";
import { changeStatus, lockDelegations } from "./change-status.ts";
import { undone } from "#membership/model/dry-run.ts";

interface Ends {
  readonly id: string;
  readonly delegator_id: string;
  readonly agent_id: string;
}
const UNDER = statement<Ends>(
  "membership.delegations_under",
  `select d.id, d.delegator_id, d.agent_id from membership.delegation d
   where d.path && ($1::text[] collate "C") and d.status in ('active', 'paused') order by d.id`,
);

/**
 * What would be lost if these delegations, and all below them, held no more: the enforcing question is asked before and after `end`, in a
 * transaction that is rolled back.
 */
export const impactOf = async (sql: Sql, scope: TenantScope, held: readonly Ends[], end: () => Promise<void>) => {
  const ids = held.map(({ id }) => id);
  const under = await sql.run(UNDER, [ids]);
  const pairs = new Map([...held, ...under].map((one) => [JSON.stringify([one.delegator_id, one.agent_id]), one]));
  const reach = async (): Promise<readonly (readonly string[])[]> => {
    const answers: (readonly string[])[] = [];
    for (const pair of pairs.values())
      answers.push((await readCapabilities(sql, scope, { userId: pair.delegator_id, agentId: pair.agent_id })).value);
    return answers;
  };
  const before = await reach();
  await end();
  const after = await reach();
  const running = await listOpen(sql, scope, [...new Set([...ids, ...under.map(({ id }) => id)])]);
  return {
    tools_lost: [...pairs.values()].flatMap((pair, index) =>
      (before[index] ?? [])
        .filter((tool) => after[index]?.includes(tool) !== true)
        .map((tool_id) => ({ user_id: pair.delegator_id, agent_id: pair.agent_id, tool_id })),
    ),
    running_calls: running.map(({ call_id, tool_id, created_at }) => ({ call_id, tool_id, since: created_at })),
    children: under.map(({ id }) => id).filter((id) => !ids.includes(id)),
  };
};

/** What ending a delegation would take away. Throws `not_found`. */
export const readImpact = (database: Database, scope: TenantScope, id: string) =>
  undone(database, async (sql) => {
    const [row] = await lockDelegations(sql, scope, [id]);
    if (row === undefined) throw new Problem("not_found");
    return impactOf(sql, scope, [row], async () => {
      if (row.status === "active" || row.status === "paused")
        await changeStatus(unrecorded(sql), scope, row, { op: "revoked", status: "revoked", endReason: "what-if" });
    });
  });
