import type { MaskKind } from "#contract/data-scope.ts";
import { usdFromMicro } from "#contract/ids.ts";
import { statement, type Sql } from "#store/database.ts";
import type { PipDelegation, SqlAnswer } from "./graph-reader.ts";
import { identityKinds } from "#membership/model/kinds.ts";
import { effectiveStatus, HEAD, live, nextTurn, pipTimeout, statusRank, unexpired } from "./sql-parts.ts";
import { visible, type TenantScope } from "./tenant-scope.ts";

/** Delegations user -> agent whose two ends may act, and what is joined to them. $1 tenant, $2 user, $3 agent or null. */
const between = (joins = ""): string => `membership.delegation d
   join membership.node a on a.id = d.agent_id and a.state = 'active' and ${visible("a")}
   join membership.node u on u.id = d.delegator_id and u.state = 'active' and ${visible("u")} ${joins}
   where d.delegator_id = $2 and ($3::text is null or d.agent_id = $3)`;

/** Tools that a live delegation reaches: approved, with the definition that was approved for the agent. */
const reached = `reached as (
   select distinct c.dst as id from ${between(
     `join membership.edge c on c.src = d.agent_id and c.kind = 'HAS_CAPABILITY' and ${unexpired("c")}
      join membership.node t on t.id = c.dst and t.state = 'approved' and ${visible("t")} and (c.digest is null or c.digest = t.digest)`,
   )} and ${live("d")} and (d.capabilities is null or c.dst = any(d.capabilities)))`;

/** When one of the delegations or capabilities used begins or ends. */
const turn = `least(
   (select ${nextTurn("p")} from membership.delegation p where p.id in (select unnest(d.path) from ${between()})),
   (select min(c.expires_at) from membership.edge c where c.kind = 'HAS_CAPABILITY' and c.expires_at > now()
     and c.src in (select d.agent_id from ${between()})))`;

const CAPABILITIES = statement<{ version: bigint; tools: string[]; valid_until: string | null }>(
  "membership.pip_capabilities",
  `with ${reached}
   select ${HEAD} as version, coalesce((select array_agg(id order by id) from reached), '{}') as tools, ${turn} as valid_until`,
  pipTimeout,
);

export const readCapabilities: SqlAnswer<"capabilities"> = async (sql, scope, ask) => {
  const [row] = await sql.run(CAPABILITIES, [scope.tenant, ask.userId, ask.agentId ?? null]);
  return { version: row?.version ?? 0n, value: row?.tools ?? [], validUntil: row?.valid_until ?? null };
};

const CHAIN = statement<{ version: bigint; apps: { audience: string; scopes: string[] }[]; valid_until: string | null }>(
  "membership.pip_chain",
  `with ${reached}
   select ${HEAD} as version, coalesce((
     select json_agg(json_build_object('audience', s.props ->> 'audience', 'scopes', coalesce(r.props -> 'scopes', s.props -> 'scopes')) order by s.id)
     from membership.edge r join membership.node s on s.id = r.dst and s.state = 'active' and ${visible("s")}
     where r.kind = 'REQUIRES' and r.src = $4 and ${unexpired("r")} and $4 in (select id from reached)), '[]') as apps,
   least(${turn}, (select min(r.expires_at) from membership.edge r where r.kind = 'REQUIRES' and r.src = $4 and r.expires_at > now())) as valid_until`,
  pipTimeout,
);

export const readChain: SqlAnswer<"chain"> = async (sql, scope, ask) => {
  const [row] = await sql.run(CHAIN, [scope.tenant, ask.userId, ask.agentId, ask.toolId]);
  return { version: row?.version ?? 0n, value: row?.apps ?? [], validUntil: row?.valid_until ?? null };
};

interface ToolMask {
  readonly column: string;
  readonly kind: MaskKind;
  /** Action on the type of the rows whose permit lifts it. */
  readonly unless_allowed?: string;
}
export type RowMask = ToolMask & { readonly resourceType: string };

/** All that a user may do through an agent, and what that touches. */
export interface Reach {
  readonly version: bigint;
  readonly tools: readonly string[];
  /** Those that need a fresh strong sign-in. */
  readonly stepUpTools: readonly string[];
  /** Those that say of themselves that they change things. */
  readonly writingTools: readonly string[];
  readonly resourceTypes: readonly string[];
  /** Columns that calls of the tools hide, each by the type of its rows. */
  readonly masks: readonly RowMask[];
  readonly audiences: readonly { readonly audience: string; readonly scopes: readonly string[] }[];
}

const REACH = statement<{
  version: bigint;
  tools: { id: string; mfa: boolean; writes: boolean; resource_type: string | null; masks: ToolMask[] | null }[];
  audiences: { audience: string; scopes: string[] }[];
}>(
  "membership.pip_reach",
  `with ${reached}
   select ${HEAD} as version,
     coalesce((select json_agg(json_build_object('id', t.id, 'mfa', coalesce((t.props ->> 'mfa')::boolean, false),
       'writes', coalesce(t.props #>> '{annotations,readOnlyHint}' = 'false', false), 'resource_type', t.props ->> 'resource_type', 'masks', t.props -> 'masks') order by t.id)
       from reached join membership.node t on t.id = reached.id), '[]') as tools,
     coalesce((select json_agg(a order by a.audience) from (
       select s.props ->> 'audience' as audience, coalesce(json_agg(distinct w.scope order by w.scope) filter (where w.scope is not null), '[]') as scopes
       from reached join membership.edge r on r.src = reached.id and r.kind = 'REQUIRES' and ${unexpired("r")}
         join membership.node s on s.id = r.dst and s.state = 'active' and ${visible("s")}
         left join lateral jsonb_array_elements_text(coalesce(r.props -> 'scopes', s.props -> 'scopes')) w(scope) on true
       group by 1) a), '[]') as audiences`,
  pipTimeout,
);

/** Capabilities and chain eligibility of a pair in one: what `capabilities` and `chain-eligibility` answer, for all its tools at once. */
export const readReach = async (
  sql: Sql,
  scope: TenantScope,
  pair: { readonly userId: string; readonly agentId: string },
): Promise<Reach> => {
  const [row] = await sql.run(REACH, [scope.tenant, pair.userId, pair.agentId]);
  const tools = row?.tools ?? [];
  return {
    version: row?.version ?? 0n,
    tools: tools.map(({ id }) => id),
    stepUpTools: tools.filter(({ mfa }) => mfa).map(({ id }) => id),
    writingTools: tools.filter(({ writes }) => writes).map(({ id }) => id),
    resourceTypes: [...new Set(tools.map((tool) => tool.resource_type).filter((type) => type !== null))].sort(),
    masks: tools.flatMap(({ resource_type: resourceType, masks }) =>
      resourceType === null ? [] : (masks ?? []).map((mask) => ({ resourceType, ...mask })),
    ),
    audiences: row?.audiences ?? [],
  };
};

interface DelegationRow {
  readonly version: bigint;
  readonly valid_until: string | null;
  readonly id: string | null;
  readonly status: PipDelegation["status"];
  readonly limit_steps: bigint;
  readonly limit_micro: bigint;
  readonly expires_at: string | null;
}

const DELEGATIONS = statement<DelegationRow>(
  "membership.pip_delegations",
  `with held as (
     select d.id, d.expires_at, d.path, ${effectiveStatus("d")} as status, m.limit_steps, m.limit_micro from ${between("join membership.meter m on m.delegation_id = d.id")}),
   page as (
     select * from held where $4::text is null or status = $4
     order by ${statusRank("status")}, expires_at nulls last, id limit $5 offset $6)
   select ${HEAD} as version, (
     select ${nextTurn("p")} from membership.delegation p where p.id in (select unnest(path) from held)) as valid_until,
     page.id, page.status, page.limit_steps, page.limit_micro, page.expires_at
   from (select 1) one left join page on true
   order by ${statusRank("page.status")}, page.expires_at nulls last, page.id`,
  pipTimeout,
);

export const readDelegations: SqlAnswer<"delegations"> = async (sql, scope, ask) => {
  const rows = await sql.run(DELEGATIONS, [scope.tenant, ask.userId, ask.agentId ?? null, ask.status ?? null, ask.limit, ask.offset]);
  const value = rows.flatMap((row) =>
    row.id === null
      ? []
      : [
          {
            delegation_id: row.id,
            status: row.status,
            max_steps: Number(row.limit_steps),
            budget_usd: usdFromMicro(row.limit_micro),
            expires_at: row.expires_at,
          },
        ],
  );
  return { version: rows[0]?.version ?? 0n, value, validUntil: rows[0]?.valid_until ?? null };
};

const ASSURANCE = statement<{ version: bigint; level: string | null }>(
  "membership.pip_assurance",
  `select ${HEAD} as version, (
     select n.props ->> 'mfa_level' from membership.node n where n.id = $2 and n.state = 'active' and ${visible("n")}
       and n.kind = any($3)) as level`,
  pipTimeout,
);

export const readAssurance: SqlAnswer<"assurance"> = async (sql, scope, subjectId) => {
  const [row] = await sql.run(ASSURANCE, [scope.tenant, subjectId, identityKinds]);
  return { version: row?.version ?? 0n, value: row?.level ?? null, validUntil: null };
};
