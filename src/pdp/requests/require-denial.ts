import type { AccessRequestDraft } from "#contract/access-requests.ts";
import type { Caller } from "#authn/caller.ts";
import type { Pep } from "#pdp/endpoints/parse-ask.ts";
import type { Engines } from "#pdp/engines.ts";
import type { DecisionLog } from "#pdp/records/decision-log.ts";
import type { Recorded } from "#pdp/records/record.ts";
import type { BindingTokens } from "./binding-token.ts";
import { taskProblem } from "./task.ts";

export interface DenialParts {
  readonly engines: Pick<Engines, "current">;
  readonly records: DecisionLog;
  readonly tokens: BindingTokens;
  readonly pepOf: (caller: Caller) => Pep;
  readonly now: () => Date;
}

export const isService = (caller: Caller): boolean => caller.sub.startsWith("service:") || caller.sub === caller.clientId;

/** Whoever was denied asks for himself, his agent for both; a service for what it asked itself. */
const mayAsk = (caller: Caller, recorded: Recorded, pep: Pep): boolean => {
  if (caller.tenant !== "*" && caller.tenant !== recorded.tenant) return false;
  if (isService(caller)) return recorded.pep === caller.sub || pep.isHouse;
  return caller.sub === recorded.subject && (caller.agent === undefined || caller.agent === recorded.agent);
};

/** The recorded denial that a request names, if it is the caller's to ask about and still stands. Throws `invalid_denial_binding`. */
export const createRequireDenial =
  (parts: DenialParts) =>
  async (caller: Caller, draft: AccessRequestDraft): Promise<Recorded> => {
    const { records, now } = parts;
    const { denial, subject, resource, action } = draft;
    const refuse = (detail: string) => taskProblem("invalid_denial_binding", detail);
    const bound = await parts.tokens.read(denial.binding_token, now());
    if (bound === undefined) throw refuse("The denial is too old, or its binding is not ours. Ask the question again.");
    const recorded = (await records.find([bound.evaluationId])).get(bound.evaluationId);
    const fits =
      bound.evaluationId === denial.evaluation_id &&
      bound.expiresAt.getTime() === Date.parse(denial.expires_at) &&
      recorded?.item.request?.binding.whole === bound.binding &&
      recorded.resourceId === resource.id &&
      recorded.item.type === resource.type &&
      recorded.item.action === action.name &&
      recorded.subject === subject.id;
    if (!fits || recorded === undefined || !mayAsk(caller, recorded, parts.pepOf(caller)))
      throw refuse("Subject, resource, action and denial must be those of one decision that was yours.");
    if (recorded.policy_version !== parts.engines.current().version)
      throw refuse("Other policies decide since then. Ask the question again.");
    return recorded;
  };
