import { usdFromMicro } from "#contract/ids.ts";
import type { Change } from "#events/change.ts";
import type { EventDraft } from "#events/event-draft.ts";
import { statement, type Sql } from "#store/database.ts";
import type { Log } from "#telemetry/log.ts";
import type { DelegationRow } from "#membership/delegations/delegation-view.ts";
import { listWatchers } from "#membership/delegations/watchers.ts";

/** Tells the live stream that a delegation's meter moved: at most twice a second each, and always of the last move. */
export interface BudgetTeller {
  /** Returns at once; the answer that moved the meter does not wait for the telling. */
  moved(delegationId: string): void;
  /** Tells what is still to be told and stops. */
  stop(): Promise<void>;
}

const GAP_MS = 500;

type MeterRow = Pick<
  DelegationRow,
  "tenant_id" | "delegator_id" | "agent_id" | `${"limit" | "used" | "held" | "lent"}_${"micro" | "steps"}`
>;
const METER = statement<MeterRow>(
  "membership.meter_told",
  `select d.tenant_id, d.delegator_id, d.agent_id, m.limit_micro, m.used_micro, m.held_micro, m.lent_micro, m.limit_steps, m.used_steps,
     m.held_steps, m.lent_steps
   from membership.delegation d join membership.meter m on m.delegation_id = d.id where d.id = $1`,
);

const eventOf = async (sql: Sql, delegationId: string): Promise<EventDraft[]> => {
  const [row] = await sql.run(METER, [delegationId]);
  if (row === undefined) return [];
  return [
    {
      type: "budget.moved",
      tenant: row.tenant_id,
      stream: "config",
      kind: "budget",
      key: delegationId,
      visibleTo: await listWatchers(sql, row.delegator_id, row.agent_id),
      data: {
        delegation_id: delegationId,
        steps_left: Number(row.limit_steps - row.used_steps - row.held_steps - row.lent_steps),
        budget_left_usd: usdFromMicro(row.limit_micro - row.used_micro - row.held_micro - row.lent_micro),
        used_steps: Number(row.used_steps),
        used_usd: usdFromMicro(row.used_micro),
        held_steps: Number(row.held_steps),
        held_usd: usdFromMicro(row.held_micro),
      },
    },
  ];
};

export const createBudgetTeller = (parts: { readonly change: Change; readonly log: Log }): BudgetTeller => {
  /** Delegations told of within the last gap; true = moved since. */
  const recent = new Map<string, { again: boolean; timer: NodeJS.Timeout }>();
  const telling = new Set<Promise<void>>();
  let stopped = false;

  const tell = (delegationId: string): void => {
    const work = parts
      .change(async (sql) => ({ result: undefined, events: await eventOf(sql, delegationId) }))
      // A meter that nobody hears of is still right; the next move tells it.
      .catch((error: unknown) => parts.log.warn("budget_not_told", { delegation_id: delegationId, cause: error }))
      .finally(() => telling.delete(work));
    telling.add(work);
  };
  const moved = (delegationId: string): void => {
    if (stopped) return;
    const held = recent.get(delegationId);
    if (held !== undefined) {
      held.again = true;
      return;
    }
    tell(delegationId);
    const timer = setTimeout(() => {
      const again = recent.get(delegationId)?.again === true;
      recent.delete(delegationId);
      if (again) moved(delegationId);
    }, GAP_MS).unref();
    recent.set(delegationId, { again: false, timer });
  };
  return {
    moved,
    stop: async () => {
      stopped = true;
      for (const [delegationId, { again, timer }] of recent) {
        clearTimeout(timer);
        if (again) tell(delegationId);
      }
      recent.clear();
      await Promise.all(telling);
    },
  };
};
