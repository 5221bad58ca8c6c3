import type { Recorded } from "#pdp/records/record.ts";

/** Why, in words for people, by reason. */
const because: Readonly<Record<string, string>> = {
  subject_unresolved: "nobody of that name is known here",
  resource_unresolved: "there is no such thing here",
  resource_id_required: "the question did not say which one",
  unknown_action: "no policy knows this action",
  forbidden: "a policy forbids it",
  delegation_required: "no person has delegated anything to this agent",
  delegation_inactive: "the delegation is paused, revoked or over",
  capability_missing: "the delegation does not cover this tool",
  chain_not_eligible: "an application that the tool needs is not within reach",
  steps_exhausted: "the delegation has no steps left",
  budget_exhausted: "the delegation's budget does not suffice",
  definition_drifted: "the tool's definition is not the approved one",
  step_up_required: "it needs a stronger or fresher sign-in",
  approval_required: "it needs an approval",
  approval_invalid: "the approval that was named does not fit",
  obligation_unsupported: "the service that asked cannot meet what a policy demands",
  not_granted: "nothing grants it",
  not_evaluated: "an earlier answer made it needless to ask",
};

const verbs: Readonly<Record<string, string>> = {
  view_all: "list",
  "tools/call": "call",
  "tools/list": "list",
  update_salary: "set the salary of",
};

/** Acts that do not read as a verb and its object. */
const phrases: Readonly<Record<string, string>> = {
  "streams/activity": "follow the live activity",
  "streams/config": "follow live changes",
  "streams/workflow": "follow workflows live",
  "employee/update_salary": "set the salary of an employee",
};

/** What was to be done to what, e.g. `view pages operations`; a secret is not named. */
export const actOf = ({ action, type, id }: { readonly action: string; readonly type: string; readonly id?: string }): string => {
  const what = type === "secret" ? "a secret" : id === undefined || id === "*" ? type : `${type} ${id}`;
  const phrase = id === undefined || id === "*" ? phrases[`${type}/${action}`] : undefined;
  return phrase ?? `${verbs[action] ?? action.replaceAll("_", " ")} ${what}`;
};

/** One sentence that says who may or may not do what, and why not. */
export const sentenceOf = (recorded: Recorded, nameOf: (id: string) => string): string => {
  const { item } = recorded;
  const who = nameOf(recorded.subject);
  const through = recorded.agent === undefined ? "" : ` through ${nameOf(recorded.agent)}`;
  if (item.decision) return `${who}${through} may ${actOf(item)}.`;
  return `${who}${through} may not ${actOf(item)}: ${because[item.reason ?? ""] ?? "it is denied"}.`;
};
