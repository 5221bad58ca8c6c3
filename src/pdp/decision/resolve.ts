import type { Reason } from "#contract/authzen.ts";
import type { Facts } from "#contract/facts.ts";
import { hasSignIn, strongSignIn } from "#authn/model/caller.ts";
import type { Ask, Inputs } from "#pdp/model/ask.ts";
import { bareVerdict, type Verdict } from "#pdp/engine/decision-point.ts";
import type { Informed } from "#pdp/facts/gather.ts";
import { bareResource } from "#pdp/facts/no-facts.ts";
import { isBuiltInTool, type Pair } from "#pdp-client/pairs.ts";
import type { Question } from "#pdp/model/question.ts";
import type { DecisionFacts } from "#pdp/model/decision-facts.ts";
import type { Vocabulary } from "#pdp/engine/vocabulary.ts";

/** An ask with its place in the graph: ready for whatever decides, or refused because it has none. */
export type Placed = { readonly refused: Verdict } | { readonly ask: Ask; readonly tenant: string; readonly question: Question };

export interface PlacingParts {
  readonly decisions: DecisionFacts;
  readonly vocabulary: Vocabulary;
  /** The pair of words that the vocabulary does not have; without it they are refused as `unknown_action`. */
  readonly foreignPair?: (ask: Ask) => Pair;
  /** What decides knows approvals; without it an ask that names one is refused. */
  readonly mayBeApproved?: true;
  readonly now: () => Date;
}

/**
 * The tenant that a decision is made in, or `undefined` when the subject is not to be placed. It is always one that the graph
 * says the subject belongs to; an enforcement point that is bound to a tenant learns nothing of other tenants' subjects.
 * A service of Sallyport belongs to none: it has the tenant of the tool call it acts for, else `*`, in which nothing but
 * what is shared can be reached.
 */
const tenantOf = (ask: Ask, subject: Facts["subject"], toolTenant: string | undefined): string | undefined => {
  if (subject === null) return undefined;
  const stated = ask.subject.tenant;
  if (subject.kind === "Service" && subject.tenant_ids.length === 0) {
    return ask.bound === "*" && (stated === undefined || stated === "*") ? (toolTenant ?? "*") : undefined;
  }
  const wanted = stated ?? (ask.bound === "*" ? (subject.tenant_ids.length === 1 ? subject.tenant_ids[0] : undefined) : ask.bound);
  if (wanted === undefined || !subject.tenant_ids.includes(wanted)) return undefined;
  return ask.bound === "*" || ask.bound === wanted ? wanted : undefined;
};

/**
 * What stands before every decision, whoever makes it: who asks is somebody, in a tenant that the graph says is theirs; the
 * resource is there, and not another tenant's. What an enforcement point may not vouch for is not seen any further.
 */
export const createPlacing = (parts: PlacingParts): ((informed: Informed, knows?: (pair: Pair) => boolean) => Promise<Placed>) => {
  /** The call that a secret is for; of one that could be made it is said in which tenant. */
  const callOf = async (
    { could, resourceTenant }: Ask["vouched"],
    { id, decisionId }: NonNullable<Ask["vouched"]["tool"]>,
    pep: string,
  ): Promise<{ readonly tenant: string } | undefined> => {
    if (could) return resourceTenant === undefined ? undefined : { tenant: resourceTenant };
    return decisionId === undefined ? undefined : parts.decisions.permittedCall(decisionId, id, pep);
  };
  const inputsOf = async ({ ask }: Informed): Promise<{ readonly inputs: Inputs; readonly toolTenant?: string }> => {
    const { vouched } = ask;
    const { tool } = vouched;
    const call = tool === undefined ? undefined : await callOf(vouched, tool, ask.subject.id);
    const inputs: Inputs = {
      mfa: hasSignIn(ask.assurance, strongSignIn, parts.now()),
      approved: false,
      could: vouched.could,
      tools_scope: vouched.toolsScope,
      assigned: vouched.assigned,
      cost_micro: vouched.costMicro,
      ...(tool === undefined
        ? {}
        : { tool: { id: tool.id, system: tool.id.slice(0, Math.max(tool.id.lastIndexOf("."), 0)), permitted: call !== undefined } }),
    };
    // A secret that Sallyport reads for no call, such as a webhook's address, is read within the tenant that the secrets service found.
    const isOwnRead = tool === undefined && ask.resource.type === "secret" && ask.action === "read";
    const toolTenant = call?.tenant ?? (isOwnRead ? vouched.resourceTenant : undefined);
    return toolTenant === undefined ? { inputs } : { inputs, toolTenant };
  };

  return async (informed, knows = () => true) => {
    const { ask } = informed;
    const pair = informed.pair ?? parts.foreignPair?.(ask);
    const { inputs, toolTenant } = await inputsOf(informed);
    const tenant = tenantOf(ask, informed.facts.subject, toolTenant);
    const facts = withVouched(informed);
    // What is refused before the policies is recorded without what the caller may not know: whose the subject or the
    // resource is, if it is another tenant's. To the caller both look as if they did not exist.
    const refused = (reason: Reason, seen: Facts | undefined = facts): Placed => ({
      refused: bareVerdict({ ask, tenant, facts: seen, inputs }, { decision: false, reason }),
    });
    const { subject } = facts;
    if (subject === null || tenant === undefined || !parts.vocabulary.isSubject(ask.subject.type, subject.kind)) {
      return refused("subject_unresolved", undefined);
    }
    const known = pair !== undefined && knows(pair) ? pair : undefined;
    const reason = whyUnplaced(known, informed.resourceId, facts.resource, tenant);
    if (reason !== undefined || known === undefined)
      return refused(reason ?? "unknown_action", isForeign(facts.resource, tenant) ? { ...facts, resource: null, edges: [] } : facts);
    if (ask.vouched.approval && parts.mayBeApproved !== true) return refused("approval_invalid");
    const question: Question = {
      pair: known,
      resourceId: informed.resourceId,
      tenant,
      agentId: ask.agents[0],
      facts: { ...facts, subject },
      inputs,
      props: ask.props,
      claimed: ask.claimed,
      ui: ask.ui,
      said: ask.said,
    };
    return { ask, tenant, question };
  };
};

/**
 * The checks that a question passes before any policy, in their order; `undefined`: policies decide. `pair`: as far as they know it. Of
 * another tenant's thing nothing is said but that it is not there.
 */
export const whyUnplaced = (
  pair: Pair | undefined,
  resourceId: string,
  resource: Facts["resource"],
  tenant: string,
): Reason | undefined => {
  if (isForeign(resource, tenant)) return "resource_unresolved";
  if (pair === undefined) return "unknown_action";
  if (pair.of !== "all" && resourceId === "*") return "resource_id_required";
  // A secret's key alone names no secret.
  if (resourceId === "") return "resource_unresolved";
  const mustBeThere = pair.of === "node" || pair.entity === "PageWidget" || pair.entity === "Decision";
  return resource === null && mustBeThere ? "resource_unresolved" : undefined;
};

/** Of another tenant than the one that asks. Policies have the same wall once more. */
const isForeign = (resource: Facts["resource"], tenant: string): boolean =>
  resource !== null && resource.tenant_ids.length > 0 && !resource.tenant_ids.includes(tenant);

/** What the graph does not hold although policies may speak of it: a thing that a service of Sallyport vouches for. */
const withVouched = ({ ask, pair, facts, resourceId }: Informed): Facts => {
  const tenant = ask.vouched.resourceTenant;
  if (facts.resource !== null || tenant === undefined || pair?.of !== "named" || isBuiltInTool(pair, resourceId)) return facts;
  return { ...facts, resource: bareResource(resourceId, "Resource", [tenant]) };
};
