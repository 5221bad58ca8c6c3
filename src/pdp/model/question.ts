import { identityKinds, type Facts } from "#contract/facts.ts";
import type { Ask, Inputs, Properties } from "./ask.ts";
import type { Pair } from "#pdp-client/pairs.ts";

/** A question with its facts gathered: all that policies can see, and nothing else. Pure data, so it can be asked again. */
export interface Question {
  readonly pair: Pair;
  readonly resourceId: string;
  readonly tenant: string;
  readonly agentId?: string;
  readonly facts: Facts & { readonly subject: NonNullable<Facts["subject"]> };
  readonly inputs: Inputs;
  readonly props: Properties;
  readonly claimed: Properties;
  readonly ui: Properties;
  readonly said?: NonNullable<Ask["said"]>;
}

/** Kinds of the graph that may be a subject, which are its Cedar types too. */
export const principalKinds: ReadonlySet<string> = new Set(identityKinds);

/** An agent acts for the subject, or the subject is one itself (then nobody delegated). */
export const isViaAgent = (question: Question): boolean => question.agentId !== undefined || question.facts.subject.kind === "AIAgent";

/** States of a node that carry rights. */
const live: ReadonlySet<unknown> = new Set([undefined, "active", "approved"]);

const includesSome = (ids: unknown, wanted: ReadonlySet<string>): boolean =>
  Array.isArray(ids) && ids.some((id) => typeof id === "string" && wanted.has(id));

/** What policies call granted, owner, controlled and so on, out of the facts. */
export const standingOf = (question: Question) => {
  const { facts, inputs } = question;
  const { resource, delegation } = facts;
  const self = new Set([facts.subject.id, ...facts.subject.groups]);
  const attributes = resource?.attributes ?? {};
  const isLive = live.has(attributes["state"]);
  return {
    granted: resource !== null && resource.granted && isLive,
    owner:
      resource !== null &&
      (resource.node_id === facts.subject.id || includesSome(resource.owners, self) || attributes["delegator_id"] === facts.subject.id),
    controlled: includesSome(attributes["controller_ids"], self),
    restricted: attributes["restricted"] === true,
    stepUp: attributes["mfa"] === true,
    definitionOk: facts.definition_ok && isLive,
    delegation:
      delegation === null
        ? undefined
        : {
            active: delegation.active,
            status: delegation.status,
            steps_left: inputs.could ? Number.MAX_SAFE_INTEGER : delegation.steps_left,
            budget_left: inputs.could ? Number.MAX_SAFE_INTEGER : delegation.budget_left_micro_usd,
            cost: inputs.could ? 0 : inputs.cost_micro,
          },
    mfa: inputs.mfa || inputs.could,
    approved: inputs.approved || inputs.could,
  };
};
