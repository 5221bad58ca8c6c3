import type { Facts } from "#contract/facts.ts";
import type { Engine } from "#pdp/engine/engine.ts";
import { pairOf } from "#pdp-client/pairs.ts";
import type { Question } from "#pdp/model/question.ts";
import type { Recorded } from "#pdp/records/record.ts";
import type { Vocabulary } from "#pdp/engine/vocabulary.ts";

/** The question behind a record, as far as it reached the policies. What was claimed is not kept, only that it was looked at. */
export const questionOf = (
  recorded: Recorded,
  facts: Facts | undefined,
  words: Pick<Vocabulary, "pairOf"> = { pairOf },
): Question | undefined => {
  const { item } = recorded;
  const pair = words.pairOf(item.type, item.action === "tools/list" && item.type === "tool" ? "tools/call" : item.action);
  if (pair === undefined || facts?.subject === undefined || facts.subject === null || recorded.resourceId === undefined) return undefined;
  return {
    pair,
    resourceId: item.type === "secret" ? (recorded.resourceId.split("#", 1)[0] ?? recorded.resourceId) : recorded.resourceId,
    tenant: recorded.tenant,
    agentId: recorded.agent,
    facts: { ...facts, subject: facts.subject },
    inputs: item.inputs,
    props: {},
    claimed: {},
    ui: {},
  };
};

/** Members of the context that were sent with a question and are kept only as a digest. */
const notKept = ["props", "claimed", "ui", "said_of_subject", "said_of_action"] as const;

/** Those of them that are not the resource's own. */
export const sentButProperties: readonly string[] = notKept.filter((name) => name !== "props");

/** True: policies of the question read what was sent with it and is not kept, so that it cannot be asked again as it was. */
export const readsNotKept = (
  { item }: Recorded,
  { pair }: Question,
  engine: Engine,
  emptyContext: string,
  members: readonly string[] = notKept,
): boolean => {
  if (item.context === emptyContext) return false;
  const { context } = engine.slice(pair.key);
  return members.some((member) => context.has(member));
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
