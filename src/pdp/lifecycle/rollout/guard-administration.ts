import { actorKindOf, isService } from "#authn/model/actor-kind.ts";
import { requireScope, type Caller } from "#authn/model/caller.ts";
import type { Call } from "#http/serve.ts";
import type { DecisionPoint } from "#pdp/engine/decision-point.ts";
import { askOfCaller } from "#pdp/rights/ask-of-caller.ts";
import type { Pep } from "#pdp/model/parse-ask.ts";
import type { RequirePair } from "#pdp/rights/require-pair.ts";
import type { Version } from "#pdp/engine/engines.ts";
import type { Viewers } from "#pdp/rights/viewer.ts";
import type { Changer } from "./policy-events.ts";

/** `view`: as far as policies speak of the caller's tenant. */
export type AdministrationRight = "view" | "view_all" | "edit" | "activate";

const scopes: Readonly<Record<AdministrationRight, string>> = {
  view: "pdp.policies.read",
  view_all: "pdp.policies.read",
  edit: "pdp.policies.write",
  activate: "pdp.policies.activate",
};

/** Who administers. */
export interface Administrator {
  readonly by: Changer;
  /** May see whom decisions were about. */
  seesDecisions(): Promise<boolean>;
  /** Would still have the right if this version decided. */
  keepsRight(version: Version): Promise<boolean>;
}

/** Refuses who may not; the decision on a person is on record like every other. Throws `access_denied`, `insufficient_scope`. */
export type GuardAdministration = (
  call: Pick<Call<unknown, Caller>, "caller" | "correlationId">,
  right: AdministrationRight,
) => Promise<Administrator>;

export interface GuardParts {
  readonly requirePair: RequirePair;
  readonly viewers: Viewers;
  readonly pepOf: (caller: Caller) => Pep;
  /** As it would decide if this version did. */
  readonly decideBy: (version: Version) => DecisionPoint;
  /** Client id of the decision point itself, which asks. */
  readonly self: string;
}

const changerOf = (caller: Caller, correlationId: string, decisionId?: string): Changer => ({
  subject: caller.sub,
  tenant: caller.tenant,
  kind: actorKindOf(caller),
  clientId: caller.clientId,
  acr: caller.acr,
  decisionId,
  correlationId,
});

/** A service needs the scope, a person the pair: a person's token may carry the scope too, but it opens nothing. */
export const createGuard =
  (parts: GuardParts): GuardAdministration =>
  async ({ caller, correlationId }, right) => {
    const seesDecisions = (): Promise<boolean> => parts.viewers.seesAll(parts.pepOf(caller));
    // Policies hold no pair for a service: without its scope there is nothing to decide.
    if (isService(caller)) {
      requireScope(caller, [scopes[right]]);
      return { by: changerOf(caller, correlationId), seesDecisions, keepsRight: async () => true };
    }
    const pair = { type: "policies", action: right };
    const { decisionId } = await parts.requirePair(caller, pair, correlationId);
    return {
      by: changerOf(caller, correlationId, decisionId),
      seesDecisions,
      keepsRight: async (version) => {
        const { verdicts } = await parts.decideBy(version).evaluateMany([askOfCaller(caller, parts.self, pair)], "execute_all");
        const [again] = verdicts;
        return again?.decision === true || again?.reason === "step_up_required";
      },
    };
  };
