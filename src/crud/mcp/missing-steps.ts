import { ask } from "#contract/ask.ts";
import { askFacts, type Facts } from "#contract/facts.ts";
import type { MissingStep } from "#contract/tools.ts";
import type { Caller } from "#authn/caller.ts";
import { membershipFault } from "./call/delegation-door.ts";
import type { CallParts } from "./call/tool-call.ts";
import type { Reach } from "./gather-reach.ts";
import type { Tool } from "./tool.ts";

const ADMINISTRATOR = "an administrator (role:administrator)";

/** What the graph still lacks on the way from the subject to the tool, in the order in which it is done. */
const stepsOf = (facts: Facts, tool: Tool, subject: string, agent: string | undefined): readonly MissingStep[] => {
  const { resource, delegation } = facts;
  const steps: MissingStep[] = [];
  const isMissing = (kind: string): boolean => facts.edges.some((edge) => edge.kind === kind && !edge.present);
  const system = `${tool.provider}.${tool.instance}`;
  const approver = tool.owner === undefined ? ADMINISTRATOR : `${tool.owner} or ${ADMINISTRATOR}`;
  if (tool.state === "quarantined")
    steps.push({
      step: "approve",
      who: approver,
      how: `Look at its definition and approve it: GET /config/definitions/${tool.name}, then POST /config/definitions/${tool.name}/approve.`,
    });
  else if (resource === null)
    return [
      {
        step: "register",
        who: ADMINISTRATOR,
        how: `The identity graph does not know the tool: publish its system again, PUT /config/systems/${system}.`,
      },
    ];
  // Approving makes it known to the graph too.
  if (resource === null) return steps;
  const state = resource.attributes["state"];
  const isApproved = state === "approved";
  if (typeof state === "string" && !isApproved && steps.length === 0)
    steps.push({
      step: "approve",
      who: approver,
      how: `Its definition is ${state}: approve it by publishing its system, PUT /config/systems/${system}, as who may approve definitions.`,
    });
  if (!resource.granted)
    steps.push({
      step: "grant",
      who: ADMINISTRATOR,
      how: `Grant the tool to ${subject} or a group of theirs: PUT /api/v1/edges/GRANTS_ACCESS/${subject}/${tool.name} at membership.`,
    });
  if (agent !== undefined) {
    const isGiven = !isMissing("HAS_CAPABILITY");
    if (!isGiven)
      steps.push({
        step: "capability",
        who: ADMINISTRATOR,
        how: `Give ${agent} the tool: PUT /api/v1/edges/HAS_CAPABILITY/${agent}/${tool.name} at membership, with {"props": {"granted_by": "<you>"}}.`,
      });
    else if (!facts.definition_ok)
      steps.push({
        step: "capability",
        who: ADMINISTRATOR,
        how: `${agent} has the tool for another definition: give it again, PUT /api/v1/edges/HAS_CAPABILITY/${agent}/${tool.name} at membership, with {"props": {"granted_by": "<you>"}}.`,
      });
    if (delegation === null || !delegation.active || (isGiven && isApproved && !facts.capability))
      steps.push({
        step: "delegate",
        who: subject,
        how: `Delegate the tool to ${agent}: POST /api/v1/delegations at membership, or the page Agents.`,
      });
    if (!facts.chain)
      steps.push({
        step: "application",
        who: ADMINISTRATOR,
        how: `Make ${tool.rules.app ?? "its application"} active for ${subject}, with the scopes ${tool.rules.scopes.join(" ")}.`,
      });
  }
  return steps;
};

/** Each missing step with who can do it; none for a tool of the house itself. Throws `membership_unavailable`. */
export const missingSteps = async (
  subject: Caller,
  tool: Tool,
  reach: Reach,
  parts: Pick<CallParts, "membership" | "membershipAudience" | "identity">,
  correlationId: string,
): Promise<readonly MissingStep[]> => {
  if (tool.isBuiltIn) return [];
  const token = await parts.identity.asService(parts.membershipAudience, ["pip.read"]).catch(membershipFault);
  const agents = reach.hops.map(({ agentId }) => agentId);
  const answer = await ask(parts.membership, askFacts, {
    body: {
      asks: [
        {
          subject_id: subject.sub,
          ...(agents.length === 0 ? {} : { agent_ids: agents }),
          action: "tools/call",
          resource: { type: "tool", external_id: tool.name },
          tenant_id: subject.tenant,
        },
      ],
    },
    headers: { authorization: `Bearer ${token}`, "x-correlation-id": correlationId },
  }).catch(membershipFault);
  const [facts] = answer.facts;
  return facts === undefined ? [] : stepsOf(facts, tool, subject.sub, agents.at(-1));
};
