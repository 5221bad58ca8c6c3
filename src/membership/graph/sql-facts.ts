import { statement } from "#store/database.ts";
import type { DataScopeRule } from "#contract/data-scope-rules.ts";
import type { Delegation } from "#contract/delegations.ts";
import { OPERATOR_TENANT } from "#membership/graph/operator-tenant.ts";
import type { EdgeRow } from "./drop-edge.ts";
import type { NodeRow } from "./put-node.ts";
import { RULE_JSON } from "./sql-data-scope.ts";
import { effectiveStatus, HEAD, live, pipTimeout, statusRank, unexpired } from "./sql-parts.ts";
import { visible } from "./tenant-scope.ts";

/** Everything that a batch of asks is answered from: one statement, so one snapshot, whatever the number of asks. */

export type FactNode = Omit<NodeRow, "display_name" | "system" | "external_id">;
/** One step of a subject's membership: `start` reaches `dst` over `src`. */
export interface FactStep extends Pick<EdgeRow, "id" | "kind" | "src" | "dst"> {
  readonly start: string;
  readonly dst_kind: string;
  readonly depth: number;
}
export interface FactLink extends Pick<EdgeRow, "id" | "kind" | "src" | "dst" | "digest" | "props"> {
  /** State of the node at the other end. */
  readonly state: string;
}
/** The delegation chosen for the hop with this number (from 1). */
export interface FactHop {
  readonly n: number;
  readonly id: string;
  readonly status: Delegation["status"];
  readonly live: boolean;
  readonly covers: boolean;
  readonly steps_left: number;
  /** Text, for it may be beyond what JSON numbers hold. */
  readonly micro_left: string;
  readonly expires_at: string | null;
  readonly path: readonly string[];
  /** Tenants whose rows alone count, of it and of each above that says so. */
  readonly tenants: readonly (readonly string[])[];
}
export interface FactDelegationRow {
  readonly id: string;
  readonly delegator_id: string;
  /** The person at the top. */
  readonly owner_id: string;
  readonly agent_id: string;
  readonly tenant_id: string;
  readonly status: string;
  readonly name: string;
}

export interface FactRows {
  readonly version: bigint;
  /** The operator's tenant. */
  readonly operator: string | null;
  readonly nodes: readonly (FactNode & { readonly external_id: string | null })[];
  readonly steps: readonly FactStep[];
  readonly links: readonly FactLink[];
  readonly hops: readonly FactHop[];
  readonly delegations: readonly FactDelegationRow[];
  readonly rules: readonly { readonly tenant_id: string; readonly resource_type: string; readonly rule: DataScopeRule }[];
}

const NODE = "n.id, n.kind, n.name, n.tenant_id, n.state, n.external_id, n.digest, n.props";
const rows = (query: string, order: string): string => `coalesce((select json_agg(x order by ${order}) from (${query}) x), '[]')`;

/**
 * $1 tenant; $2 ids of nodes asked for; $3 subjects whose memberships are walked; $4, $5 types and external ids of resources;
 * $6 to $9 hops: delegator, agent, tool or '', pinned delegation or ''; $10 ids of delegations asked for as resources;
 * $11 all resource types, for their data scope rules; $12 of the hops, who stands at the top.
 */
export const FACTS = statement<FactRows>(
  "membership.facts",
  `with recursive
   dels as (
     select d.id, d.delegator_id, (select t.delegator_id from membership.delegation t where t.id = d.path[1]) as owner_id, d.agent_id,
       d.tenant_id, ${effectiveStatus("d")} as status, d.purpose as name
     from membership.delegation d where d.id = any($10::text[]) and ${visible("d")}),
   nodes as (
     select ${NODE} from membership.node n where n.id = any($2::text[] || coalesce((select array_agg(agent_id) from dels), '{}')) and ${visible("n")}
     union
     select ${NODE} from unnest($4::text[], $5::text[]) r(type, external_id)
       join membership.node n on n.kind = 'Resource' and n.props ->> 'type' = r.type and n.external_id = r.external_id and ${visible("n")}),
   walk(start, src, dst, kind, id, dst_kind, depth) as (
     select s.id collate "C", e.src, e.dst, e.kind, e.id, n.kind, 1 from unnest($3::text[]) s(id)
       join membership.node sn on sn.id = s.id and sn.state = 'active' and ${visible("sn")}
       join membership.edge e on e.src = s.id and e.kind in ('BELONGS_TO', 'MEMBER_OF', 'HAS_RTR', 'USES_TENANT') and ${unexpired("e")}
       join membership.node n on n.id = e.dst and n.state = 'active' and ${visible("n")}
     union
     select w.start, e.src, e.dst, e.kind, e.id, n.kind, w.depth + 1 from walk w
       join membership.edge e on e.src = w.dst and e.kind in ('MEMBER_OF', 'HAS_RTR') and ${unexpired("e")}
       join membership.node n on n.id = e.dst and n.state = 'active' and ${visible("n")} where w.depth < 10),
   reach as (select dst as id from walk union select unnest($3::text[])),
   links as (
     select e.id, e.kind, e.src, e.dst, e.digest, e.props, n.state from nodes r
       join membership.edge e on e.dst = r.id and e.kind in ('GRANTS_ACCESS', 'OWNS_RESOURCE') and ${unexpired("e")}
       join membership.node n on n.id = e.src and n.state = 'active' and ${visible("n")}
     where e.kind = 'OWNS_RESOURCE' or e.src in (select id from reach)
     union all
     select e.id, e.kind, e.src, e.dst, e.digest, e.props, n.state from nodes r
       join membership.edge e on e.src = r.id and e.kind in ('CONTROLLED_BY', 'REQUIRES') and ${unexpired("e")}
       join membership.node n on n.id = e.dst and ${visible("n")}
     union all
     select distinct '', 'POLICY_REF', r.id, p.id, null, jsonb_build_object('action', b.props -> 'action', 'tenant_id', b.tenant_id), p.state from nodes r
       cross join lateral (
         select r.id as target union all
         select s.src from membership.edge s where s.dst = r.id and s.kind = 'PROVIDES' and ${unexpired("s")}) x
       join membership.edge t on t.src = x.target and t.kind = 'POLICY_REF' and ${unexpired("t")}
       join membership.node b on b.id = t.dst and b.kind = 'MCPPolicyBinding' and b.state = 'active' and b.props -> 'enabled' = 'true' and ${visible("b")}
       join membership.edge e on e.src = b.id and e.kind = 'POLICY_REF' and ${unexpired("e")}
       join membership.node p on p.id = e.dst and p.state = 'active' and ${visible("p")}
     where r.kind = 'Tool'
     union all
     select distinct e.id, e.kind, e.src, e.dst, e.digest, e.props, n.state from unnest($7::text[], $8::text[]) p(agent, tool)
       join membership.edge e on e.src = p.agent and e.dst = p.tool and e.kind = 'HAS_CAPABILITY' and ${unexpired("e")}
       join membership.node n on n.id = e.dst and ${visible("n")}),
   hops as (
     select h.n, d.* from unnest($6::text[], $7::text[], $8::text[], $9::text[], $12::text[]) with ordinality h(delegator, agent, tool, pin, person, n)
     cross join lateral (
       select d.id, ${effectiveStatus("d")} as status, u.state = 'active' and a.state = 'active' and ${live("d")} as live,
         h.tool = '' or d.capabilities is null or h.tool = any(d.capabilities) as covers,
         m.limit_steps - m.used_steps - m.held_steps - m.lent_steps as steps_left,
         least(m.limit_micro - m.used_micro - m.held_micro - m.lent_micro, membership.budget_left(d.id, d.tenant_id)) as micro,
         d.expires_at, d.path, coalesce((select json_agg(p.constraints -> 'tenant_ids' order by cardinality(p.path))
           from membership.delegation p where p.id = any(d.path) and p.constraints ? 'tenant_ids'), '[]') as tenants
       from membership.delegation d join membership.meter m on m.delegation_id = d.id
         join membership.node u on u.id = d.delegator_id join membership.node a on a.id = d.agent_id
       where d.delegator_id = h.delegator and d.agent_id = h.agent and (h.pin = '' or d.id = h.pin) and ${visible("d")}
         and (h.person = h.delegator or h.person = (select t.delegator_id from membership.delegation t where t.id = d.path[1]))) d)
   select ${HEAD} as version, ${OPERATOR_TENANT} as operator,
     ${rows("select * from nodes", "x.id")} as nodes,
     ${rows("select * from walk", "x.depth, x.src, x.kind, x.dst")} as steps,
     ${rows("select * from links", "x.kind, x.src, x.dst")} as links,
     ${rows(
       `select distinct on (n) n, id, status, live, covers, steps_left, micro::text as micro_left, path, tenants,
          to_char(expires_at at time zone 'utc', 'YYYY-MM-DD"T"HH24:MI:SS.MS"Z"') as expires_at
        from hops order by n, live desc, covers desc, steps_left > 0 desc, ${statusRank("status")}, hops.expires_at nulls last, id`,
       "x.n",
     )} as hops,
     ${rows("select * from dels", "x.id")} as delegations,
     ${rows(
       `select r.tenant_id, r.resource_type, ${RULE_JSON} as rule from membership.data_scope_rule r
        where r.tenant_id in (select tenant_id from nodes)
          and (r.resource_type = any($11::text[]) or r.resource_type in (select props ->> 'resource_type' from nodes where kind = 'Tool'))`,
       "x.tenant_id, x.resource_type",
     )} as rules`,
  pipTimeout,
);
