import type { Delegation } from "#contract/delegations.ts";
import { microFromUsd, usdText } from "#contract/ids.ts";
import { actorKindOf } from "#authn/model/actor-kind.ts";
import type { Caller } from "#authn/model/caller.ts";
import type { EntryActor, EntryDraft } from "#events/audit/entry.ts";
import type { EventDraft } from "#events/model/event-draft.ts";
import { unexpired } from "#membership/graph/sql-parts.ts";
import { statement, type Sql } from "#store/database.ts";
import type { TenantScope } from "#membership/graph/tenant-scope.ts";
import type { WriteBy } from "#membership/graph/write.ts";

/** The audit entry of an act that is done, as this module says it. */
export const doneEntry = (given: Omit<EntryDraft, "outcome" | "via">): EntryDraft => ({
  ...given,
  outcome: "ok",
  via: { service: "membership" },
});

/** Who acts, in the words of the graph's log, the audit log and the live stream. */
export interface Actor {
  readonly by: Omit<WriteBy, "tenantId">;
  readonly entry: EntryActor;
  readonly decisionId?: string | undefined;
}

export const actorOf = (caller: Caller, reason: string | undefined, correlationId: string, decisionId?: string): Actor => ({
  by: { actor: caller.sub, agent: caller.agent, source: "api", reason, correlationId },
  entry: {
    subject: caller.sub,
    kind: actorKindOf(caller),
    ...(caller.agent === undefined ? {} : { agent_id: caller.agent }),
    ...(caller.clientId === undefined ? {} : { client_id: caller.clientId }),
    ...(caller.acr === undefined ? {} : { acr: caller.acr }),
    amr: [...caller.amr],
  },
  decisionId,
});

/** Sallyport itself, when the clock ends things. */
export const sweeperOf = (correlationId: string): Actor => ({
  by: { actor: "service:membership", source: "sweeper", correlationId },
  entry: { subject: "service:membership", kind: "system" },
});

/** What is to become of one delegation: in whose part of the graph, and by whom. */
export interface DelegationCall {
  readonly id: string;
  readonly scope: TenantScope;
  readonly tenantId: string;
  readonly actor: Actor;
  /** Tags that it must still have; `undefined` = any. */
  readonly tags: readonly string[] | undefined;
}

export type DelegationOp = "granted" | "narrowed" | "extended" | "paused" | "resumed" | "revoked" | "expired" | "exhausted";

/** What became of one delegation, and who hears of it. */
export interface DelegationAct {
  readonly op: DelegationOp;
  readonly before?: Delegation | undefined;
  readonly after: Delegation;
  readonly tenantId: string;
  readonly watchers: readonly string[];
}

const CONTROLLERS = statement<{ id: string }>(
  "membership.agent_controllers",
  `select e.dst as id from membership.edge e join membership.node n on n.id = e.dst and n.kind = 'Person' and n.state = 'active'
   where e.src = $1 and e.kind = 'CONTROLLED_BY' and ${unexpired("e")} order by e.dst`,
);

/** Who hears of a delegation as its own affair: the delegator and the persons who control the agent. */
export const listWatchers = async (sql: Sql, delegatorId: string, agentId: string): Promise<readonly string[]> => [
  ...new Set([delegatorId, ...(await sql.run(CONTROLLERS, [agentId])).map(({ id }) => id)]),
];

const terms = (delegation: Delegation): Record<string, unknown> => ({
  status: delegation.status,
  max_steps: delegation.max_steps,
  budget_usd: usdText(microFromUsd(delegation.budget_usd)),
  expires_at: delegation.expires_at,
  capabilities: delegation.capabilities,
  constraints: delegation.constraints,
});

export const eventOf = (act: DelegationAct, correlationId: string): EventDraft => ({
  type: `delegation.${act.op}`,
  tenant: act.tenantId,
  stream: "config",
  kind: "delegation",
  key: act.after.delegation_id,
  visibleTo: act.watchers,
  data: { delegation_id: act.after.delegation_id, agent_id: act.after.agent_id, op: act.op, status: act.after.status },
  correlationId,
});

const entryOf = (act: DelegationAct, actor: Actor): EntryDraft =>
  doneEntry({
    tenant: act.tenantId,
    category: "delegation",
    actor: { ...actor.entry, delegation_id: act.after.delegation_id },
    resource: { type: "delegations", id: act.after.delegation_id },
    decisionId: actor.decisionId,
    correlationId: actor.by.correlationId,
    data: {
      op: act.op,
      delegation_id: act.after.delegation_id,
      agent_id: act.after.agent_id,
      ...(act.before === undefined ? {} : { before: terms(act.before) }),
      after: terms(act.after),
      ...(actor.by.reason === undefined ? {} : { reason: actor.by.reason }),
    },
  });

/** What a write tells of them; `actorOfAct` where not one decision allowed all of them. */
export const reportOf = (acts: readonly DelegationAct[], actor: Actor, actorOfAct: (act: DelegationAct) => Actor = () => actor) => ({
  events: () => acts.map((act) => eventOf(act, actor.by.correlationId)),
  entries: () => acts.map((act) => entryOf(act, actorOfAct(act))),
});
