import type { FactAsk, Facts } from "#contract/facts.ts";
import type { Sql } from "#store/database.ts";
import { createFactBatch, subjectFact, type FactBatch, type Membership } from "./facts-batch.ts";
import { agentEdges, controlEdges, grantEdges, ownEdges } from "./facts-edges.ts";
import { askedHopsOf, lookupOf, planFacts } from "./facts-plan.ts";
import type { Answered } from "./graph-reader.ts";
import { identityKinds } from "#membership/model/kinds.ts";
import { dataScopeOf, type DataScopeOptions } from "./sql-data-scope.ts";
import { FACTS, type FactDelegationRow, type FactHop, type FactNode } from "./sql-facts.ts";
import type { TenantScope } from "./tenant-scope.ts";

type Resource = NonNullable<Facts["resource"]>;

/** What is known of the subject when the rest of an ask is answered. */
interface Standing {
  readonly id: string;
  readonly node: FactNode;
  readonly membership: Membership;
  /** Inside the subject's own tenant, or shared. Only Sallyport's own services have no tenant and see all. */
  readonly isNear: (tenantId: string | null) => boolean;
  /** The ids, and the subject's own if one of them is a group it is in. */
  readonly withSelf: (ids: readonly string[]) => string[];
}

const standingOf = (id: string, batch: FactBatch): Standing | undefined => {
  const node = batch.node(id);
  if (node === undefined || !identityKinds.some((kind) => kind === node.kind)) return undefined;
  const membership = batch.membership(node);
  const home = node.tenant_id;
  return {
    id,
    node,
    membership,
    isNear: (tenantId) => tenantId === null || home === null || tenantId === home || membership.tenantIds.includes(tenantId),
    withSelf: (ids) => (!ids.includes(id) && ids.some((other) => membership.circles.has(other)) ? [...ids, id] : [...ids]),
  };
};

/** Near to the subject, and shared or of the tenant that is asked about: who is at home in two tenants acts in one at a time. */
const isHere = (tenantId: string | null, ask: FactAsk, standing: Standing): boolean =>
  standing.isNear(tenantId) && (ask.tenant_id === undefined || tenantId === null || tenantId === ask.tenant_id);

const resourceNodeOf = (ask: FactAsk, standing: Standing, batch: FactBatch): FactNode | undefined => {
  const lookup = lookupOf(ask);
  const found = lookup.by === "node" ? batch.node(lookup.id) : undefined;
  const candidates =
    lookup.by === "resource"
      ? batch.resources(lookup.type, lookup.externalId)
      : found !== undefined && lookup.by === "node" && (lookup.kinds.length === 0 || lookup.kinds.includes(found.kind))
        ? [found]
        : [];
  const near = candidates.filter((node) => isHere(node.tenant_id, ask, standing));
  return near.find((node) => node.tenant_id === standing.node.tenant_id) ?? near[0];
};

/** Of a chain the least of every hop. A hop without a delegation, or one not given under the hop before it: none. */
const delegationFact = (rows: readonly (FactHop | undefined)[]): Facts["delegation"] => {
  const hops = rows.filter((row) => row !== undefined);
  const last = hops.at(-1);
  if (last === undefined || hops.length !== rows.length) return null;
  const joined = hops.length === 1 || hops.every((hop, index) => last.path[last.path.length - hops.length + index] === hop.id);
  const money = hops.map((hop) => BigInt(hop.micro_left)).reduce((one, other) => (other < one ? other : one));
  return {
    id: last.id,
    status: last.status,
    active: joined && hops.every((hop) => hop.live),
    steps_left: Math.min(...hops.map((hop) => hop.steps_left)),
    budget_left_micro_usd: Number(money),
    expires_at: last.expires_at,
    covers: hops.every((hop) => hop.covers),
  };
};

const controllersOf = (agentId: string, batch: FactBatch): string[] =>
  batch
    .linksFrom("CONTROLLED_BY", agentId)
    .filter((link) => link.state === "active")
    .map((link) => link.dst);

const delegationResource = (row: FactDelegationRow, standing: Standing, batch: FactBatch): Resource => ({
  node_id: row.id,
  kind: "Delegation",
  name: row.name,
  tenant_ids: [row.tenant_id],
  owners: [row.owner_id],
  granted: false,
  attributes: {
    state: row.status,
    delegator_id: row.delegator_id,
    agent_id: row.agent_id,
    controller_ids: standing.withSelf(controllersOf(row.agent_id, batch)),
  },
});

const nodeResource = (ask: FactAsk, node: FactNode, granted: boolean, standing: Standing, batch: FactBatch): Resource => {
  const { props } = node;
  const own = typeof props["attributes"] === "object" && props["attributes"] !== null ? props["attributes"] : {};
  const bound = node.kind === "Tool" ? batch.bound(node.id, ask.action, standing.node.tenant_id) : [];
  const byKind: Record<string, unknown> =
    node.kind === "Tool"
      ? {
          mfa: props["mfa"] === true,
          requires: batch.linksFrom("REQUIRES", node.id).map((link) => link.dst),
          ...(bound.length === 0 ? {} : { policies: [...bound] }),
        }
      : node.kind === "Resource"
        ? { ...own, type: props["type"], restricted: props["restricted"] === true }
        : node.kind === "AIAgent"
          ? { controller_ids: standing.withSelf(controllersOf(node.id, batch)) }
          : {};
  return {
    node_id: node.id,
    kind: node.kind,
    name: node.name,
    tenant_ids: node.tenant_id === null ? [] : [node.tenant_id],
    owners: standing.withSelf(batch.linksTo("OWNS_RESOURCE", node.id).map((link) => link.src)),
    granted,
    attributes: { ...byKind, state: node.state },
  };
};

const scopeFact = (
  ask: FactAsk,
  tool: FactNode | undefined,
  standing: Standing,
  agents: readonly FactNode[],
  hops: readonly (FactHop | undefined)[],
  batch: FactBatch,
  options: DataScopeOptions,
): Facts["data_scope"] => {
  const type = tool === undefined ? ask.resource.type : tool.props["resource_type"];
  const rule = typeof type === "string" ? batch.rule(standing.node.tenant_id, type) : null;
  if (tool === undefined && rule === null) return undefined;
  const lists = hops.flatMap((hop) => hop?.tenants ?? []);
  const tenantIds = standing.membership.tenantIds.filter(
    (id) => agents.every((agent) => batch.membership(agent).tenantIds.includes(id)) && lists.every((list) => list.includes(id)),
  );
  const scope = dataScopeOf({ subjectId: standing.id, tenantIds, groups: [...standing.membership.circles], rule }, options);
  return { tenant_ids: [...scope.tenant_ids], row_filter_sql: scope.row_filter_sql, column_mask: { ...scope.column_mask } };
};

const UNRESOLVED: Facts = {
  subject: null,
  agent: null,
  capability: false,
  chain: false,
  definition_ok: true,
  delegation: null,
  resource: null,
  edges: [],
};

/** Facts for one ask, whatever the batch is read from. */
export const factsOf = (ask: FactAsk, batch: FactBatch, options: DataScopeOptions): Facts => {
  const standing = standingOf(ask.subject_id, batch);
  if (standing === undefined) return UNRESOLVED;
  const { membership } = standing;

  const lookup = lookupOf(ask);
  const row = lookup.by === "delegation" ? batch.delegation(lookup.id) : undefined;
  const delegationRow = row !== undefined && isHere(row.tenant_id, ask, standing) ? row : undefined;
  const node = resourceNodeOf(ask, standing, batch);
  const tool = node?.kind === "Tool" ? node : undefined;

  const hops = askedHopsOf(ask).map((hop) => {
    const found = batch.node(hop.agent);
    // Of an agent of another tenant nothing is told, as of one that is not there.
    if (found?.kind !== "AIAgent" || !isHere(found.tenant_id, ask, standing))
      return { hop, agent: undefined, capability: undefined, row: undefined };
    return { hop, agent: found, capability: tool && batch.capability(found.id, tool.id), row: batch.hop(hop) };
  });
  const agents = hops.map(({ agent }) => agent).filter((agent) => agent !== undefined);
  const outermost = agents.length === hops.length ? agents.at(-1) : undefined;
  const held = hops.map((hop) => hop.row);
  const delegation = outermost === undefined ? null : delegationFact(held);
  const requires = tool === undefined ? [] : batch.linksFrom("REQUIRES", tool.id);
  const grants = (node === undefined ? [] : batch.grants(node.id, membership.reach)).filter(({ props: { actions } }) => {
    return !Array.isArray(actions) || actions.includes(ask.action);
  });
  const controlled = delegationRow?.agent_id ?? (node?.kind === "AIAgent" ? node.id : undefined);
  const scope = scopeFact(ask, tool, standing, agents, held, batch, options);

  return {
    subject: subjectFact(standing.node, membership),
    agent:
      outermost === undefined
        ? null
        : {
            ...subjectFact(outermost, batch.membership(outermost)),
            disabled: agents.some((agent) => agent.state !== "active"),
            controllers: controllersOf(outermost.id, batch),
            client_id: typeof outermost.props["client_id"] === "string" ? outermost.props["client_id"] : null,
          },
    capability:
      delegation?.active === true &&
      tool?.state === "approved" &&
      hops.every((hop) => hop.row?.covers === true && hop.capability !== undefined),
    chain: ask.resource.type !== "tool" || (tool !== undefined && requires.every((link) => link.state === "active")),
    definition_ok: hops.every(({ capability }) => (capability?.digest ?? null) === null || capability?.digest === tool?.digest),
    delegation,
    data_scope: scope,
    resource:
      delegationRow !== undefined
        ? delegationResource(delegationRow, standing, batch)
        : node === undefined
          ? null
          : nodeResource(ask, node, grants.length > 0, standing, batch),
    edges: [
      ...(hops.length > 0 ? agentEdges(hops, tool, requires) : grantEdges(standing.id, membership, node, grants)),
      ...(node === undefined ? [] : ownEdges(batch.linksTo("OWNS_RESOURCE", node.id), "src", membership)),
      ...(controlled === undefined ? [] : controlEdges(controlled, batch.linksFrom("CONTROLLED_BY", controlled), standing.id, membership)),
    ],
  };
};

/** Facts for every ask, in order, of one snapshot; one statement whatever their number. */
export const readFacts = async (
  sql: Sql,
  scope: TenantScope,
  asks: readonly FactAsk[],
  options: DataScopeOptions,
): Promise<Answered<readonly Facts[]>> => {
  const plan = planFacts(asks);
  const [rows] = await sql.run(FACTS, [scope.tenant, ...plan.values]);
  if (rows === undefined) throw new Error("the facts statement gives one row");
  const batch = createFactBatch(rows, plan);
  return { version: rows.version, value: asks.map((ask) => factsOf(ask, batch, options)) };
};
