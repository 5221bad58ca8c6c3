import { ask } from "#contract/ask.ts";
import { askFacts } from "#contract/facts.ts";
import { asService, type MembershipParts } from "#crud/model/ask-membership.ts";
import type { Change } from "#events/changes/change.ts";
import type { LiveBus } from "#events/streams/live-bus.ts";
import { startInterval } from "#http/interval.ts";
import { statement, type Database } from "#store/database.ts";
import type { Log } from "#telemetry/log.ts";
import { recheckRuns } from "#crud/workflows/engine/signals.ts";
import { revokeRuns } from "#crud/workflows/engine/verbs.ts";

export interface RightsContext extends MembershipParts {
  readonly database: Database;
  readonly change: Change;
  readonly bus: Pick<LiveBus, "subscribe">;
  readonly log: Log;
}

/** Kinds of events after which a refused step is decided anew. */
const RIGHT_KINDS: ReadonlySet<string> = new Set(["config", "tools", "delegation", "budget", "graph", "policy"]);
const ENDED: ReadonlySet<string> = new Set(["delegation.revoked", "delegation.expired"]);
/** Of each call: a step that waits for money looks again by itself. */
const MONEY = "budget.moved";
const EVERY_MS = 5_000;
const PAUSE_MS = 500;

/** Tenants with live runs, each read once from the index. */
const LIVE = statement<{ tenant: string }>(
  "crud.wf_live_tenants",
  `with recursive live (tenant) as (
     (select tenant from crud.wf_run where ended_at is null order by tenant limit 1)
     union all
     select (select r.tenant from crud.wf_run r where r.ended_at is null and r.tenant > l.tenant order by r.tenant limit 1)
     from live l where l.tenant is not null)
   select tenant from live where tenant is not null`,
);

interface ActingDelegation {
  readonly delegation_id: string;
  readonly subject: string;
  readonly agent: string;
}
const DELEGATIONS = statement<ActingDelegation>(
  "crud.wf_live_delegations",
  `select distinct delegation_id, subject, agent from crud.wf_run
   where ended_at is null and delegation_id is not null and agent is not null and tenant = $1`,
);
const MAX_ASKS = 50;
const ACT = { action: "complete", resource: { type: "tasks", external_id: "*" } };

/**
 * Follows what changes the rights of live runs, by the configuration stream of their tenants: refused steps are decided anew, runs of an ended
 * delegation stop. What ended before it is followed is asked for.
 */
export const followRights = (parts: RightsContext): AsyncDisposable => {
  const { database, change, bus, log } = parts;
  const stop = new AbortController();
  const followed = new Map<string, AbortController>();
  const failed = (cause: unknown): void => log.warn("workflow_rights_unfollowed", { cause });

  const revokeEnded = async (tenant: string): Promise<void> => {
    const acting = await database.run(DELEGATIONS, [tenant]);
    for (let at = 0; at < acting.length; at += MAX_ASKS) {
      const some = acting.slice(at, at + MAX_ASKS);
      const asks = some.map(({ delegation_id, subject, agent }) => ({
        ...ACT,
        subject_id: subject,
        agent_ids: [agent],
        delegation_id,
        tenant_id: tenant,
      }));
      const headers = await asService(parts, ["pip.read"], "workflow-rights");
      const { facts } = await ask(parts.membership, askFacts, { body: { asks }, headers });
      for (const [place, { delegation_id: id }] of some.entries()) {
        const status = facts[place]?.delegation?.status;
        if (status === "revoked" || status === "expired") await revokeRuns(change, id);
      }
    }
  };

  const follow = async (tenant: string, signal: AbortSignal): Promise<void> => {
    let timer: NodeJS.Timeout | undefined;
    const recheck = (): void => {
      timer ??= setTimeout(() => {
        timer = undefined;
        recheckRuns(database, tenant).catch(failed);
      }, PAUSE_MS).unref();
    };
    try {
      for await (const frame of bus.subscribe({ stream: "config", tenant, subject: [], seesAll: true, signal })) {
        if (frame.kind === "bye") return;
        if (frame.kind === "start" || frame.kind === "resync") {
          await revokeEnded(tenant).catch(failed);
          recheck();
        }
        if (frame.kind !== "event") continue;
        const { type, kind, data } = frame.event;
        if (ENDED.has(type) && typeof data["delegation_id"] === "string") await revokeRuns(change, data["delegation_id"]).catch(failed);
        if (RIGHT_KINDS.has(kind ?? "") && type !== MONEY) recheck();
      }
    } finally {
      clearTimeout(timer);
    }
  };

  const interval = startInterval({
    everyMs: EVERY_MS,
    work: async () => {
      const live = new Set((await database.run(LIVE)).map(({ tenant }) => tenant));
      for (const [tenant, ending] of followed) if (!live.has(tenant)) ending.abort();
      for (const tenant of live) {
        if (followed.has(tenant)) continue;
        const ending = new AbortController();
        followed.set(tenant, ending);
        follow(tenant, AbortSignal.any([stop.signal, ending.signal]))
          .catch(failed)
          .finally(() => followed.delete(tenant));
      }
    },
    failed,
  });
  return {
    [Symbol.asyncDispose]: async () => {
      stop.abort();
      await interval[Symbol.asyncDispose]();
    },
  };
};
