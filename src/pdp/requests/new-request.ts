import type { AccessRequestDraft } from "#contract/access-requests.ts";
import type { Facts } from "#contract/facts.ts";
import type { RequestTemplate } from "#pdp/bundle/named-files.ts";
import type { Recorded, StoredItem } from "#pdp/records/record.ts";
import type { NamedApprovers } from "./approvers.ts";
import type { NewRequest } from "./request-store.ts";

/** A request as it begins: pending, or failed where nobody is named who could answer it. */
export const newRequestOf = (from: {
  readonly id: string;
  readonly recorded: Recorded;
  /** What the denial lets be asked for. */
  readonly asked: NonNullable<StoredItem["request"]>;
  readonly template: RequestTemplate;
  readonly facts: Facts | undefined;
  readonly named: NamedApprovers;
  readonly requester: string;
  readonly draft: Pick<AccessRequestDraft, "justification">;
  readonly key: string;
  readonly bodyDigest: string;
  readonly at: Date;
}): NewRequest => {
  const { recorded, asked, template, facts, named, at } = from;
  const failed = named.persons.length === 0;
  return {
    id: from.id,
    tenant: recorded.tenant,
    subject: recorded.subject,
    subject_name: facts?.subject?.name ?? null,
    agents: asked.agents,
    agent_name: facts?.agent?.name ?? null,
    requester: from.requester,
    action: recorded.item.action,
    resource_type: recorded.item.type,
    resource_id: recorded.item.id ?? null,
    resource_ref: recorded.item.ref ?? null,
    evaluation_id: recorded.decision_id,
    policy_version: recorded.policy_version,
    act_digest: asked.binding.act,
    binding_digest: asked.binding.whole,
    definition: asked.binding.definition ?? null,
    delegation_id: asked.binding.delegationId ?? null,
    template: asked.template,
    approver_rule: template.approvers,
    approvers: named.approvers,
    told: named.persons,
    justification: from.draft.justification ?? null,
    status: failed ? "failed" : "pending",
    failure: failed ? "no_approver" : null,
    created_at: at.toISOString(),
    expires_at: new Date(at.getTime() + template.ttl_minutes * 60_000).toISOString(),
    valid_minutes: template.valid_minutes,
    single_use: template.single_use,
    idem_key: from.key,
    body_digest: from.bodyDigest,
  };
};
