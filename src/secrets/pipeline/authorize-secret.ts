import { Problem } from "#contract/problem.ts";
import type { EvaluationQuery } from "#pdp-client/pdp-client.ts";
import { meetsAt, type Decision } from "#pdp-client/obligations.ts";
import type { SecretsContext } from "./secrets-context.ts";
import { refuseSecret, type SecretRequester } from "./requester.ts";
import { actionOf } from "#contract/secret-operations.ts";
import type { ReadSecret, SecretNode } from "#secrets/providers/secret-provider.ts";
import { formatPrefix } from "#secrets/model/secret-uri.ts";
import type { SecretRef } from "#secrets/model/tenant-guard.ts";

/** The decision about the secret itself, and the ids of all nodes that were decided with it. */
export interface SecretPermit {
  /** Absent where nothing was decided: a place that is listed, each secret of which is. */
  readonly decisionId?: string;
  readonly nodes: ReadonlySet<string>;
}

/** What was read must have been decided, node by node: the file may have grown in between. Throws `busy` (503). */
export const requireDecided = <R extends ReadSecret>(read: R, { nodes }: SecretPermit): R => {
  if (!read.nodes.every((node) => nodes.has(node.id))) throw new Problem("busy", { detail: "The secret changed after the decision." });
  return read;
};

const BATCH = 100;

const askOf = (requester: SecretRequester, ref: SecretRef, node: SecretNode, owner: string | undefined): EvaluationQuery => ({
  type: "secret",
  action: actionOf(requester.purpose),
  meets,
  id: node.id,
  properties: {
    tenant: ref.tenant,
    scheme: node.scheme,
    mount: node.mount,
    path: node.segments.join("/"),
    key: node.key,
    whole_map: node.key === undefined,
    platform: ref.isPlatform === true,
    owner,
  },
  context: {
    caller_kind: requester.kind,
    tool: requester.tool,
    version: ref.version,
  },
});

/** What would change a denial; the decision's own page computes the exact change. */
const remedies: Readonly<Record<string, string>> = {
  not_granted: "An administrator does it, or grants the secret to a group that may; the decision's page computes the smallest change.",
  resource_unresolved: "Nothing in the identity graph stands for this secret: an administrator makes its Resource node.",
  subject_unresolved: "The identity graph does not know who asks: an administrator adds or links them.",
  forbidden: "A policy forbids it; the decision's page names the policy.",
  approval_required: "Ask for an approval on the decision's page.",
};

const meets = meetsAt<"secrets">({ secret_grant: "Each read is decided anew, which is narrower than any grant." });

/**
 * Decides the secret and every node that would be touched; the first denial is the answer and names no node below.
 * Throws `secret_authz_failed`, `obligation_unsupported` (403), `step_up_required` (401), `decision_unavailable` (503).
 */
export const createSecretDecision = (parts: Pick<SecretsContext, "pdpClient" | "resourceRef" | "changes">) => {
  /** Why, for whom may have this decision explained: policies and graph tell more than the refused need know. */
  const whyOf = async (
    requester: SecretRequester,
    { decisionId, reason }: Decision,
    correlationId: string,
  ): Promise<{ reason?: string; remedy?: string }> => {
    if (reason === undefined) return {};
    const explain = { type: "decisions", action: "explain", id: decisionId, context: { showing: true } } as const;
    const answer = await parts.pdpClient.decide(requester.caller, explain, correlationId).catch(() => undefined);
    if (answer === undefined || parts.pdpClient.refusal(requester.caller, answer) !== undefined) return {};
    return { reason, remedy: remedies[reason] };
  };
  /** With whose they are said to be, which Sallyport keeps beside their stores. */
  const asksOf = async (requester: SecretRequester, ref: SecretRef, nodes: readonly SecretNode[]): Promise<readonly EvaluationQuery[]> => {
    const owners = await parts.changes.ownersOf(ref.tenant, [...new Set(nodes.map(formatPrefix))]);
    return nodes.map((node) => askOf(requester, ref, node, owners.get(formatPrefix(node))));
  };
  const require = async (
    requester: SecretRequester,
    ref: SecretRef,
    nodes: readonly SecretNode[],
    correlationId: string,
    argument = "uri",
    /** Told by which policies, of a denial too. */
    reported: (by: { readonly policyVersion: string }) => void = () => {},
  ): Promise<SecretPermit> => {
    let decisionId: string | undefined;
    for (let start = 0; start < nodes.length; start += BATCH) {
      const asks = await asksOf(requester, ref, nodes.slice(start, start + BATCH));
      const answers = await parts.pdpClient.decideMany(requester.caller, asks, correlationId, "deny_on_first_deny");
      for (const decided of answers) {
        decisionId ??= decided.decisionId;
        if (decided.policyVersion !== undefined) reported({ policyVersion: decided.policyVersion });
        const refusal = parts.pdpClient.refusal(requester.caller, decided, { meets });
        if (refusal === undefined) continue;
        if (refusal.code === "step_up_required") throw refusal;
        if (refusal.options.members?.["reason"] === "obligation_unsupported")
          throw new Problem("obligation_unsupported", { members: { decision_id: decided.decisionId } });
        throw refuseSecret(argument, requester.purpose, {
          decision_id: decided.decisionId,
          resource_ref: parts.resourceRef?.(ref.tenant, ref),
          ...(await whyOf(requester, decided, correlationId)),
        });
      }
      if (answers.length !== asks.length)
        throw new Problem("decision_unavailable", { cause: "fewer answers than questions, and no denial" });
    }
    if (decisionId === undefined) throw new Problem("decision_unavailable", { cause: "nothing was decided" });
    return { decisionId, nodes: new Set(nodes.map((node) => node.id)) };
  };

  /** Ids of those that the caller is permitted; of the others nothing is said. */
  const filter = async (
    requester: SecretRequester,
    ref: SecretRef,
    nodes: readonly SecretNode[],
    correlationId: string,
  ): Promise<ReadonlySet<string>> => {
    const answers = await parts.pdpClient.decideMany(requester.caller, await asksOf(requester, ref, nodes), correlationId);
    if (answers.length !== nodes.length) throw new Problem("decision_unavailable", { cause: "fewer answers than questions" });
    const permitted = nodes.filter((_node, at) => {
      const decided = answers[at];
      return decided !== undefined && parts.pdpClient.refusal(requester.caller, decided, { meets }) === undefined;
    });
    return new Set(permitted.map((node) => node.id));
  };
  return { require, filter };
};
