import type { FactEdge } from "#contract/facts.ts";
import { isRoleId } from "#contract/ids.ts";
import type { Membership } from "./facts-batch.ts";
import type { AskedHop } from "./facts-plan.ts";
import type { FactHop, FactLink, FactNode, FactStep } from "./sql-facts.ts";

const MAX_MEMBERSHIPS = 32;
const MAX_ABSENT = 8;
const GRANTABLE: readonly string[] = ["Resource", "Tool", "SaaSApp", "MCPService"];

const edgeOf = (link: Pick<FactLink, "kind" | "src" | "dst" | "id">, present = true): FactEdge => ({
  kind: link.kind,
  from: link.src,
  to: link.dst,
  id: link.id,
  present,
});
const absent = (kind: string, from: string, to: string): FactEdge => ({ kind, from, to, present: false });

/** The steps that lead from the subject to `target`, first to last. */
const stepsTo = (steps: readonly FactStep[], target: string): readonly FactStep[] => {
  const path: FactStep[] = [];
  let step = steps.find((one) => one.dst === target);
  while (step !== undefined) {
    path.unshift(step);
    const { src, depth, start } = step;
    step = src === start ? undefined : steps.find((one) => one.dst === src && one.depth < depth);
  }
  return path;
};

/** What lets agents act for a subject: the delegation and the capability of every hop, and the apps the tool needs. */
export const agentEdges = (
  hops: readonly { readonly hop: AskedHop; readonly row: FactHop | undefined; readonly capability: FactLink | undefined }[],
  tool: FactNode | undefined,
  requires: readonly FactLink[],
): readonly FactEdge[] => [
  ...hops.flatMap(({ hop, row, capability }) => [
    // An id with `present: false`: the delegation is there, but ended, held, or one of its ends may not act.
    { ...absent("DELEGATES_TO", hop.delegator, hop.agent), ...(row === undefined ? {} : { id: row.id, present: row.live }) },
    ...(tool === undefined ? [] : [capability === undefined ? absent("HAS_CAPABILITY", hop.agent, tool.id) : edgeOf(capability)]),
  ]),
  ...requires.map((link) => edgeOf(link, link.state === "active")),
];

/** How a subject's memberships lead to a grant on the resource, or all of them and the grant that is missing. */
export const grantEdges = (
  subjectId: string,
  membership: Membership,
  resource: FactNode | undefined,
  grants: readonly FactLink[],
): readonly FactEdge[] => {
  const [grant] = grants;
  if (grant !== undefined) return [...stepsTo(membership.steps, grant.src).map((step) => edgeOf(step)), edgeOf(grant)];
  const members = membership.steps.filter((step) => step.kind !== "USES_TENANT" && step.dst_kind !== "Tenant");
  const once = [...new Map(members.map((step) => [step.id, step])).values()].slice(0, MAX_MEMBERSHIPS);
  // What somebody is granted by a role stands in the policies.
  const groups = membership.groups.filter((id) => !isRoleId(id));
  const sources = groups.length > 0 ? groups.slice(0, MAX_ABSENT) : [subjectId];
  return [
    ...once.map((step) => edgeOf(step)),
    ...(resource === undefined || !GRANTABLE.includes(resource.kind)
      ? []
      : sources.map((from) => absent("GRANTS_ACCESS", from, resource.id))),
  ];
};

/** Those of the links whose far end is the subject or one of its groups. */
export const ownEdges = (links: readonly FactLink[], end: "src" | "dst", membership: Membership): readonly FactEdge[] =>
  links.filter((link) => membership.reach.has(link[end])).map((link) => edgeOf(link));

/** Who controls the agent, as far as it is the subject; else the edge that would make it so. */
export const controlEdges = (
  agentId: string,
  links: readonly FactLink[],
  subjectId: string,
  membership: Membership,
): readonly FactEdge[] => {
  const own = ownEdges(links, "dst", membership);
  return own.length > 0 ? own : [absent("CONTROLLED_BY", agentId, subjectId)];
};
