import type { Delegation } from "#contract/delegations.ts";
import { usdFromMicro } from "#contract/ids.ts";
import { statement, type Sql } from "#store/database.ts";
import { effectiveStatus, HEAD, usedUp } from "#membership/graph/sql-parts.ts";
import { visible, type TenantScope } from "#membership/graph/tenant-scope.ts";

/** What the wire shows of it as it is kept. */
type Same =
  | "delegator_id"
  | "agent_id"
  | "status"
  | "capabilities"
  | "constraints"
  | "valid_from"
  | "expires_at"
  | "purpose"
  | "created_by"
  | "created_at";
/** A delegation with its meter, as the statements give it. `status` is the effective one. */
export interface DelegationRow extends Pick<Delegation, Same> {
  readonly id: string;
  readonly tenant_id: string;
  readonly delegator_name: string;
  /** Who stands at the top of it: the delegator, unless an agent handed it on. */
  readonly person_id: string;
  readonly agent_name: string;
  readonly parent_id: string | null;
  readonly hold: string | null;
  readonly limit_micro: bigint;
  readonly used_micro: bigint;
  readonly held_micro: bigint;
  readonly lent_micro: bigint;
  readonly limit_steps: bigint;
  readonly used_steps: bigint;
  readonly held_steps: bigint;
  readonly lent_steps: bigint;
  /** In percent, and what of it was told last. */
  readonly used_up: 0 | 80 | 100;
  readonly told: number;
  readonly ended_at: string | null;
  readonly end_reason: string | null;
  readonly rev: bigint;
}

/** Columns of `DelegationRow` over `d`, its meter `m` and its ends `u` and `a`. */
const DELEGATION = `d.id, d.tenant_id, d.delegator_id, u.name as delegator_name,
   (select t.delegator_id from membership.delegation t where t.id = d.path[1]) as person_id, d.agent_id, a.name as agent_name, d.parent_id,
   ${effectiveStatus("d")} as status, d.hold, d.capabilities, d.constraints, m.limit_micro, m.used_micro, m.held_micro, m.lent_micro,
   m.limit_steps, m.used_steps, m.held_steps, m.lent_steps, ${usedUp("m")} as used_up, m.told, d.valid_from, d.expires_at, d.purpose, d.created_by, d.created_at, d.ended_at,
   d.end_reason, d.rev`;
const DELEGATION_FROM = `membership.delegation d join membership.meter m on m.delegation_id = d.id
   join membership.node u on u.id = d.delegator_id join membership.node a on a.id = d.agent_id`;

const GET = statement<DelegationRow & { readonly version: bigint }>(
  "membership.delegation_get",
  `select ${HEAD} as version, ${DELEGATION} from ${DELEGATION_FROM} where d.id = $2 and ${visible("d")}`,
);

/** `undefined`: unknown or foreign. */
export const readDelegation = async (
  sql: Sql,
  scope: TenantScope,
  id: string,
): Promise<(DelegationRow & { readonly version: bigint }) | undefined> => (await sql.run(GET, [scope.tenant, id]))[0];

interface ListAsk {
  /** Only those after this id. */
  readonly after: string;
  readonly delegatorId?: string | undefined;
  readonly agentId?: string | undefined;
  /** Only those that were handed on from this one, next below it. */
  readonly parentId?: string | undefined;
  readonly status?: string | undefined;
  readonly attention: boolean;
  readonly limit: number;
}

/** 80 % of steps or money used up, or ending within 7 days. */
const ATTENTION = "(l.status in ('active', 'paused') and (l.used_up >= 80 or l.expires_at < now() + interval '7 days'))";

const LIST = statement<DelegationRow>(
  "membership.delegation_list",
  `select * from (
     select ${DELEGATION} from ${DELEGATION_FROM}
     where ${visible("d")} and d.id > $2 and ($3::text is null or d.delegator_id = $3
       or (d.parent_id is not null and $3 = (select t.delegator_id from membership.delegation t where t.id = d.path[1]))) and ($4::text is null or d.agent_id = $4)
       and ($5::text is null or d.parent_id = $5)) l
   where ($6::text is null or l.status = $6) and (not $7::boolean or ${ATTENTION}) order by l.id limit $8`,
);

/** By id, from after the given one. */
export const listDelegations = (sql: Sql, scope: TenantScope, ask: ListAsk): Promise<readonly DelegationRow[]> => {
  const { after, delegatorId = null, agentId = null, parentId = null, status = null, attention, limit } = ask;
  return sql.run(LIST, [scope.tenant, after, delegatorId, agentId, parentId, status, attention, limit]);
};

/** As the wire shows it. What the clock ended is ended, though nobody has written it down yet. */
export const delegationView = (row: DelegationRow): Delegation => {
  const ended = row.status === "expired" || row.status === "revoked";
  const endedAt = row.ended_at ?? (row.status === "expired" ? row.expires_at : null);
  const endReason = row.end_reason ?? (row.status === "expired" ? "expired" : "parent");
  return {
    delegation_id: row.id,
    delegator_id: row.delegator_id,
    delegator_name: row.delegator_name,
    agent_id: row.agent_id,
    agent_name: row.agent_name,
    parent_id: row.parent_id ?? undefined,
    status: row.status,
    ...(row.status === "paused" ? { hold: row.hold ?? "parent" } : {}),
    exhausted: row.used_up === 100,
    capabilities: row.capabilities,
    constraints: row.constraints,
    budget_usd: usdFromMicro(row.limit_micro),
    max_steps: Number(row.limit_steps),
    used_usd: usdFromMicro(row.used_micro),
    used_steps: Number(row.used_steps),
    held_usd: usdFromMicro(row.held_micro),
    held_steps: Number(row.held_steps),
    lent_usd: usdFromMicro(row.lent_micro),
    lent_steps: Number(row.lent_steps),
    valid_from: row.valid_from,
    expires_at: row.expires_at,
    purpose: row.purpose,
    created_by: row.created_by,
    created_at: row.created_at,
    ...(ended && endedAt !== null ? { ended_at: endedAt } : {}),
    ...(ended ? { end_reason: endReason } : {}),
  };
};
