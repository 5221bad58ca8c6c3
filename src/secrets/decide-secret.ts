import { Problem } from "#contract/problem.ts";
import { isFreshlyStrong } from "#authn/caller.ts";
import type { ResourceRef } from "#events/resource-ref.ts";
import { refusalOf, type DecideAsk, type Decided, type Decider } from "#pdp/decide.ts";
import { refuseSecret, type Asker } from "./asker.ts";
import { actionOf } from "./operations.ts";
import type { SecretNode } from "./providers/secret-provider.ts";
import type { SecretRef } from "./tenant-guard.ts";

export interface DecideParts {
  readonly decider: Decider;
  readonly resourceRef: ResourceRef | undefined;
  readonly publicOrigin: string;
  readonly now: () => Date;
}

/** The decision about the secret itself, and the ids of all nodes that were decided with it. */
export interface SecretPermit {
  readonly decisionId: string;
  readonly nodes: ReadonlySet<string>;
}

const BATCH = 100;

const askOf = (asker: Asker, ref: SecretRef, node: SecretNode): DecideAsk => ({
  type: "secret",
  action: actionOf(asker.purpose),
  id: node.id,
  properties: {
    tenant: ref.tenant,
    scheme: node.scheme,
    mount: node.mount,
    path: node.segments.join("/"),
    ...(node.key === undefined ? {} : { key: node.key }),
    whole_map: node.key === undefined,
  },
  context: {
    caller_kind: asker.kind,
    ...(asker.tool === undefined ? {} : { tool: asker.tool }),
    ...(ref.version === undefined ? {} : { version: ref.version }),
  },
});

/** A permit may ask for more than it says; what this service cannot meet is a denial. */
const requireObligations = (decided: Decided, asker: Asker, parts: DecideParts): void => {
  for (const obligation of decided.obligations) {
    if (obligation.id === "mfa" || obligation.type === "step-up") {
      if (!isFreshlyStrong(asker.caller, parts.now())) throw refusalOf({ ...decided, reason: "step_up_required" }, parts.publicOrigin);
    } else if (obligation.id !== "secret-grant") {
      // Each read is decided anew, which is narrower than any grant.
      throw new Problem("obligation_unsupported", { members: { decision_id: decided.decisionId } });
    }
  }
};

/**
 * Decides the secret and every node that would be touched; the first denial is the answer and names no node below.
 * Throws `secret_authz_failed`, `obligation_unsupported` (403), `step_up_required` (401), `decision_unavailable` (503).
 */
export const createSecretDecision =
  (parts: DecideParts) =>
  async (asker: Asker, ref: SecretRef, nodes: readonly SecretNode[], correlationId: string): Promise<SecretPermit> => {
    let decisionId: string | undefined;
    for (let start = 0; start < nodes.length; start += BATCH) {
      const asks = nodes.slice(start, start + BATCH).map((node) => askOf(asker, ref, node));
      const answers = await parts.decider.decideMany(asker.caller, asks, correlationId, "deny_on_first_deny");
      for (const decided of answers) {
        decisionId ??= decided.decisionId;
        if (decided.decision) requireObligations(decided, asker, parts);
        else if (decided.reason === "step_up_required") throw refusalOf(decided, parts.publicOrigin);
        else {
          throw refuseSecret("uri", asker.purpose, {
            decisionId: decided.decisionId,
            ...(parts.resourceRef === undefined ? {} : { resourceRef: parts.resourceRef(ref.tenant, ref) }),
          });
        }
      }
      if (answers.length !== asks.length)
        throw new Problem("decision_unavailable", { cause: "fewer answers than questions, and no denial" });
    }
    if (decisionId === undefined) throw new Problem("decision_unavailable", { cause: "nothing was decided" });
    return { decisionId, nodes: new Set(nodes.map((node) => node.id)) };
  };
