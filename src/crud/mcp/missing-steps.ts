import { ask } from "#contract/ask.ts";
import { asService, type MembershipParts } from "#crud/model/ask-membership.ts";
import { askFacts, type Facts } from "#contract/facts.ts";
import type { KillSwitch } from "#contract/kill-switches.ts";
import type { MissingStep } from "#contract/tools.ts";
import type { Caller } from "#authn/model/caller.ts";
import { secretOf, type SecretStanding } from "#crud/model/secret-standing.ts";
import { membershipError } from "./call/steps/check-delegation.ts";
import { allowNetwork } from "#crud/upstream/network-rules.ts";
import type { Reach } from "./gather-reach.ts";
import type { Tool } from "#crud/tools/tool.ts";

const ADMINISTRATOR = "an administrator (role:administrator)";

const OPERATOR = "the operator";

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
      how: `Grant the tool to ${subject} or a group of theirs: PUT /api/membership/edges/GRANTS_ACCESS/${subject}/${tool.name}.`,
    });
  if (agent !== undefined) {
    // An agent that is not to be seen has nothing, whatever edge its name begins.
    const isGiven = facts.agent !== null && !isMissing("HAS_CAPABILITY");
    if (!isGiven)
      steps.push({
        step: "capability",
        who: ADMINISTRATOR,
        how: `Give ${agent} the tool: PUT /api/membership/edges/HAS_CAPABILITY/${agent}/${tool.name}, with {"props": {"granted_by": "<you>"}}.`,
      });
    else if (!facts.definition_ok)
      steps.push({
        step: "capability",
        who: ADMINISTRATOR,
        how: `${agent} has the tool for another definition: give it again, PUT /api/membership/edges/HAS_CAPABILITY/${agent}/${tool.name}, with {"props": {"granted_by": "<you>"}, "digest": "${tool.digest}"}.`,
      });
    // Of one that runs already and names other tools alone it is known before the agent has this one.
    if (delegation?.active !== true || delegation.covers === false)
      steps.push({
        step: "delegate",
        who: subject,
        how: `Delegate the tool to ${agent}: POST /api/membership/delegations, or the page Delegations.`,
      });
    for (const { kind, to, present } of facts.edges)
      if (kind === "REQUIRES" && !present)
        steps.push({
          step: "application",
          who: ADMINISTRATOR,
          how: `${to}, which the tool needs, is not active: PATCH /api/membership/nodes/${to}, with {"state": "active"}.`,
          on: to,
        });
  }
  return steps;
};

/** Credentials that no call would get; a secret is named to who may know of it alone. */
const secretSteps = (system: string, standings: readonly SecretStanding[]): readonly MissingStep[] =>
  standings.flatMap(({ uri, place, isUsable }) => {
    const isKnown = place !== "unknown";
    const named = isKnown ? { on: uri } : {};
    const secret = isKnown ? secretOf(uri) : "a secret that it names";
    const steps: MissingStep[] = [];
    if (place === "closed")
      steps.push({ step: "secret", who: OPERATOR, how: `Name a place for ${secret} in TENANT_ALLOWED_MOUNTS, and start again.` });
    if (place === "missing")
      steps.push({ step: "secret", who: ADMINISTRATOR, how: `Write ${uri}: POST /api/secrets, or the page Secrets.`, ...named });
    if (!isUsable)
      steps.push({
        step: "secret_use",
        who: ADMINISTRATOR,
        how: `Name ${system} on ${secret} in its Resource node: PUT /api/membership/nodes/{id} with If-None-Match: * and {"kind": "Resource", "name": "<name>", "system": "sallyport", "external_id": "${isKnown ? secret : "<secret>"}", "props": {"type": "secret", "attributes": {"used_by": "${system}"}}}; a node that is there: PATCH it with If-Match and these props.`,
        ...named,
      });
    return steps;
  });

export interface StepsAsk {
  /** For whom. */
  readonly subject: Caller;
  readonly tool: Tool;
  readonly reach: Reach;
  readonly killed: KillSwitch | undefined;
  /** Networks that the system leads to and does not allow. */
  readonly unlisted: readonly string[];
  readonly standings: readonly SecretStanding[];
  readonly correlationId: string;
}

/** Each missing step with who can do it; none for a tool of Sallyport itself. Throws `membership_unavailable`. */
export const missingSteps = async (
  { subject, tool, reach, killed, unlisted, standings, correlationId }: StepsAsk,
  parts: MembershipParts,
): Promise<readonly MissingStep[]> => {
  if (tool.isBuiltIn) return [];
  const headers = await asService(parts, ["pip.read"], correlationId).catch(membershipError);
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
    headers,
  }).catch(membershipError);
  const [facts] = answer.facts;
  const system = `${tool.provider}.${tool.instance}`;
  return [
    ...(killed === undefined
      ? []
      : [
          {
            step: "switch_on" as const,
            who: ADMINISTRATOR,
            how: `${killed.by} has switched ${killed.scope} off (${killed.reason}): DELETE /config/kill-switches/${killed.scope}.`,
            on: killed.scope,
          },
        ]),
    ...(facts === undefined ? [] : stepsOf(facts, tool, subject.sub, agents.at(-1))),
    ...unlisted.map((network) => ({ step: "network" as const, who: ADMINISTRATOR, how: allowNetwork(system, network), on: network })),
    ...secretSteps(system, standings),
  ];
};
