import type { Reason } from "#contract/authzen.ts";
import { strongSignIn } from "#authn/model/caller.ts";
import type { Ask } from "#pdp/model/ask.ts";
import type { Policy } from "#pdp/bundle/policies.ts";
import type { Verdict } from "./decision-point.ts";
import type { Engine, Judgement } from "./engine.ts";
import { areSupported, makeObligations } from "./obligations.ts";
import { isViaAgent, standingOf, type Question } from "#pdp/model/question.ts";

/** What the policies say, and what a denial is called. */
export interface Evaluation extends Judgement {
  /** Of a denial. */
  readonly reason?: Reason;
  /** An approval alone would permit it. */
  readonly requestable: boolean;
  /** Of a requestable denial: the template of the policy whose condition the approval would meet, if one is named. */
  readonly template?: string;
  /** Ids out of the bundle's obligations. */
  readonly obligations: readonly string[];
}

/** What of a ruling is answered to who can meet these obligations: a permit that obliges to another is a denial. */
export const answerOf = (
  { permit, reason, obligations: names }: Evaluation,
  engine: Engine,
  question: Question,
  supported: Ask["supported"],
): Pick<Verdict, "decision" | "reason" | "obligations"> => {
  const obligations = makeObligations(names, engine.bundle, question.facts);
  // What a permit would oblige to is nothing to a denial: who cannot keep a data scope is not told its rows.
  if (permit && !areSupported(obligations, supported)) return { decision: false, reason: "obligation_unsupported", obligations: [] };
  return { decision: permit, ...(reason === undefined ? {} : { reason }), obligations };
};

const STEP_UP = "mfa";

export const withInputs = (question: Question, more: Partial<Question["inputs"]>): Question => ({
  ...question,
  inputs: { ...question.inputs, ...more },
});

/** The first thing that an agent's tool call lacks, in the order in which one would mend it. */
export const lackingOf = (question: Question): Reason | undefined => {
  if (question.pair.entity !== "Tool" || !isViaAgent(question)) return undefined;
  const { facts } = question;
  const { delegation, definitionOk } = standingOf(question);
  if (delegation === undefined) return "delegation_required";
  if (!delegation.active) return "delegation_inactive";
  if (!facts.capability) return "capability_missing";
  if (!facts.chain) return "chain_not_eligible";
  if (delegation.steps_left <= 0) return "steps_exhausted";
  if (delegation.budget_left < delegation.cost) return "budget_exhausted";
  return definitionOk ? undefined : "definition_drifted";
};

/** The obligation that a row of the bundle is a form of. */
const idOf = (name: string, engine: Engine): string => engine.bundle.obligations.get(name)?.id ?? name;

/** Each name once, in order; most policies oblige to nothing, or to one thing. */
const inOrder = (names: readonly string[]): readonly string[] => (names.length < 2 ? names : [...new Set(names)].toSorted());

const obligationsOf = (policies: readonly Policy[]): readonly string[] => inOrder(policies.flatMap((policy) => policy.obligations));

const policiesOf = ({ policies }: Judgement, engine: Engine): readonly Policy[] =>
  policies.flatMap((id) => engine.bundle.policies.get(id) ?? []);

/** Whether some row asks for another sign-in than the one that policies know as `context.mfa`. */
const asksForMore = (name: string, engine: Engine): boolean => {
  const { level, maxAgeSeconds } = strongSignIn;
  const { properties } = engine.bundle.obligations.get(name) ?? {};
  return idOf(name, engine) === STEP_UP && (properties?.["acr_value"] !== level || Number(properties["max_age_seconds"]) < maxAgeSeconds);
};

/**
 * What forbids oblige to that stand aside for any fresh strong sign-in, although they ask for a stronger or fresher one: whoever is let
 * through must have that, so it is the permit's obligation too.
 */
const moreThanSignedIn = (engine: Engine, question: Question): readonly string[] => {
  const more = (policies: readonly Policy[]): readonly string[] =>
    obligationsOf(policies.filter(({ effect }) => effect === "forbid")).filter((name) => asksForMore(name, engine));
  if (!question.inputs.mfa || more(engine.slice(question.pair.key).policies).length === 0) return [];
  const without = engine.judge(withInputs(question, { mfa: false }));
  return without.permit ? [] : more(policiesOf(without, engine));
};

/**
 * Asks the engine, and for a denial what it is called: one that a fresh strong sign-in would lift is `step_up_required`, one
 * that an approval would lift is `approval_required`; both are found by asking again, not configured. Otherwise the
 * forbid that decided names it, then the first fact that an agent's call lacks, then `not_granted`.
 */
export const evaluate = (engine: Engine, question: Question): Evaluation => {
  const judgement = engine.judge(question);
  const deciding = policiesOf(judgement, engine);
  if (judgement.permit)
    return {
      ...judgement,
      requestable: false,
      obligations: inOrder([...obligationsOf(deciding), ...moreThanSignedIn(engine, question)]),
    };
  // The forbids that decided oblige to something on a denial too; to a step-up only where that would lift it.
  const always = obligationsOf(deciding).filter((name) => idOf(name, engine) !== STEP_UP);
  const denied = (reason: Reason, requestable = false, more: readonly string[] = []): Evaluation => ({
    ...judgement,
    reason,
    requestable,
    obligations: inOrder([...always, ...more]),
  });
  const stepUps = obligationsOf(deciding).filter((name) => idOf(name, engine) === STEP_UP);
  const stepUp = stepUps.length === 0 ? [STEP_UP] : stepUps;
  if (judgement.errors.length > 0) return denied("forbidden");

  const reads = engine.slice(question.pair.key).context;
  const mayStepUp = reads.has("mfa") && !standingOf(question).mfa;
  const mayAsk = reads.has("approved") && !standingOf(question).approved;
  if (mayStepUp && engine.judge(withInputs(question, { mfa: true })).permit) return denied("step_up_required", false, stepUp);
  if (mayAsk) {
    const approved = engine.judge(withInputs(question, { approved: true }));
    if (approved.permit) {
      // A forbid that would no longer hold, or the permit that would: the engine names them in the order of their ids.
      const met = [...deciding, ...policiesOf(approved, engine)];
      const template = met.find((policy) => policy.requestable !== undefined)?.requestable;
      return { ...denied("approval_required", true), template };
    }
  }
  if (mayStepUp && mayAsk && engine.judge(withInputs(question, { mfa: true, approved: true })).permit) {
    return denied("step_up_required", false, stepUp);
  }
  const forbid = deciding.find(
    (policy) => policy.effect === "forbid" && !policy.obligations.some((name) => idOf(name, engine) === STEP_UP),
  );
  const lacking = lackingOf(question);
  // Walls come before what is lacking, so that a thing of another tenant looks like one that is not there.
  if (forbid !== undefined && forbid.reason !== "not_granted") return denied((forbid.reason ?? "forbidden") as Reason);
  return denied(lacking ?? "not_granted");
};
