import { statement } from "#store/database.ts";
import type { Delegation } from "#contract/delegations.ts";
import type { EdgeRow } from "#membership/graph/drop-edge.ts";
import type { GraphOp } from "#membership/graph/graph-op.ts";
import type { NodeRow } from "#membership/graph/put-node.ts";
import type { DataScopeRule } from "#contract/data-scope-rules.ts";
import { OPERATOR_TENANT } from "#membership/graph/operator-tenant.ts";
import { RULE_JSON } from "#membership/graph/sql-data-scope.ts";

/** What the index takes of a node. */
export interface IndexedNode extends Pick<NodeRow, "id" | "tenant_id" | "name" | "state" | "digest"> {
  readonly kind: string;
  /** Of a resource, which is found by it. */
  readonly external_id: string | null;
  /** Those that questions look at; null = none of them. */
  readonly props: Readonly<Record<string, unknown>> | null;
}

export interface IndexedEdge extends Pick<EdgeRow, "id" | "src" | "dst" | "expires_at"> {
  readonly kind: string;
  /** What its kind is judged by: pinned digest, actions, scopes. */
  readonly note: Readonly<Record<string, unknown>> | null;
}

export interface IndexedDelegation extends Pick<Delegation, Kept> {
  readonly id: string;
  readonly tenant_id: string;
  readonly path: readonly string[];
  readonly status: string;
  readonly hold: string | null;
}
type Kept =
  | "delegator_id"
  | "agent_id"
  | "capabilities"
  | "constraints"
  | "purpose"
  | "valid_from"
  | "expires_at"
  | "budget_usd"
  | "max_steps";

/** One altered row of the change log. Of what was dropped only the ids. */
export interface IndexedOp {
  readonly version: bigint;
  readonly seq: number;
  readonly op: GraphOp["op"];
  readonly subject: string;
  readonly kind: string;
  readonly src: string | null;
  readonly dst: string | null;
  readonly node: Omit<IndexedNode, "id" | "kind"> | null;
  readonly edge: Pick<IndexedEdge, "expires_at" | "note"> | null;
  readonly delegation: IndexedDelegation | null;
}

/** Props that questions look at, by kind. */
const LOOKED_AT: Readonly<Record<string, readonly string[]>> = {
  Person: ["mfa_level"],
  Account: ["mfa_level"],
  AIAgent: ["mfa_level", "client_id"],
  Service: ["mfa_level"],
  MCPService: ["mfa_level"],
  Resource: ["type", "restricted", "attributes"],
  Tool: ["mfa", "resource_type"],
  SaaSApp: ["audience", "scopes"],
  MCPPolicyBinding: ["action", "enabled"],
};
const pairs = (from: string, names: readonly string[]): string => names.map((name) => `'${name}', ${from} -> '${name}'`).join(", ");
const held = (from: string, names: readonly string[]): string =>
  `case when ${from} ?| array[${names.map((name) => `'${name}'`).join(", ")}] then jsonb_strip_nulls(jsonb_build_object(${pairs(from, names)})) end`;
const propsOf = (kind: string, props: string): string =>
  `case ${kind} ${Object.entries(LOOKED_AT)
    .map(([name, names]) => `when '${name}' then ${held(props, names)}`)
    .join(" ")} end`;
const noteOf = (kind: string, digest: string, props: string): string =>
  `case ${kind} when 'HAS_CAPABILITY' then case when ${digest} is not null then jsonb_build_object('digest', ${digest}) end
     when 'GRANTS_ACCESS' then ${held(props, ["actions"])} when 'REQUIRES' then ${held(props, ["scopes"])} end`;

/** A part of all nodes: $1 behind this id, $2 so many. */
export const NODES = statement<IndexedNode>(
  "membership.index_nodes",
  `select n.id, n.kind, n.tenant_id, n.name, n.state, n.digest, case when n.kind = 'Resource' then n.external_id end as external_id,
     ${propsOf("n.kind", "n.props")} as props
   from membership.node n where n.id > $1 order by n.id limit $2`,
);
export const EDGES = statement<IndexedEdge>(
  "membership.index_edges",
  `select e.id, e.kind, e.src, e.dst, e.expires_at, ${noteOf("e.kind", "e.digest", "e.props")} as note
   from membership.edge e where e.id > $1 and e.kind <> 'DELEGATES_TO' order by e.id limit $2`,
);
export const DELEGATIONS = statement<IndexedDelegation>(
  "membership.index_delegations",
  `select d.id, d.delegator_id, d.agent_id, d.tenant_id, d.path, d.status, d.hold, d.capabilities, d.purpose, d.valid_from, d.expires_at,
     d.constraints, m.limit_micro / 1e6::float8 as budget_usd, m.limit_steps::float8 as max_steps
   from membership.delegation d join membership.meter m on m.delegation_id = d.id where d.id > $1 order by d.id limit $2`,
);

/** How much there is, so that the columns are as long as they will be; and the operator's tenant. */
export const SIZES = statement<{ readonly nodes: number; readonly edges: number; readonly operator: string | null }>(
  "membership.index_sizes",
  `select (select count(*)::int from membership.node) as nodes, (select count(*)::int from membership.edge) as edges,
     ${OPERATOR_TENANT} as operator`,
);

/** What changed: $1, $2 behind this version and number within it, $3 up to this version, $4 so many. */
export const OPS = statement<IndexedOp>(
  "membership.index_ops",
  `select o.version, o.seq, o.op, o.subject, o.src, o.dst, coalesce(o.after, o.before) ->> 'kind' as kind,
     case when o.op = 'put_node' then jsonb_build_object('tenant_id', o.after -> 'tenant_id', 'name', o.after -> 'name', 'state', o.after -> 'state',
       'digest', o.after -> 'digest', 'external_id', case when o.after ->> 'kind' = 'Resource' then o.after -> 'external_id' end,
       'props', ${propsOf("o.after ->> 'kind'", "(o.after -> 'props')")}) end as node,
     case when o.op = 'put_edge' and not o.after ? 'delegator_id' then jsonb_build_object('expires_at', o.after -> 'expires_at',
       'note', ${noteOf("o.after ->> 'kind'", "(o.after ->> 'digest')", "(o.after -> 'props')")}) end as edge,
     case when o.op = 'put_edge' and o.after ? 'delegator_id' then o.after end as delegation
   from membership.graph_change_op o where (o.version, o.seq) > ($1, $2) and o.version <= $3 order by o.version, o.seq limit $4`,
);

/** The head, and what is no row of the log: the operator's tenant, and how far the rules of data scopes are. */
export const HEAD = statement<{
  readonly version: bigint;
  readonly at: string;
  readonly now: string;
  readonly operator: string | null;
  readonly rules: string;
}>(
  "membership.index_head",
  `select h.version, h.at, clock_timestamp() as now, ${OPERATOR_TENANT} as operator, (select count(*) || ' ' || coalesce(sum(r.rev), 0) from membership.data_scope_rule r) as rules
   from membership.graph_head h`,
);
export const RULES = statement<{ readonly tenant_id: string; readonly resource_type: string; readonly rule: DataScopeRule }>(
  "membership.index_rules",
  `select r.tenant_id, r.resource_type, ${RULE_JSON} as rule from membership.data_scope_rule r`,
);
