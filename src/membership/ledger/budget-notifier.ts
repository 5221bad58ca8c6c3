import { randomUUID } from "node:crypto";
import { usdFromMicro } from "#contract/ids.ts";
import type { Change } from "#events/changes/change.ts";
import type { EventDraft } from "#events/model/event-draft.ts";
import { statement, type Sql } from "#store/database.ts";
import type { Log } from "#telemetry/log.ts";
import { eventOf as delegationEvent, listWatchers } from "#membership/delegations/acts.ts";
import { delegationView, readDelegation, type DelegationRow } from "#membership/delegations/delegation-view.ts";
import { wholeGraph } from "#membership/graph/tenant-scope.ts";

/**
 * Tells that a delegation's meter moved: at most twice a second each, and always of the last move; and, once each time it comes to that, that
 * 80 % of its limits are used up, or all of them.
 */
export interface BudgetNotifier {
  /** Returns at once; the answer that moved the meter does not wait for the telling. */
  moved(delegationId: string): void;
  /** Tells what is still to be told and stops. */
  stop(): Promise<void>;
}

const GAP_MS = 500;

// Of several that tell of the same meter one tells of the threshold.
const MARK = statement(
  "membership.meter_mark",
  "update membership.meter set told = $2 where delegation_id = $1 and told <> $2 returning 1",
);

const metersOf = (row: DelegationRow) => ({
  delegation_id: row.id,
  steps_left: Number(row.limit_steps - row.used_steps - row.held_steps - row.lent_steps),
  budget_left_usd: usdFromMicro(row.limit_micro - row.used_micro - row.held_micro - row.lent_micro),
  used_steps: Number(row.used_steps),
  used_usd: usdFromMicro(row.used_micro),
  held_steps: Number(row.held_steps),
  held_usd: usdFromMicro(row.held_micro),
});

const eventsOf = async (sql: Sql, delegationId: string): Promise<EventDraft[]> => {
  const row = await readDelegation(sql, wholeGraph, delegationId);
  if (row === undefined) return [];
  const watchers = await listWatchers(sql, row.person_id, row.agent_id);
  const common = {
    tenant: row.tenant_id,
    stream: "config" as const,
    kind: "budget",
    key: delegationId,
    visibleTo: watchers,
    data: metersOf(row),
  };
  const events: EventDraft[] = [{ ...common, type: "budget.moved" }];
  if (row.used_up === row.told || (await sql.run(MARK, [delegationId, row.used_up])).length === 0 || row.used_up < row.told) return events;
  events.push({ ...common, type: "budget.threshold", data: { ...common.data, percent: row.used_up } });
  if (row.used_up === 100)
    events.push(delegationEvent({ op: "exhausted", after: delegationView(row), tenantId: row.tenant_id, watchers }, randomUUID()));
  return events;
};

export const createBudgetNotifier = (parts: { readonly change: Change; readonly log: Log }): BudgetNotifier => {
  /** Delegations told of within the last gap; true = moved since. */
  const recent = new Map<string, { again: boolean; timer: NodeJS.Timeout }>();
  const telling = new Set<Promise<void>>();
  let stopped = false;

  const tell = (delegationId: string): void => {
    const work = parts
      .change(async (sql) => ({ result: undefined, events: await eventsOf(sql, delegationId) }))
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
