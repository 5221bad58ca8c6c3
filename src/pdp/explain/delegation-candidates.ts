import type { Facts } from "#contract/facts.ts";
import { usdText } from "#contract/ids.ts";
import type { Engine } from "#pdp/engine/engine.ts";
import type { Question } from "#pdp/model/question.ts";
import { holdersOf, withFacts, type Candidate } from "./candidate.ts";

/** Enough for this call and many more, as a new delegation would have. */
const AMPLE_STEPS = 100;
const AMPLE_MICRO = 1_000_000_000;

const hasCapability = (facts: Facts): boolean => {
  const edges = facts.edges.filter((edge) => edge.kind === "HAS_CAPABILITY");
  return edges.length > 0 && edges.every((edge) => edge.present);
};

/** Whether the delegation's own list has the tool, where the graph did not say so outright. */
const covers = (facts: Facts): boolean => {
  if (facts.delegation === null) return false;
  return facts.delegation.covers ?? (!facts.delegation.active || facts.capability || !hasCapability(facts));
};

const reachable = (facts: Facts): boolean => facts.delegation?.active === true && covers(facts) && hasCapability(facts);

/** Changes to the delegation that an agent acts under, and to what the agent can do. */
export const delegationCandidates = (question: Question, engine: Engine): readonly Candidate[] => {
  const { facts, inputs } = question;
  const { agent, delegation, subject } = facts;
  if (agent === null || !engine.slice(question.pair.key).context.has("delegation")) return [];
  const edge = { kind: "DELEGATES_TO", from: subject.id, to: agent.id };
  const needed = inputs.cost_micro;
  const withDelegation = (asked: Question, more: Partial<NonNullable<Facts["delegation"]>>): Question => {
    if (asked.facts.delegation === null) return asked;
    const changed = withFacts(asked, { delegation: { ...asked.facts.delegation, covers: covers(asked.facts), ...more } });
    return withFacts(changed, { capability: reachable(changed.facts) });
  };
  const candidates: Candidate[] = [];
  // Before a delegation: nobody delegates what the agent is not capable of.
  if (question.pair.entity === "Tool" && !hasCapability(facts)) {
    candidates.push({
      step: {
        kind: "add_edge",
        edge: { kind: "HAS_CAPABILITY", from: agent.id, to: question.resourceId },
        text: `Give ${agent.id} the capability ${question.resourceId}`,
        who_can: [...agent.controllers],
      },
      cost: 4,
      apply: (asked) => {
        const others = asked.facts.edges.filter((one) => one.kind !== "HAS_CAPABILITY");
        const added = { kind: "HAS_CAPABILITY", from: agent.id, to: question.resourceId, present: true };
        const changed = withFacts(asked, { edges: [...others, added] });
        return withFacts(changed, { capability: reachable(changed.facts) });
      },
    });
  }
  if (delegation?.status === "paused") {
    candidates.push({
      step: { kind: "reactivate_edge", edge, text: `Resume ${delegation.id}`, who_can: [subject.id] },
      cost: 2,
      apply: (asked) => withDelegation(asked, { active: true, status: "active" }),
    });
  }
  if (delegation !== null && delegation.steps_left <= 0) {
    candidates.push({
      step: { kind: "raise_limit", edge, text: `Give ${delegation.id} at least 1 more step`, context: { steps: 1 }, who_can: [subject.id] },
      cost: 3,
      apply: (asked) => withDelegation(asked, { steps_left: 1 }),
    });
  }
  if (delegation !== null && delegation.budget_left_micro_usd < needed) {
    const missing = BigInt(needed - delegation.budget_left_micro_usd);
    candidates.push({
      step: {
        kind: "raise_limit",
        edge,
        text: `Give ${delegation.id} at least ${usdText(missing)} USD more`,
        context: { usd: usdText(missing) },
        who_can: [subject.id],
      },
      cost: 3,
      apply: (asked) => withDelegation(asked, { budget_left_micro_usd: needed }),
    });
  }
  if (!reachable(facts) || delegation === null) {
    const isControlled = agent.controllers.includes(subject.id);
    const tool = question.pair.entity === "Tool" ? ` with ${question.resourceId} among its tools` : "";
    candidates.push({
      step: { kind: "add_edge", edge, text: `Delegate from ${subject.id} to ${agent.id}${tool}`, who_can: [subject.id] },
      // Membership lets nobody delegate to an agent that is not theirs.
      ...(isControlled
        ? {}
        : {
            first: {
              kind: "add_edge" as const,
              edge: { kind: "CONTROLLED_BY", from: agent.id, to: subject.id },
              text: `Let ${subject.id} control ${agent.id}`,
              who_can: holdersOf(engine, "agents:control"),
            },
          }),
      cost: isControlled ? 4 : 8,
      apply: (asked) => {
        const made = {
          id: "delegation:new",
          status: "active" as const,
          active: true,
          steps_left: AMPLE_STEPS,
          budget_left_micro_usd: Math.max(AMPLE_MICRO, needed),
          expires_at: null,
          covers: true,
        };
        const changed = withFacts(asked, { delegation: made });
        return withFacts(changed, { capability: reachable(changed.facts) });
      },
    });
  }
  return candidates;
};
