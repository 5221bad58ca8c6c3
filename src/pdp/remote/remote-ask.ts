import type { Ask } from "#pdp/model/ask.ts";
import { isViaAgent, standingOf, type Question } from "#pdp/model/question.ts";
import type { RemoteDecisionPoint } from "#pdp/model/remote-config.ts";
import type { SubjectProperties } from "./subject-properties.ts";

type Members = Record<string, unknown>;

/** What expressions read and `facts: subject` sends: the subject as the graph knows it, in the tenant of the decision. */
const subjectFacts = ({ facts, tenant }: Question): Members => {
  const { subject, delegation } = facts;
  return {
    id: subject.id,
    kind: subject.kind,
    name: subject.name,
    tenant,
    groups: [...subject.groups],
    mfa_level: subject.mfa_level ?? "none",
    attributes: { ...subject.attributes },
    ...(delegation === null ? {} : { delegation: { ...delegation } }),
  };
};

/** What the graph says of the resource and of the subject's way to it, as Sallyport's own policies would see it. */
const resourceFacts = (question: Question): Members => {
  const standing = standingOf(question);
  const { resource } = question.facts;
  return {
    ...(resource === null
      ? {}
      : { ...resource.attributes, kind: resource.kind, tenant_ids: [...resource.tenant_ids], owners: [...resource.owners] }),
    granted: standing.granted,
    owner: standing.owner,
    controlled: standing.controlled,
    restricted: standing.restricted,
    step_up: standing.stepUp,
    assigned: question.inputs.assigned,
  };
};

/** What is neither the subject's nor the resource's. */
const circumstances = (question: Question): Members => {
  const standing = standingOf(question);
  const { capability, chain } = question.facts;
  return {
    mfa: standing.mfa,
    tools_scope: question.inputs.tools_scope,
    via_agent: isViaAgent(question),
    capability,
    chain,
    definition_ok: standing.definitionOk,
  };
};

/**
 * A question in the words of AuthZEN, with as much of the facts as is configured. What the subject claims goes under
 * `context.claimed` and nowhere else; that an agent acts is never left out. The properties of the configuration win over
 * all others, so that nobody but Sallyport names the subject's roles.
 */
export const remoteItem = (
  ask: Ask,
  question: Question,
  level: RemoteDecisionPoint["facts"],
  properties: SubjectProperties,
): Readonly<Record<"subject" | "action" | "resource" | "context", unknown>> => {
  const known = subjectFacts(question);
  const { groups, tenant, delegation } = known;
  const { acr, authTime } = ask.assurance;
  return {
    subject: {
      type: ask.subject.type,
      id: ask.subject.id,
      properties: {
        acr,
        auth_time: authTime,
        ...(level === "none" ? {} : { groups, tenant, delegation }),
        // Here too: some decision points look at no context.
        ...(ask.agents.length === 0 ? {} : { agent: ask.agents[0] }),
        ...properties(known),
      },
    },
    action: { name: question.pair.action },
    resource: {
      type: ask.resource.type,
      id: question.resourceId,
      properties: { ...ask.props, ...(level === "full" ? resourceFacts(question) : {}) },
    },
    context: {
      ...(Object.keys(ask.claimed).length === 0 ? {} : { claimed: ask.claimed }),
      ...(Object.keys(ask.ui).length === 0 ? {} : { ui: ask.ui }),
      ...(ask.agents.length === 0 ? {} : { agent: { id: ask.agents[0], chain: [...ask.agents] } }),
      ...(ask.vouched.could ? { could: true } : {}),
      tool: question.inputs.tool,
      ...(level === "full" ? { facts: circumstances(question) } : {}),
    },
  };
};
