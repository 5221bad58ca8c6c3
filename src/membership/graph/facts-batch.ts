import type { Facts } from "#contract/facts.ts";
import { isRoleId } from "#contract/ids.ts";
import type { DataScopeRule } from "#contract/data-scope-rules.ts";
import { PLATFORM } from "#membership/graph/built-in-roles.ts";
import type { FactPlan, AskedHop } from "./facts-plan.ts";
import type { FactDelegationRow, FactHop, FactLink, FactNode, FactRows, FactStep } from "./sql-facts.ts";

/** What an identity is a member of. An inactive one is a member of nothing. */
export interface Membership {
  readonly steps: readonly FactStep[];
  /** Tenants whose rows it may see. */
  readonly tenantIds: readonly string[];
  /** Groups, and the roles that policies speak of. */
  readonly groups: readonly string[];
  /** Groups and business roles: what masks and ownership are judged by. */
  readonly circles: ReadonlySet<string>;
  /** Itself and all that its memberships reach: what a grant may start from. */
  readonly reach: ReadonlySet<string>;
}

/** What a batch of asks is answered from, found by what the asks name: all of one snapshot. */
export interface FactBatch {
  readonly node: (id: string) => FactNode | undefined;
  readonly resources: (type: string, externalId: string) => readonly FactNode[];
  readonly membership: (node: FactNode) => Membership;
  readonly linksFrom: (kind: string, src: string) => readonly FactLink[];
  readonly linksTo: (kind: string, dst: string) => readonly FactLink[];
  /** The edge that lets an agent use a tool. */
  readonly capability: (agentId: string, toolId: string) => FactLink | undefined;
  /** Grants on a node that start from one of these. */
  readonly grants: (nodeId: string, from: ReadonlySet<string>) => readonly FactLink[];
  /** Ids of the policies that this tenant, or Sallyport for all, bound to the tool or its service: of what takes part, in byte order. */
  readonly bound: (toolId: string, action: string, tenantId: string | null) => readonly string[];
  /** The delegation chosen for a hop. */
  readonly hop: (hop: AskedHop) => FactHop | undefined;
  readonly delegation: (id: string) => FactDelegationRow | undefined;
  readonly rule: (tenantId: string | null, resourceType: string) => DataScopeRule | null;
}

/** From the steps of an identity, nearest first and among equals by their ids. `operator`: the tenant in which `role:platform` counts. */
export const membershipOf = (node: FactNode, walked: readonly FactStep[], operator: string | null): Membership => {
  const isOperators = node.tenant_id !== null && node.tenant_id === operator;
  const steps = isOperators ? walked : walked.filter(({ src, dst }) => src !== PLATFORM && dst !== PLATFORM);
  const members = steps.filter((step) => step.kind === "MEMBER_OF");
  const accounts = new Set(
    node.kind === "Account" ? [node.id] : steps.filter((step) => step.kind === "BELONGS_TO" && step.depth === 1).map((step) => step.dst),
  );
  const first = members.filter((step) => accounts.has(step.src));
  const firstIds = new Set(first.map((step) => step.dst));
  const second = members.filter((step) => firstIds.has(step.src));
  const tenants = new Set([...first, ...second].filter((step) => step.dst_kind === "Tenant").map((step) => step.dst));
  // Agents and services have no accounts of their own: they work in the tenant that holds them, and in those they use.
  if (node.state === "active" && node.kind !== "Person" && node.kind !== "Account") {
    if (node.tenant_id !== null) tenants.add(node.tenant_id);
    for (const step of steps) if (step.kind === "USES_TENANT") tenants.add(step.dst);
  }
  const circles = members.filter((step) => step.dst_kind === "Group" || step.dst_kind === "BusinessRole");
  return {
    steps,
    tenantIds: [...tenants].sort(),
    groups: [...new Set(circles.filter((step) => step.dst_kind === "Group" || isRoleId(step.dst)).map((step) => step.dst))].sort(),
    circles: new Set(circles.map((step) => step.dst)),
    reach: new Set(node.state === "active" ? [node.id, ...steps.map((step) => step.dst)] : []),
  };
};

export const subjectFact = (node: FactNode, membership: Membership): NonNullable<Facts["subject"]> => ({
  id: node.id,
  kind: node.kind,
  name: node.name,
  tenant_ids: [...membership.tenantIds],
  groups: [...membership.groups],
  disabled: node.state !== "active",
  mfa_level: typeof node.props["mfa_level"] === "string" ? node.props["mfa_level"] : null,
});

const group = <T>(items: readonly T[], key: (item: T) => string): ((wanted: string) => readonly T[]) => {
  const groups = Map.groupBy(items, key);
  return (wanted) => groups.get(wanted) ?? [];
};

export const createFactBatch = (rows: FactRows, plan: FactPlan): FactBatch => {
  const nodes = new Map(rows.nodes.map((node) => [node.id, node]));
  const resourceNodes = rows.nodes.filter((node) => node.kind === "Resource");
  const resources = group(resourceNodes, (node) => JSON.stringify([node.props["type"], node.external_id]));
  const steps = group(rows.steps, (step) => step.start);
  const from = group(rows.links, (link) => `${link.kind} ${link.src}`);
  const to = group(rows.links, (link) => `${link.kind} ${link.dst}`);
  const hops = new Map(rows.hops.map((hop) => [hop.n, hop]));
  const delegations = new Map(rows.delegations.map((row) => [row.id, row]));
  const rules = new Map(rows.rules.map((row) => [`${row.tenant_id} ${row.resource_type}`, row.rule]));
  const memberships = new Map<string, Membership>();
  return {
    node: (id) => nodes.get(id),
    resources: (type, externalId) => resources(JSON.stringify([type, externalId])),
    membership: (node) => {
      const known = memberships.get(node.id) ?? membershipOf(node, steps(node.id), rows.operator);
      memberships.set(node.id, known);
      return known;
    },
    linksFrom: (kind, src) => from(`${kind} ${src}`),
    linksTo: (kind, dst) => to(`${kind} ${dst}`),
    capability: (agentId, toolId) => from(`HAS_CAPABILITY ${agentId}`).find((link) => link.dst === toolId),
    grants: (nodeId, starts) => to(`GRANTS_ACCESS ${nodeId}`).filter((link) => starts.has(link.src)),
    bound: (toolId, action, tenantId) => {
      const fits = ({ props }: FactLink): boolean =>
        props["action"] === action && (props["tenant_id"] === null || props["tenant_id"] === tenantId);
      const links = from(`POLICY_REF ${toolId}`).filter(fits);
      return [...new Set(links.map(({ dst }) => dst))].sort();
    },
    hop: (hop) => hops.get(plan.numberOf(hop)),
    delegation: (id) => delegations.get(id),
    rule: (tenantId, resourceType) => (tenantId === null ? null : (rules.get(`${tenantId} ${resourceType}`) ?? null)),
  };
};
