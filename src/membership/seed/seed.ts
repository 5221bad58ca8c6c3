import { statement, type Sql } from "#store/database.ts";
import { insertDelegation, recordDelegation, type NewDelegation } from "#membership/delegations/put-delegation.ts";
import { dataScopeRule, type DataScopeRule } from "#contract/data-scope-rules.ts";
import { PLATFORM } from "#membership/graph/built-in-roles.ts";
import { settleOperatorTenant } from "#membership/graph/operator-tenant.ts";
import { edgeIdOf, putEdge, type EdgeDraft } from "#membership/graph/put-edge.ts";
import { putNode, type NodeDraft } from "#membership/graph/put-node.ts";
import type { WriteBy, WriteGraph } from "#membership/graph/write.ts";

/** A part of the world that is there from the start, of one tenant or (null) shared by all. */
export interface SeedWorld {
  readonly tenantId: string | null;
  readonly nodes: readonly NodeDraft[];
  readonly edges: readonly EdgeDraft[];
  readonly delegations?: readonly NewDelegation[];
  /** The operator's tenant, unless there is one already; what leads to `role:platform` is left out where it is another. */
  readonly isOperators?: boolean;
  /** By resource type. */
  readonly rules?: Readonly<Record<string, Partial<DataScopeRule>>>;
}

export const SEED_LOCK = statement("membership.seed_lock", "select pg_advisory_xact_lock(hashtextextended('membership.seed', 0))");
// Nobody else may write these nodes until the seed has.
const HOLD = statement("membership.seed_hold", "select 1 from membership.node where id = any($1) order by id for update");
/** $2 source, $3 actor of the seed. Its own still: a node as the seed was the last to write it, in every column. */
const KNOWN = statement<{ subject: string; own: boolean }>(
  "membership.seed_known",
  `select distinct on (o.subject) o.subject,
     o.op = 'put_node' and c.source = $2 and c.actor = $3 and n.id is not null and o.after = jsonb_build_object(
       'id', n.id, 'kind', n.kind, 'tenant_id', n.tenant_id, 'name', n.name, 'display_name', n.display_name, 'system', n.system,
       'state', n.state, 'external_id', n.external_id, 'digest', n.digest, 'props', n.props, 'rev', n.rev) as own
   from membership.graph_change_op o join membership.graph_change c on c.version = o.version
   left join membership.node n on n.id = o.subject
   where o.subject = any($1) order by o.subject, o.version desc, o.seq desc`,
);
const PUT_RULE = statement(
  "membership.seed_rule",
  `insert into membership.data_scope_rule (tenant_id, resource_type, tenant_column, own_column, own_groups, masks)
   values ($1, $2, $3, $4, $5, $6::jsonb) on conflict do nothing`,
);

const putRule = async (sql: Sql, tenantId: string, resourceType: string, given: Partial<DataScopeRule>): Promise<void> => {
  const rule = dataScopeRule.parse(given);
  await sql.run(PUT_RULE, [
    tenantId,
    resourceType,
    rule.tenant_column,
    rule.own_column ?? null,
    rule.own_groups,
    JSON.stringify(rule.masks),
  ]);
};

/**
 * Puts a world into the graph. The change log tells what is already known: that is left as people made it, so a restart
 * brings nothing back that was taken away, and touches no meter. What a later version of the world adds is put in, and a
 * node that nobody but the seed has written becomes as the world now says. Several processes may seed at once.
 */
export const seedWorld = async (
  write: WriteGraph,
  world: SeedWorld,
  by: Pick<WriteBy, "actor" | "source" | "correlationId" | "reason">,
): Promise<void> => {
  const edges = world.edges.map((edge) => ({ edge, id: edgeIdOf(edge.kind, edge.src, edge.dst, edge.discr ?? "") }));
  const delegations = world.delegations ?? [];
  await write({ ...by, tenantId: world.tenantId, roles: "platform" }, async (tx) => {
    await tx.sql.run(SEED_LOCK);
    const ids = [...world.nodes.map(({ id }) => id), ...edges.map(({ id }) => id), ...delegations.map(({ id }) => id)];
    await tx.sql.run(HOLD, [world.nodes.map(({ id }) => id)]);
    const known = new Map((await tx.sql.run(KNOWN, [ids, by.source, by.actor])).map(({ subject, own }) => [subject, own]));
    for (const node of world.nodes) if (known.get(node.id) ?? true) await putNode(tx, node);
    const isOperators =
      world.isOperators === true && world.tenantId !== null && (await settleOperatorTenant(tx.sql, world.tenantId)) === world.tenantId;
    for (const { edge, id } of edges) if (!known.has(id) && (edge.dst !== PLATFORM || isOperators)) await putEdge(tx, edge);
    for (const draft of delegations) {
      if (known.has(draft.id)) continue;
      await insertDelegation(tx.sql, draft);
      await recordDelegation(tx, draft.id);
    }
    if (world.tenantId !== null)
      for (const [resourceType, rule] of Object.entries(world.rules ?? {})) await putRule(tx.sql, world.tenantId, resourceType, rule);
    return { value: undefined };
  });
};
