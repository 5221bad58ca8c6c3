import { setImmediate as nextTurn } from "node:timers/promises";
import type { Facts } from "#contract/facts.ts";
import type { Reason } from "#contract/authzen.ts";
import type { Metrics } from "#telemetry/metrics.ts";
import { isFreshlyStrong } from "#authn/caller.ts";
import type { Ask, Decided, DecisionPoint, Inputs, Verdict } from "./decision-point.ts";
import type { Engine } from "./engine.ts";
import type { Engines } from "./engines.ts";
import type { FactSource } from "./fact-source.ts";
import { informAsks, type Informed } from "./gather.ts";
import { areSupported, makeObligations } from "./obligations.ts";
import { healthTool } from "./pairs.ts";
import type { Question } from "./question.ts";
import type { DecisionFacts } from "./records/decision-facts.ts";
import { ruleOn } from "./ruling.ts";
import { tenantOf } from "./tenant.ts";
import { houseVocabulary, type Vocabulary } from "./vocabulary.ts";

export interface CedarParts {
  /** The version that decides now; taken once a call, so that no call sees two. */
  readonly engines: Pick<Engines, "current">;
  readonly facts: FactSource;
  readonly decisions: DecisionFacts;
  /** The house's own words unless given. */
  readonly vocabulary?: Vocabulary;
  readonly metrics: Metrics;
  readonly now: () => Date;
}

/** Longest that a batch holds the event loop, milliseconds. */
const SLICE_MS = 8;
/** A sign-in from the future is a wrong clock or a forged claim; this much of it may be the clock. */
const CLOCK_SKEW_SECONDS = 60;

const isFresh = (assurance: Ask["assurance"], now: Date): boolean =>
  isFreshlyStrong(assurance, now) && (assurance.authTime ?? 0) <= now.getTime() / 1000 + CLOCK_SKEW_SECONDS;

/** The embedded engine: gathers facts once a batch, asks Cedar for each item, names obligations and reasons. */
export const createCedar = (parts: CedarParts): DecisionPoint => {
  const { engines, metrics, now, vocabulary = houseVocabulary } = parts;

  const inputsOf = async ({ ask }: Informed): Promise<{ readonly inputs: Inputs; readonly toolTenant?: string }> => {
    const { vouched } = ask;
    const call =
      vouched.tool === undefined
        ? undefined
        : await parts.decisions.permittedCall(vouched.tool.decisionId, vouched.tool.id, ask.subject.id);
    const inputs: Inputs = {
      mfa: isFresh(ask.assurance, now()),
      approved: false,
      could: vouched.could,
      tools_scope: vouched.toolsScope,
      assigned: vouched.assigned,
      cost_micro: vouched.costMicro,
      ...(vouched.tool === undefined
        ? {}
        : {
            tool: {
              id: vouched.tool.id,
              system: vouched.tool.id.slice(0, Math.max(vouched.tool.id.lastIndexOf("."), 0)),
              permitted: call !== undefined,
            },
          }),
    };
    return call === undefined ? { inputs } : { inputs, toolTenant: call.tenant };
  };

  const decideOne = async (informed: Informed, engine: Engine): Promise<Verdict> => {
    const { ask, pair } = informed;
    const { inputs, toolTenant } = await inputsOf(informed);
    const tenant = tenantOf(ask, informed.facts.subject, toolTenant);
    const facts = withDefaults(informed);
    // What is refused before the policies is recorded without what the asker may not know: whose the subject or the
    // resource is, if it is another tenant's. To the asker both look as if they did not exist.
    const refused = (reason: Reason, seen: Facts | undefined = facts): Verdict => ({
      ask,
      decision: false,
      reason,
      obligations: [],
      policies: [],
      errors: [],
      requestable: false,
      tenant,
      facts: seen,
      inputs,
    });
    const { subject } = facts;
    if (subject === null || tenant === undefined || !vocabulary.isSubject(ask.subject.type, subject.kind)) {
      return refused("subject_unresolved", undefined);
    }
    if (isForeign(facts.resource, tenant)) return refused("resource_unresolved", { ...facts, resource: null, edges: [] });
    // A version that was written before the pair was known has no word for it.
    if (pair === undefined || !engine.bundle.schema.actions.has(pair.key)) return refused("unknown_action");
    if (pair.of !== "all" && ask.resource.id === "*") return refused("resource_id_required");
    if (facts.resource === null && (pair.of === "node" || pair.entity === "PageWidget" || pair.entity === "Decision")) {
      return refused("resource_unresolved");
    }
    if (ask.vouched.approval) return refused("approval_invalid");
    const question: Question = {
      pair,
      resourceId: informed.resourceId,
      tenant,
      ...(ask.agents[0] === undefined ? {} : { agentId: ask.agents[0] }),
      facts: { ...facts, subject },
      inputs,
      props: ask.props,
      claimed: ask.claimed,
      ui: ask.ui,
      ...(ask.said === undefined ? {} : { said: ask.said }),
    };
    return verdictOf(ask, tenant, question, engine);
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
      const verdict = await decideOne(informed, engine);
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

/** Of another tenant than the one that asks. Policies have the same wall once more. */
const isForeign = (resource: Facts["resource"], tenant: string): boolean =>
  resource !== null && resource.tenant_ids.length > 0 && !resource.tenant_ids.includes(tenant);

/** What the graph does not hold although policies may speak of it: a thing that a service of the house vouches for. */
const withDefaults = ({ ask, pair, facts, resourceId }: Informed): Facts => {
  const tenant = ask.vouched.resourceTenant;
  if (facts.resource !== null || tenant === undefined || pair?.of !== "named" || resourceId === healthTool) return facts;
  return {
    ...facts,
    resource: { node_id: resourceId, kind: "Resource", name: resourceId, tenant_ids: [tenant], owners: [], granted: false, attributes: {} },
  };
};
