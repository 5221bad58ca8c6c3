import { reasons, type EvaluationReply, type Obligation, type Reason } from "#contract/authzen.ts";
import { Problem } from "#contract/problem.ts";
import { isWellFormed } from "#pdp/bundle/obligation-kinds.ts";
import type { Ask } from "#pdp/model/ask.ts";
import { bareVerdict, type Verdict } from "#pdp/engine/decision-point.ts";
import { areSupported, dataScopeOf, joinObligations } from "#pdp/engine/obligations.ts";
import { isBuiltInTool } from "#pdp-client/pairs.ts";
import { isViaAgent, type Question } from "#pdp/model/question.ts";
import { lackingOf } from "#pdp/engine/evaluation.ts";

const MAX_OBLIGATIONS = 16;
const known: ReadonlySet<string> = new Set(reasons);

type Outcome = Parameters<typeof bareVerdict>[1];

export const verdictOf = (ask: Ask, tenant: string, question: Question, outcome: Outcome): Verdict =>
  bareVerdict({ ask, tenant, facts: question.facts, inputs: question.inputs }, outcome);

/**
 * What no other decision point is asked about, because the graph alone says no: a disabled identity, an agent that
 * reaches beyond tools, and its tool call beyond its delegation.
 */
export const floorOf = (question: Question, isInAgentReach: (pair: string) => boolean): Reason | undefined => {
  const { subject, agent } = question.facts;
  if (subject.disabled || agent?.disabled === true) return "forbidden";
  // The agent that was named is nobody.
  if (question.agentId !== undefined && agent === null) return "delegation_required";
  if (!isViaAgent(question)) return undefined;
  return isInAgentReach(question.pair.key) ? lackingOf(question) : "forbidden";
};

/** An obligation of Sallyport's own kinds has their form, or the answer is not to be believed. */
const checkedObligations = (sent: readonly Obligation[]): readonly Obligation[] => {
  if (sent.length > MAX_OBLIGATIONS) throw new Problem("pdp_bad_answer", { cause: "too many obligations" });
  for (const one of sent)
    if (isWellFormed(one) === false) throw new Problem("pdp_bad_answer", { cause: { obligation: one.id.slice(0, 64) } });
  return sent;
};

/** Of an obligation that Sallyport does not know, nobody knows how to meet it, unless the enforcement point names it itself. */
const isMeetable = (one: Obligation, ask: Ask): boolean =>
  isWellFormed(one) === true ||
  (ask.supported !== "all" && one.type !== "custom" && areSupported([one], ask.supported)) ||
  (ask.supported !== "all" && ask.supported.has(String(one.properties?.["kind"])));

/**
 * What the answer means here. A tool's rows stay within the subject's data scope whoever decides; an obligation that cannot
 * be met makes a permit a denial; a reason that is not one of ours is `not_granted`. Throws `pdp_bad_answer`.
 */
export const readVerdict = (ask: Ask, tenant: string, question: Question, reply: EvaluationReply): Verdict => {
  // The question was ours, so an error about it is the decision point's own failure.
  if (reply.context?.error !== undefined) throw new Problem("pdp_bad_answer", { cause: reply.context.error });
  const sent = checkedObligations(reply.context?.obligations ?? []);
  if (!reply.decision) {
    const reason = reply.context?.reason;
    return verdictOf(ask, tenant, question, {
      decision: false,
      reason: reason !== undefined && known.has(reason) ? (reason as Reason) : "not_granted",
      obligations: joinObligations(sent.filter((one) => isWellFormed(one) === true)),
    });
  }
  const isData = question.pair.entity === "Tool" && !isBuiltInTool(question.pair, question.resourceId);
  const obligations = joinObligations([...(isData ? [dataScopeOf(question.facts)] : []), ...sent]);
  const unmet =
    !areSupported(
      obligations.filter((one) => isWellFormed(one) === true),
      ask.supported,
    ) || !obligations.every((one) => isMeetable(one, ask));
  return verdictOf(ask, tenant, question, {
    decision: !unmet,
    reason: unmet ? "obligation_unsupported" : undefined,
    obligations: unmet ? [] : obligations,
  });
};
