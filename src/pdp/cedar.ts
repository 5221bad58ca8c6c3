import { setImmediate as nextTurn } from "node:timers/promises";
import type { Metrics } from "#telemetry/metrics.ts";
import type { Ask, Decided, DecisionPoint, Verdict } from "./decision-point.ts";
import type { CacheMoment, DecisionCache } from "./decision-cache.ts";
import type { Engine } from "./engine.ts";
import type { Engines } from "./engines.ts";
import type { FactSource } from "./fact-source.ts";
import { informAsks, type Informed } from "./gather.ts";
import { areSupported, makeObligations } from "./obligations.ts";
import { createPlacing } from "./placing.ts";
import type { Question } from "./question.ts";
import type { DecisionFacts } from "./records/decision-facts.ts";
import { ruleOn } from "./ruling.ts";
import { houseVocabulary, type Vocabulary } from "./vocabulary.ts";

export interface CedarParts {
  /** The version that decides now; taken once a call, so that no call sees two. */
  readonly engines: Pick<Engines, "current">;
  /** What was judged before; without one the policies are asked each time. */
  readonly cache?: DecisionCache;
  readonly facts: FactSource;
  readonly decisions: DecisionFacts;
  /** The house's own words unless given. */
  readonly vocabulary?: Vocabulary;
  readonly metrics: Metrics;
  readonly now: () => Date;
}

/** Milliseconds after which a batch lets others have a turn; the item under way then ends, and still all are within 8. */
const SLICE_MS = 6;

/** The embedded engine: gathers facts once a batch, asks Cedar for each item, names obligations and reasons. */
export const createCedar = (parts: CedarParts): DecisionPoint => {
  const { engines, metrics, now, vocabulary = houseVocabulary } = parts;

  const place = createPlacing({ decisions: parts.decisions, vocabulary, now });
  const decideOne = async (informed: Informed, engine: Engine, moment: CacheMoment): Promise<Verdict> => {
    // A version that was written before the pair was known has no word for it.
    const placed = await place(informed, (pair) => engine.bundle.schema.actions.has(pair.key));
    if ("refused" in placed) return placed.refused;
    const { ask, tenant, question } = placed;
    const remembering = parts.cache?.over(engine, question, moment);
    const verdict = verdictOf(ask, tenant, question, remembering?.engine ?? engine);
    return remembering?.wasHit() === true ? { ...verdict, cached: true } : verdict;
  };

  const verdictOf = (ask: Ask, tenant: string, question: Question, engine: Engine): Verdict => {
    const ruling = ruleOn(engine, question);
    if (ruling.errors.length > 0) metrics.count("pdp_policy_errors_total", {}, ruling.errors.length);
    const obligations = makeObligations(ruling.obligations, engine.bundle, question.facts);
    const unmet = ruling.permit && !areSupported(obligations, ask.supported);
    return {
      ask,
      decision: ruling.permit && !unmet,
      ...(unmet ? { reason: "obligation_unsupported" as const } : ruling.reason === undefined ? {} : { reason: ruling.reason }),
      obligations,
      policies: ruling.policies,
      errors: ruling.errors,
      requestable: ruling.requestable,
      tenant,
      facts: question.facts,
      inputs: question.inputs,
      question,
    };
  };

  const evaluateMany: DecisionPoint["evaluateMany"] = async (asks, semantic): Promise<Decided> => {
    const { version, engine } = engines.current();
    const started = performance.now();
    const { graphVersion, items } = await informAsks(asks, parts);
    metrics.observe("pdp_facts_seconds", {}, (performance.now() - started) / 1000);
    const verdicts: Verdict[] = [];
    let sliceStarted = performance.now();
    for (const informed of items) {
      const verdict = await decideOne(informed, engine, { version, graphVersion });
      verdicts.push(verdict);
      if (semantic === "deny_on_first_deny" && !verdict.decision) break;
      if (semantic === "permit_on_first_permit" && verdict.decision) break;
      if (performance.now() - sliceStarted >= SLICE_MS) {
        await nextTurn();
        sliceStarted = performance.now();
      }
    }
    return { policyVersion: version, graphVersion, verdicts };
  };

  return {
    evaluate: (ask) => evaluateMany([ask], "execute_all"),
    evaluateMany,
    describe: () => {
      const { version, engine } = engines.current();
      return { kind: "cedar", policyVersion: version, obligations: [...engine.bundle.obligations.keys()] };
    },
    ready: async () => ((await parts.facts.ready()) ? [] : ["facts"]),
  };
};
