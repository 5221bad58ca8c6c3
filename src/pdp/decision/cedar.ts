import { isLast } from "#pdp-client/point-answers.ts";
import { createYielding } from "#http/yielding.ts";
import type { Metrics } from "#telemetry/metrics.ts";
import type { Ask } from "#pdp/model/ask.ts";
import type { DecidedBatch, DecisionPoint, Verdict } from "#pdp/engine/decision-point.ts";
import type { DecisionCache } from "#pdp/engine/decision-cache.ts";
import type { Engine } from "#pdp/engine/engine.ts";
import type { Version } from "#pdp/engine/engines.ts";
import type { FactSource } from "#pdp/facts/fact-source.ts";
import { informAsks, type Informed } from "#pdp/facts/gather.ts";
import { createPlacing } from "./resolve.ts";
import type { Question } from "#pdp/model/question.ts";
import type { DecisionFacts } from "#pdp/model/decision-facts.ts";
import type { Approvals, CallApprovals } from "./approvals.ts";
import { answerOf, evaluate, withInputs, type Evaluation } from "#pdp/engine/evaluation.ts";
import { builtInVocabulary, type Vocabulary } from "#pdp/engine/vocabulary.ts";

export interface CedarParts {
  /** The version that decides now; taken once a call, so that no call sees two. */
  readonly engines: { current(): Version };
  /** What was judged before; without one the policies are asked each time. */
  readonly cache?: DecisionCache | undefined;
  readonly facts: FactSource;
  readonly decisions: DecisionFacts;
  /** What was approved; nothing unless given. */
  readonly approvals?: Approvals;
  /** Sallyport's own words unless given. */
  readonly vocabulary?: Vocabulary;
  readonly metrics: Metrics;
  readonly now: () => Date;
}

/** Milliseconds after which a batch lets others have a turn; the item under way then ends, and still all are within 8. */
const SLICE_MS = 6;

/** The embedded engine: gathers facts once a batch, asks Cedar for each item, names obligations and reasons. */
export const createCedar = (parts: CedarParts): DecisionPoint => {
  const { engines, metrics, now, vocabulary = builtInVocabulary } = parts;

  const place = createPlacing({ decisions: parts.decisions, vocabulary, mayBeApproved: true, now });
  const decideOne = async (
    informed: Informed,
    { version, engine }: Version,
    graphVersion: number,
    approvals: CallApprovals | undefined,
  ): Promise<Verdict> => {
    // A version that was written before the pair was known has no word for it.
    const placed = await place(informed, (pair) => engine.bundle.schema.actions.has(pair.key));
    if ("refused" in placed) return placed.refused;
    const { ask, question } = placed;
    const remembering = parts.cache?.over(engine, question, { version, graphVersion });
    const evaluation = evaluate(remembering?.engine ?? engine, question);
    const ruled = { ...verdictOf(ask, question, engine, evaluation), ...(remembering?.wasHit() === true ? { cached: true } : {}) };
    if (!ask.vouched.approval && !evaluation.requestable) return ruled;
    const bound = parts.approvals?.bind(ask, question, { version, engine });
    const binding = bound?.binding;
    const approval = binding === undefined ? undefined : await approvals?.find({ ask, question, binding, policyVersion: version });
    if (ask.vouched.approval && (approval === undefined || approval.id !== ask.vouched.approvalId))
      return { ...ruled, decision: false, reason: "approval_invalid", obligations: [], policies: [], errors: [], requestable: false };
    if (approval !== undefined && evaluation.requestable) {
      const lifted = withInputs(question, { approved: true });
      const verdict = verdictOf(ask, lifted, engine, evaluate(engine, lifted));
      if (!verdict.decision) return verdict;
      approvals?.use(approval);
      return { ...verdict, approval };
    }
    const template = evaluation.template === undefined ? undefined : engine.bundle.templates.get(evaluation.template);
    if (evaluation.template === undefined || template === undefined || bound === undefined) return ruled;
    // What nobody could be shown nobody is asked to approve.
    if (bound.call === null) return ruled;
    const call = bound.call === undefined ? {} : { call: bound.call };
    return { ...ruled, request: { name: evaluation.template, template, binding: bound.binding, ...call } };
  };

  const verdictOf = (ask: Ask, question: Question, engine: Engine, evaluation: Evaluation): Verdict => {
    if (evaluation.errors.length > 0) metrics.count("pdp_policy_errors_total", {}, evaluation.errors.length);
    return {
      ask,
      ...answerOf(evaluation, engine, question, ask.supported),
      policies: evaluation.policies,
      errors: evaluation.errors,
      requestable: evaluation.requestable,
      tenant: question.tenant,
      facts: question.facts,
      inputs: question.inputs,
      question,
    };
  };

  const evaluateMany: DecisionPoint["evaluateMany"] = async (asks, semantic): Promise<DecidedBatch> => {
    const current = engines.current();
    const approvals = parts.approvals?.begin();
    const started = performance.now();
    const { graphVersion, items } = await informAsks(asks, parts);
    metrics.observe("pdp_facts_seconds", {}, (performance.now() - started) / 1000);
    const verdicts: Verdict[] = [];
    const turn = createYielding(SLICE_MS);
    for (const informed of items) {
      const verdict = await decideOne(informed, current, graphVersion, approvals);
      verdicts.push(verdict);
      if (isLast(semantic, verdict)) break;
      const others = verdicts.length < items.length ? turn() : undefined;
      if (others !== undefined) await others;
    }
    const moment = parts.cache === undefined ? {} : { moment: `${current.version} ${graphVersion}` };
    return { policyVersion: current.version, graphVersion, ...moment, verdicts };
  };

  return {
    evaluateMany,
    policyVersion: () => engines.current().version,
    ready: async () => ((await parts.facts.ready()) ? [] : ["facts"]),
  };
};
