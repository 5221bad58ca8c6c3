import type { AccessRequestDraft, ShownCall } from "#contract/access-requests.ts";
import { isService } from "#authn/model/actor-kind.ts";
import type { Caller } from "#authn/model/caller.ts";
import type { Pep } from "#pdp/model/parse-ask.ts";
import type { Serving } from "#pdp/context/serving.ts";
import type { Recorded } from "#pdp/records/record.ts";
import type { ActBinder } from "#pdp/engine/act-binding.ts";
import type { BindingTokens } from "./binding-token.ts";
import { taskProblem } from "./task.ts";

export interface DenialParts extends Pick<Serving, "engines" | "records" | "pepOf" | "now"> {
  readonly tokens: BindingTokens;
  readonly acts: Pick<ActBinder, "wholeOf">;
}

/** Whoever was denied asks for himself and for his agents; a service for what it asked itself. */
const mayAsk = (caller: Caller, recorded: Recorded, pep: Pep): boolean => {
  if (caller.tenant !== "*" && caller.tenant !== recorded.tenant) return false;
  if (isService(caller)) return recorded.pep === caller.sub || pep.isInternal;
  return caller.sub === recorded.subject;
};

export interface Denial {
  readonly recorded: Recorded;
  /** What was denied, as who answers will be shown it: the very one that the record's binding covers. */
  readonly call?: ShownCall;
}

/** The recorded denial that a request names, if it is the caller's to ask about and still stands. Throws `invalid_denial_binding`. */
export const createRequireDenial =
  (parts: DenialParts) =>
  async (caller: Caller, draft: AccessRequestDraft): Promise<Denial> => {
    const { records, now } = parts;
    const { denial, subject, resource, action } = draft;
    const refuse = (detail: string) => taskProblem("invalid_denial_binding", detail);
    const bound = await parts.tokens.read(denial.binding_token, now());
    if (bound === undefined) throw refuse("The denial is too old, or its binding is not ours. Ask the question again.");
    const recorded = (await records.find([bound.evaluationId])).get(bound.evaluationId);
    const binding = recorded?.item.request?.binding;
    if (recorded === undefined || binding === undefined) throw refuse("The denial is not on record any more. Ask the question again.");
    const { act, definition } = binding;
    const fits =
      binding.whole === parts.acts.wholeOf({ act, definition, policyVersion: recorded.policy_version, call: bound.call }) &&
      bound.evaluationId === denial.evaluation_id &&
      bound.expiresAt.getTime() === Date.parse(denial.expires_at) &&
      binding.whole === bound.binding &&
      recorded.resourceId === resource.id &&
      recorded.item.type === resource.type &&
      recorded.item.action === action.name &&
      recorded.subject === subject.id;
    if (!fits || !mayAsk(caller, recorded, parts.pepOf(caller)))
      throw refuse("Subject, resource, action and denial must be those of one decision that was yours.");
    if (recorded.policy_version !== parts.engines.current().version)
      throw refuse("Other policies decide since then. Ask the question again.");
    return { recorded, call: bound.call };
  };
