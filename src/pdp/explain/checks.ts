import type { DecisionRecord } from "#contract/decisions.ts";
import { usdText } from "#contract/ids.ts";
import type { Policy } from "#pdp/bundle/policies.ts";
import { isViaAgent, type Question } from "#pdp/model/question.ts";
import { lackingOf } from "#pdp/engine/evaluation.ts";
import type { Recorded } from "#pdp/records/record.ts";
import { sourceOf } from "./check-source.ts";

type Check = NonNullable<DecisionRecord["checks"]>[number];

/** What each check of an agent's call is called when it is the one that fails. */
const failing = {
  delegation_required: "delegation",
  delegation_inactive: "delegation",
  capability_missing: "capability",
  chain_not_eligible: "chain",
  steps_exhausted: "steps",
  budget_exhausted: "budget",
} as const;

/** What an agent's call is held against: whether it holds whatever the ones before it say, and what was looked at. */
const agentChecks = ({ facts, inputs, resourceId }: Question) => {
  const { delegation } = facts;
  const apps = facts.resource?.attributes["requires"];
  const left = delegation?.budget_left_micro_usd ?? 0;
  return {
    delegation: { holds: delegation?.active === true, input: delegation === null ? "none" : `${delegation.id} ${delegation.status}` },
    capability: { holds: facts.capability, input: `${facts.agent?.id ?? "agent"} ${resourceId}` },
    chain: { holds: facts.chain, input: Array.isArray(apps) && apps.length > 0 ? apps.join(", ") : "no application needed" },
    steps: {
      holds: inputs.could || (delegation?.steps_left ?? 0) > 0,
      input: delegation === null ? "none" : `${delegation.steps_left} left`,
    },
    budget: {
      holds: inputs.could || (delegation !== null && left >= inputs.cost_micro),
      input: delegation === null ? "none" : `${usdText(BigInt(left))} USD left, ${usdText(BigInt(inputs.cost_micro))} needed`,
    },
  };
};

/** What stands in for policies where none of ours decided. */
const undecidedBy = ({ policy_version: version }: Recorded): string =>
  version.startsWith("remote:") ? `decided by ${version.slice("remote:".length)}` : "no policy permits it";

/**
 * The checks of a decision in their order, each with what it looked at and, where a policy asks for it, which line does. `deciding`: the
 * policies that decided, and those that would have; `ofAction`: all that can apply.
 */
export const checksOf = (
  recorded: Recorded,
  question: Question | undefined,
  deciding: readonly Policy[],
  ofAction: readonly Policy[],
): readonly Check[] => {
  const { item } = recorded;
  const checks: Check[] = [{ name: "subject", outcome: item.reason === "subject_unresolved" ? "fail" : "pass", input: recorded.subject }];
  const isCall = question !== undefined && question.pair.entity === "Tool" && isViaAgent(question);
  const lacking = question === undefined ? undefined : lackingOf(question);
  const names = ["delegation", "capability", "chain", "steps", "budget"] as const;
  if (isCall) {
    const held = agentChecks(question);
    const first = lacking !== undefined && lacking in failing ? failing[lacking as keyof typeof failing] : undefined;
    const reached = first === undefined ? names.length : names.indexOf(first);
    for (const [index, name] of names.entries()) {
      // Without a live delegation nothing behind it can be told apart.
      const outcome = index > reached && first === "delegation" ? "skipped" : held[name].holds ? "pass" : "fail";
      checks.push({ name, outcome, input: held[name].input });
    }
  } else for (const name of names) checks.push({ name, outcome: "skipped" });
  const stepUp = item.reason === "step_up_required" ? "fail" : item.inputs.could ? "depends" : item.inputs.mfa ? "pass" : "skipped";
  checks.push({ name: "step-up", outcome: stepUp, input: item.inputs.mfa ? "strong sign-in, fresh" : "no fresh strong sign-in" });
  checks.push({
    name: "policy",
    outcome: item.decision ? "pass" : "fail",
    input: item.policies.length > 0 ? item.policies.join(", ") : undecidedBy(recorded),
  });
  const scope = item.obligations.find((obligation) => obligation.id === "data-scope")?.properties?.["row_filter_sql"];
  checks.push({
    name: "data-scope",
    outcome: typeof scope === "string" ? "pass" : "skipped",
    ...(typeof scope === "string" ? { input: scope } : {}),
  });
  return checks.map((check) => {
    const source = sourceOf(check, deciding, ofAction);
    return source === undefined ? check : { ...check, source };
  });
};
