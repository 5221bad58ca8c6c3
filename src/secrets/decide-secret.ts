import { Problem } from "#contract/problem.ts";
import type { ResourceRef } from "#events/resource-ref.ts";
import type { DecideAsk, Decider } from "#decide/decider.ts";
import type { Meetable } from "#decide/obligations.ts";
import { refuseSecret, type Asker } from "./asker.ts";
import { actionOf } from "./operations.ts";
import type { SecretNode } from "./providers/secret-provider.ts";
import type { SecretRef } from "./tenant-guard.ts";

export interface DecideParts {
  readonly decider: Decider;
  readonly resourceRef: ResourceRef | undefined;
}

/** The decision about the secret itself, and the ids of all nodes that were decided with it. */
export interface SecretPermit {
  /** Absent where nothing was decided: a place that is listed, each secret of which is. */
  readonly decisionId?: string;
  readonly nodes: ReadonlySet<string>;
}

const BATCH = 100;

const askOf = (asker: Asker, ref: SecretRef, node: SecretNode): DecideAsk => ({
  type: "secret",
  action: actionOf(asker.purpose),
  meets,
  id: node.id,
  properties: {
    tenant: ref.tenant,
    scheme: node.scheme,
    mount: node.mount,
    path: node.segments.join("/"),
    key: node.key,
    whole_map: node.key === undefined,
  },
  context: {
    caller_kind: asker.kind,
    tool: asker.tool,
    version: ref.version,
  },
});

/** Each read is decided anew, which is narrower than any grant. */
const meets: readonly Meetable[] = ["secret_grant"];

/**
 * Decides the secret and every node that would be touched; the first denial is the answer and names no node below.
 * Throws `secret_authz_failed`, `obligation_unsupported` (403), `step_up_required` (401), `decision_unavailable` (503).
 */
export const createSecretDecision = (parts: DecideParts) => {
  const require = async (
    asker: Asker,
    ref: SecretRef,
    nodes: readonly SecretNode[],
    correlationId: string,
    argument = "uri",
  ): Promise<SecretPermit> => {
    let decisionId: string | undefined;
    for (let start = 0; start < nodes.length; start += BATCH) {
      const asks = nodes.slice(start, start + BATCH).map((node) => askOf(asker, ref, node));
      const answers = await parts.decider.decideMany(asker.caller, asks, correlationId, "deny_on_first_deny");
      for (const decided of answers) {
        decisionId ??= decided.decisionId;
        const refusal = parts.decider.refusal(asker.caller, decided, { meets });
        if (refusal === undefined) continue;
        if (refusal.code === "step_up_required") throw refusal;
        if (refusal.options.members?.["reason"] === "obligation_unsupported")
          throw new Problem("obligation_unsupported", { members: { decision_id: decided.decisionId } });
        throw refuseSecret(argument, asker.purpose, {
          decisionId: decided.decisionId,
          ...(parts.resourceRef === undefined ? {} : { resourceRef: parts.resourceRef(ref.tenant, ref) }),
        });
      }
      if (answers.length !== asks.length)
        throw new Problem("decision_unavailable", { cause: "fewer answers than questions, and no denial" });
    }
    if (decisionId === undefined) throw new Problem("decision_unavailable", { cause: "nothing was decided" });
    return { decisionId, nodes: new Set(nodes.map((node) => node.id)) };
  };

  /** Ids of those that the asker is permitted; of the others nothing is said. */
  const filter = async (
    asker: Asker,
    ref: SecretRef,
    nodes: readonly SecretNode[],
    correlationId: string,
  ): Promise<ReadonlySet<string>> => {
    const answers = await parts.decider.decideMany(
      asker.caller,
      nodes.map((node) => askOf(asker, ref, node)),
      correlationId,
    );
    if (answers.length !== nodes.length) throw new Problem("decision_unavailable", { cause: "fewer answers than questions" });
    const permitted = nodes.filter((_node, at) => {
      const decided = answers[at];
      return decided !== undefined && parts.decider.refusal(asker.caller, decided, { meets }) === undefined;
    });
    return new Set(permitted.map((node) => node.id));
  };
  return { require, filter };
};
