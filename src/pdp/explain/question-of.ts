import type { Facts } from "#contract/facts.ts";
import { pairOf } from "#pdp/pairs.ts";
import type { Question } from "#pdp/question.ts";
import type { Recorded } from "#pdp/records/record.ts";

/** The question behind a record, as far as it reached the policies. What was claimed is not kept, only that it was looked at. */
export const questionOf = (recorded: Recorded, facts: Facts | undefined): Question | undefined => {
  const { item } = recorded;
  const pair = pairOf(item.type, item.action === "tools/list" && item.type === "tool" ? "tools/call" : item.action);
  if (pair === undefined || facts?.subject === undefined || facts.subject === null || recorded.resourceId === undefined) return undefined;
  return {
    pair,
    resourceId: item.type === "secret" ? (recorded.resourceId.split("#", 1)[0] ?? recorded.resourceId) : recorded.resourceId,
    tenant: recorded.tenant,
    ...(recorded.agent === undefined ? {} : { agentId: recorded.agent }),
    facts: { ...facts, subject: facts.subject },
    inputs: item.inputs,
    props: {},
    claimed: {},
    ui: {},
  };
};

/** Reasons given before any policy was asked. */
const beforePolicies: ReadonlySet<string> = new Set([
  "subject_unresolved",
  "resource_unresolved",
  "resource_id_required",
  "unknown_action",
  "approval_invalid",
  "not_evaluated",
]);

export const reachedPolicies = (recorded: Recorded): boolean => !beforePolicies.has(recorded.item.reason ?? "");
