import { membershipOf, type FactBatch, type Membership } from "#membership/graph/facts-batch.ts";
import { compareTexts } from "#membership/graph/graph-reader.ts";
import type { AskedHop } from "#membership/graph/facts-plan.ts";
import type { FactHop, FactLink, FactNode, FactStep } from "#membership/graph/sql-facts.ts";
import { statuses } from "./delegations.ts";
import { edgeKindNumber } from "./edges.ts";
import type { Meters } from "./meters.ts";
import { ALL } from "./nodes.ts";
import { delegationsBetween, eachIn, eachOut, isActive, seenNode, type View } from "./view.ts";

const FIRST_STEPS = ["BELONGS_TO", "MEMBER_OF", "HAS_RTR", "USES_TENANT"].map(edgeKindNumber);
const FURTHER_STEPS = ["MEMBER_OF", "HAS_RTR"].map(edgeKindNumber);
const MAX_STEPS = 10;
const HAS_CAPABILITY = edgeKindNumber("HAS_CAPABILITY");
const GRANTS_ACCESS = edgeKindNumber("GRANTS_ACCESS");
const POLICY_REF = edgeKindNumber("POLICY_REF");
const PROVIDES = edgeKindNumber("PROVIDES");

/** Delegations that may be chosen for a hop: those between its two, or the pinned one, of a tenant that is seen. */
export const candidatesOf = (view: View, hop: AskedHop): readonly number[] => {
  const { delegations, nodes } = view.graph;
  const [user, agent] = [nodes.names.find(hop.delegator), nodes.names.find(hop.agent)];
  if (user === -1 || agent === -1) return [];
  const pin = hop.pin === "" ? undefined : delegations.names.find(hop.pin);
  const isOfPerson = (one: number): boolean =>
    hop.person === hop.delegator || nodes.names.nameOf(delegations.user(delegations.path(one)[0] ?? one)) === hop.person;
  return delegationsBetween(view, user, agent).filter(
    (one) => (pin === undefined || one === pin) && (view.sight === ALL || delegations.tenantNumber(one) === view.sight) && isOfPerson(one),
  );
};

/** Behind every moment. */
const NEVER = "~";
const compareHops = (one: FactHop, other: FactHop): number =>
  Number(other.live) - Number(one.live) ||
  Number(other.covers) - Number(one.covers) ||
  Number(other.steps_left > 0) - Number(one.steps_left > 0) ||
  statuses.indexOf(one.status) - statuses.indexOf(other.status) ||
  compareTexts(one.expires_at ?? NEVER, other.expires_at ?? NEVER) ||
  compareTexts(one.id, other.id);

/** What the steps of a subject lead to, level by level: what is reached by ways of several lengths stands in several levels. */
const stepsOf = (view: View, start: number): readonly FactStep[] => {
  const { nodes, edges } = view.graph;
  if (!isActive(view, start)) return [];
  const startId = nodes.names.nameOf(start);
  const steps: FactStep[] = [];
  let level = [start];
  for (let depth = 1; depth <= MAX_STEPS && level.length > 0; depth++) {
    const found: FactStep[] = [];
    const reached = new Set<number>();
    for (const node of level) {
      const src = nodes.names.nameOf(node);
      for (const kind of depth === 1 ? FIRST_STEPS : FURTHER_STEPS)
        eachOut(view, node, kind, (edge) => {
          const target = edges.target(edge);
          if (!isActive(view, target)) return;
          reached.add(target);
          const dst = nodes.names.nameOf(target);
          found.push({ start: startId, src, dst, kind: edges.kindName(edge), id: edges.id(edge), dst_kind: nodes.kindName(target), depth });
        });
    }
    found.sort((one, other) => compareTexts(one.src, other.src) || compareTexts(one.kind, other.kind) || compareTexts(one.dst, other.dst));
    steps.push(...found);
    level = [...reached];
  }
  return steps;
};

/** What facts are answered from, read out of the graph as it is asked for. Of one moment: it must not be kept over a wait. */
export const indexFactBatch = (view: View, meters: Meters): FactBatch => {
  const { graph, now } = view;
  const { nodes, edges, delegations } = graph;
  const known = new Map<string, FactNode | undefined>();
  const memberships = new Map<string, Membership>();

  const nodeOf = (node: number): FactNode => ({
    id: nodes.names.nameOf(node),
    kind: nodes.kindName(node),
    name: nodes.name(node),
    tenant_id: nodes.tenant(node),
    state: nodes.state(node),
    digest: nodes.digest(node),
    props: nodes.props(node),
  });
  const linkOf = (edge: number, other: number): FactLink => {
    const { digest, ...props } = graph.note(edge);
    return {
      id: edges.id(edge),
      kind: edges.kindName(edge),
      src: nodes.names.nameOf(edges.source(edge)),
      dst: nodes.names.nameOf(edges.target(edge)),
      digest: typeof digest === "string" ? digest : null,
      props,
      state: nodes.state(other),
    };
  };
  const hopOf = (hop: AskedHop, one: number): FactHop => {
    const id = delegations.names.nameOf(one);
    const meter = meters.get(id);
    if (meter === undefined) throw new Error("a delegation has a meter");
    const tool = hop.tool === "" ? -1 : nodes.names.find(hop.tool);
    const areActive = nodes.isActive(delegations.user(one)) && nodes.isActive(delegations.agent(one));
    return {
      n: 0,
      id,
      status: delegations.status(one, now),
      live: areActive && delegations.isLive(one, now),
      covers: hop.tool === "" || delegations.covers(one, tool),
      ...meter,
      expires_at: delegations.endsAt(one),
      path: delegations.path(one).map((above) => delegations.names.nameOf(above)),
      tenants: delegations.tenantLists(one),
    };
  };

  return {
    node: (id) => {
      if (known.has(id)) return known.get(id);
      const node = seenNode(view, id);
      const found = node === -1 ? undefined : nodeOf(node);
      known.set(id, found);
      return found;
    },
    resources: (type, externalId) =>
      nodes
        .resources(type, externalId)
        .filter((node) => nodes.isSeen(node, view.sight))
        .map(nodeOf)
        .sort((one, other) => compareTexts(one.id, other.id)),
    membership: (node) => {
      const held = memberships.get(node.id) ?? membershipOf(node, stepsOf(view, nodes.names.find(node.id)), graph.operator);
      memberships.set(node.id, held);
      return held;
    },
    linksFrom: (kind, src) => {
      const links: FactLink[] = [];
      const node = seenNode(view, src);
      if (node !== -1)
        eachOut(view, node, edgeKindNumber(kind), (edge) => {
          const target = edges.target(edge);
          if (nodes.isSeen(target, view.sight)) links.push(linkOf(edge, target));
        });
      return links.sort((one, other) => compareTexts(one.dst, other.dst));
    },
    linksTo: (kind, dst) => {
      const links: FactLink[] = [];
      const node = seenNode(view, dst);
      if (node !== -1)
        eachIn(view, node, edgeKindNumber(kind), (edge) => {
          const source = edges.source(edge);
          if (isActive(view, source)) links.push(linkOf(edge, source));
        });
      return links.sort((one, other) => compareTexts(one.src, other.src));
    },
    capability: (agentId, toolId) => {
      const [agent, tool] = [nodes.names.find(agentId), seenNode(view, toolId)];
      let found: FactLink | undefined;
      if (agent !== -1 && tool !== -1)
        eachOut(view, agent, HAS_CAPABILITY, (edge) => {
          if (edges.target(edge) === tool) found = linkOf(edge, tool);
        });
      return found;
    },
    grants: (nodeId, from) => {
      const links: FactLink[] = [];
      const node = seenNode(view, nodeId);
      // Those who are reached are few; those who were granted something may be very many.
      if (node !== -1)
        for (const id of from) {
          const source = nodes.names.find(id);
          if (source === -1 || !isActive(view, source)) continue;
          eachOut(view, source, GRANTS_ACCESS, (edge) => {
            if (edges.target(edge) === node) links.push(linkOf(edge, source));
          });
        }
      return links.sort((one, other) => compareTexts(one.src, other.src));
    },
    bound: (toolId, action, tenantId) => {
      const tool = seenNode(view, toolId);
      if (tool === -1) return [];
      const targets = [tool];
      eachIn(view, tool, PROVIDES, (edge) => targets.push(edges.source(edge)));
      const policies = new Set<string>();
      for (const target of targets)
        eachOut(view, target, POLICY_REF, (to) => {
          const binding = edges.target(to);
          const { action: named, enabled } = nodes.props(binding);
          if (nodes.kindName(binding) !== "MCPPolicyBinding" || !isActive(view, binding) || named !== action || enabled !== true) return;
          if (![null, tenantId].includes(nodes.tenant(binding))) return;
          eachOut(view, binding, POLICY_REF, (edge) => {
            if (isActive(view, edges.target(edge))) policies.add(nodes.names.nameOf(edges.target(edge)));
          });
        });
      return [...policies].sort(compareTexts);
    },
    hop: (hop) =>
      candidatesOf(view, hop)
        .map((one) => hopOf(hop, one))
        .sort(compareHops)[0],
    delegation: (id) => {
      const one = delegations.names.find(id);
      if (one === -1 || !(view.sight === ALL || delegations.tenantNumber(one) === view.sight)) return undefined;
      return {
        id,
        delegator_id: nodes.names.nameOf(delegations.user(one)),
        owner_id: nodes.names.nameOf(delegations.user(delegations.path(one)[0] ?? one)),
        agent_id: nodes.names.nameOf(delegations.agent(one)),
        tenant_id: delegations.tenant(one),
        status: delegations.status(one, now),
        name: delegations.purpose(one),
      };
    },
    rule: (tenantId, resourceType) => (tenantId === null ? null : (graph.rules.get(`${tenantId} ${resourceType}`) ?? null)),
  };
};
