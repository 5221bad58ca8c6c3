import { setImmediate as nextTurn } from "node:timers/promises";
import type { Remedy } from "#contract/decisions.ts";
import type { Engine } from "#pdp/engine/engine.ts";
import { pairs, type Pair } from "#pdp-client/pairs.ts";
import type { Question } from "#pdp/model/question.ts";
import type { Candidate } from "./candidate.ts";
import { candidatesFor } from "./candidates.ts";
import type { LookElsewhere } from "./opened-elsewhere.ts";

const MAX_TRIALS = 200;
const SHOWN = 3;
const SAMPLE = 5;
/** Trials between two turns of the event loop. */
const PER_TURN = 20;

interface Found {
  readonly steps: readonly Candidate[];
  readonly cost: number;
  readonly question: Question;
}

export interface RemedyFound {
  readonly remedy: Remedy;
  /** Policies that would permit after the cheapest change. */
  readonly wouldPermit: readonly string[];
}

const costOf = (steps: readonly Candidate[]): number => steps.reduce((sum, step) => sum + step.cost, 0);
const textOf = (steps: readonly Candidate[]): string => steps.map((step) => step.step.text).join("; ");
const byCost = (a: readonly Candidate[], b: readonly Candidate[]): number => costOf(a) - costOf(b) || (textOf(a) < textOf(b) ? -1 : 1);

const pairsOf = (candidates: readonly Candidate[]): readonly (readonly Candidate[])[] =>
  candidates.flatMap((first, index) => candidates.slice(index + 1).map((second) => [first, second]));

/**
 * The smallest changes that would permit a denied question: sets of one, then of two candidates, by cost and text, each decided by
 * the engine on the recorded facts. At most 200 trials; `complete` says that none of these sets was left out. Policies
 * that read what the subject claimed cannot be asked again, for claims are not kept: those that did not refuse then are
 * left out now, those that did stay.
 */
export const findRemedy = async (
  question: Question,
  engine: Engine,
  decidedBy: readonly string[],
  joinable: ReadonlySet<string>,
  lookElsewhere: LookElsewhere | undefined,
): Promise<RemedyFound> => {
  const omit = new Set(
    engine
      .slice(question.pair.key)
      .policies.filter(({ id, effect, reads }) => effect === "forbid" && reads.context.has("claimed") && !decidedBy.includes(id))
      .map(({ id }) => id),
  );
  const candidates = candidatesFor(question, engine, joinable);
  const found: Found[] = [];
  let trials = 0;
  let blocked: Set<string> | undefined;
  const sets = [...candidates.map((candidate) => [candidate]).toSorted(byCost), ...pairsOf(candidates).toSorted(byCost)];
  let skipped = false;
  for (const steps of sets) {
    // What a smaller set already does is no further way, and what is dearer than all that will be shown need not be known.
    if (found.some((known) => known.steps.every((step) => steps.includes(step)))) continue;
    const dearest = found.toSorted((a, b) => a.cost - b.cost)[SHOWN - 1]?.cost;
    if (dearest !== undefined && costOf(steps) > dearest) continue;
    if (trials >= MAX_TRIALS) {
      skipped = true;
      break;
    }
    trials += 1;
    const changed = steps.reduce((asked, step) => step.apply(asked), question);
    const judgement = engine.judge(changed, omit);
    if (judgement.permit) found.push({ steps, cost: costOf(steps), question: changed });
    else {
      const forbids = judgement.policies;
      blocked = blocked === undefined ? new Set(forbids) : new Set([...blocked].filter((id) => forbids.includes(id)));
    }
    if (trials % PER_TURN === 0) await nextTurn();
  }
  const best = found.toSorted((a, b) => byCost(a.steps, b.steps)).slice(0, SHOWN);
  const wouldPermit = best[0] === undefined ? [] : engine.judge(best[0].question, omit).policies;
  const changes = [];
  for (const { steps, cost } of best) {
    const lasting = steps.filter((step) => step.thisActAlone !== true);
    const here = await alsoOpened(question, lasting, engine);
    // The graph may be away, or have changed so that the step cannot be taken any more: the rest of the remedy stands.
    const elsewhere = await lookElsewhere?.(question, lasting, engine).catch(() => ({ opened: [], more: true }));
    const opened = [...here, ...(elsewhere?.opened ?? [])];
    changes.push({
      steps: steps.flatMap(({ first, step }) => (first === undefined ? [step] : [first, step])),
      cost,
      also_allows: opened.length,
      // Nor is it known what else a first step opens.
      ...(elsewhere?.more === true || steps.some(({ first }) => first !== undefined) ? { also_allows_more: true as const } : {}),
      sample: [...new Set(opened.map((pair) => `${pair.type}/${pair.action}`))].slice(0, SAMPLE),
    });
  }
  const blockedBy = found.length > 0 ? [] : [...(blocked ?? new Set(engine.judge(question, omit).policies))];
  return { remedy: { complete: !skipped, changes, blocked_by: blockedBy.toSorted() }, wouldPermit };
};

/**
 * What else the change would open to the subject: every pair that is asked of a whole collection, and those of this very
 * resource. What it opens of other things only the graph can say. An approval binds one act, so neither the one that is
 * proposed nor one that held already counts for the others.
 */
const alsoOpened = async (question: Question, lasting: readonly Candidate[], engine: Engine): Promise<readonly Pair[]> => {
  const others = pairs.filter(
    (pair) =>
      pair.key !== question.pair.key &&
      engine.bundle.schema.actions.has(pair.key) &&
      (pair.of === "all" || (pair.entity === question.pair.entity && question.facts.resource !== null)),
  );
  if (lasting.length === 0) return [];
  const { agentId: _agent, ...direct } = question;
  const opened: Pair[] = [];
  for (const [index, pair] of others.entries()) {
    if (index % PER_TURN === 0) await nextTurn();
    const variants =
      question.agentId === undefined ? [direct] : [question, { ...direct, facts: { ...direct.facts, agent: null, delegation: null } }];
    const opens = variants.some((variant) => {
      const asked: Question = {
        ...variant,
        pair,
        inputs: { ...variant.inputs, approved: false, could: false },
        ...(pair.of === "all" ? { resourceId: "*", facts: { ...variant.facts, resource: null } } : {}),
      };
      // Most stay shut: that is asked first.
      return engine.judge(lasting.reduce((held, step) => step.apply(held), asked)).permit && !engine.judge(asked).permit;
    });
    if (opens) opened.push(pair);
  }
  return opened;
};
