import { randomUUID } from "node:crypto";
import { startInterval } from "#http/interval.ts";
import type { Database } from "#store/database.ts";
import { statement } from "#store/database.ts";
import type { Log } from "#telemetry/log.ts";
import { sweeperOf, reportOf, type DelegationAct } from "./delegations/acts.ts";
import { changeStatus, lockDelegations } from "./delegations/change-status.ts";
import { forgetAnswers } from "./context/idempotency.ts";
import { begun } from "./graph/sql-parts.ts";
import { scopeOfTenant } from "./graph/tenant-scope.ts";
import { trimLog } from "./graph/trim-log.ts";
import type { WriteGraph } from "./graph/write.ts";
import type { BudgetNotifier } from "./ledger/budget-notifier.ts";
import type { SweeperState } from "./context/context.ts";
import { checkLedger } from "./ledger/check-ledger.ts";
import { lapseOne } from "./ledger/close-reservation.ts";

export interface SweeperParts {
  readonly database: Database;
  readonly write: WriteGraph;
  readonly notifier: BudgetNotifier;
  readonly log: Log;
  readonly everyMs: number;
  readonly logDays: number;
  readonly now: () => Date;
  /** How often the ledger is checked and what is old is forgotten: each hour. */
  readonly keepEveryMs?: number;
}

/** Writes down what the clock did. Answers never wait for it: they go by the clock themselves. */
export interface Sweeper {
  /** One round, if this process holds the lease; tells whether it did. */
  sweep(): Promise<boolean>;
  state(): SweeperState;
  stop(): Promise<void>;
}

const HOUR_MS = 3_600_000;

const LEASE = statement<{ holder: string }>(
  "membership.sweeper_lease",
  `insert into membership.job_lease (job, holder, until) values ('sweeper', $1, now() + make_interval(secs => $2))
   on conflict (job) do update set holder = $1, until = now() + make_interval(secs => $2)
     where membership.job_lease.holder = $1 or membership.job_lease.until <= now()
   returning holder`,
);
const GIVE_UP = statement("membership.sweeper_give_up", "delete from membership.job_lease where job = 'sweeper' and holder = $1");
const DUE = statement<{ id: string; tenant_id: string; ends: boolean }>(
  "membership.sweeper_due",
  `select d.id, d.tenant_id, coalesce(d.expires_at <= now(), false) as ends from membership.delegation d
   where d.status in ('active', 'paused') and (d.expires_at <= now() or (d.hold = 'not_yet_valid' and ${begun("d")}))
   order by d.tenant_id, d.id limit 500`,
);

export const createSweeper = (parts: SweeperParts): Sweeper => {
  const { database, write, log } = parts;
  const holder = randomUUID();

  /** Ends and beginnings that have come, one version a tenant. */
  const sweepDelegations = async (): Promise<void> => {
    const due = Map.groupBy(await database.run(DUE), (row) => row.tenant_id);
    for (const [tenantId, rows] of due) {
      const actor = sweeperOf(randomUUID());
      await write({ ...actor.by, tenantId }, async (tx) => {
        const acts: DelegationAct[] = [];
        const scope = scopeOfTenant(tenantId);
        const ids = rows.map((row) => row.id);
        for (const row of await lockDelegations(tx.sql, scope, ids)) {
          if (acts.some((act) => act.after.delegation_id === row.id)) continue;
          // The locked row's own status and end decide, not what was seen before the lock.
          const ends = rows.find((one) => one.id === row.id)?.ends === true;
          if (ends && row.status === "expired" && row.ended_at === null)
            acts.push(...(await changeStatus(tx, scope, row, { op: "expired", status: "expired", endReason: "expired" })));
          if (!ends && row.hold === "not_yet_valid" && row.status === "active")
            acts.push(...(await changeStatus(tx, scope, row, { op: "resumed", status: "active" })));
        }
        return { value: undefined, ...reportOf(acts, actor) };
      });
    }
  };
  const sweepReservations = async (): Promise<void> => {
    for (let lapsed = await lapseOne(database); lapsed !== undefined && !loop.signal.aborted; lapsed = await lapseOne(database)) {
      log.warn("reservation_lapsed", { delegation_id: lapsed.delegationId, call_id: lapsed.callId });
      parts.notifier.moved(lapsed.delegationId);
    }
  };

  let keptAt = performance.now();
  const sweepOnce = async (): Promise<void> => {
    if (performance.now() - keptAt < (parts.keepEveryMs ?? HOUR_MS)) return;
    keptAt = performance.now();
    await checkLedger(parts, loop.signal);
    await trimLog(database, parts.logDays, loop.signal);
  };

  const sweep = async (): Promise<boolean> => {
    const [lease] = await database.run(LEASE, [holder, Math.max(30, (parts.everyMs * 3) / 1000)]);
    if (lease === undefined) return false;
    await sweepDelegations();
    await sweepReservations();
    await forgetAnswers(database);
    await sweepOnce();
    return true;
  };
  let last: SweeperState = { state: "starting", at: undefined };
  const round = async (): Promise<void> => {
    const ended = (state: SweeperState["state"]): void => void (last = { state, at: parts.now() });
    await sweep().then(
      (isOurs) => ended(isOurs ? "sweeping" : "elsewhere"),
      (error: unknown) => {
        ended("failed");
        throw error;
      },
    );
  };
  const loop = startInterval({ everyMs: parts.everyMs, work: round, failed: (cause) => log.error("sweep_failed", { cause }) });
  // Whoever starts checks, whoever sweeps.
  const checked = checkLedger(parts, loop.signal).catch((cause: unknown) => log.error("ledger_not_checked", { cause }));
  return {
    sweep,
    state: () => last,
    stop: async () => {
      await loop[Symbol.asyncDispose]();
      await checked;
      await database.run(GIVE_UP, [holder]).catch(() => undefined);
    },
  };
};
