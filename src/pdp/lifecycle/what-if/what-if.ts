import type { whatIf } from "#contract/what-if.ts";
import type { BodyOf, ReplyOf } from "#contract/endpoint.ts";
import { Problem } from "#contract/problem.ts";
import { createCedar, type CedarParts } from "#pdp/decision/cedar.ts";
import { outcomeBy, outcomeOf, type Outcome } from "#pdp/lifecycle/compare/outcome.ts";
import type { Verdict } from "#pdp/engine/decision-point.ts";
import { inPieces } from "#pdp/model/in-pieces.ts";
import type { Version } from "#pdp/engine/engines.ts";
import type { FactSource, GatheredIf, GraphChange } from "#pdp/facts/fact-source.ts";
import { pairs } from "#pdp-client/pairs.ts";
import { askAbout, namedByPolicies, type Target } from "./ask-about.ts";

type Body = BodyOf<typeof whatIf>;
type Reply = ReplyOf<typeof whatIf>;

export type WhatIfParts = Pick<CedarParts, "facts" | "decisions" | "metrics" | "now">;

const MAX_PAIRS = 5_000;
const PER_BATCH = 500;

/** Every pair of the collections, and of the things that are named, in the question or by policies, or reached. */
const targetsOf = (body: Body, reached: GatheredIf["reached"], versions: readonly Version[]): readonly Target[] => {
  const named = [...(body.resources ?? []), ...reached.map(({ type, external_id: id }) => ({ type, id }))];
  const wanted = body.actions === undefined ? undefined : new Set(body.actions);
  return pairs.flatMap((pair): readonly Target[] => {
    if (wanted !== undefined && !wanted.has(`${pair.type}/${pair.action}`)) return [];
    if (pair.of === "all") return [{ pair, id: "*" }];
    const ids = named.filter(({ type }) => type === pair.type).map(({ id }) => id);
    const more = versions.flatMap(({ engine }) => namedByPolicies(engine, pair));
    return [...new Set([...ids, ...more])].map((id) => ({ pair, id }));
  });
};

/** Circumstances taken as given, beyond what the asks say. */
const ruledOn = (verdict: Verdict, { engine }: Version, facts: Body["changes"]["facts"]): Outcome => {
  const { question } = verdict;
  if (question === undefined || facts === undefined) return outcomeOf(verdict);
  const { mfa, approved } = question.inputs;
  return outcomeBy(
    engine,
    { ...question, inputs: { ...question.inputs, mfa: facts.mfa ?? mfa, approved: facts.approved ?? approved } },
    "all",
  );
};

const audiencesBeyond = (one: Reply["audiences"]["gained"], other: Reply["audiences"]["gained"]): Reply["audiences"]["gained"] =>
  one.flatMap(({ audience, scopes }) => {
    const held = other.find((item) => item.audience === audience)?.scopes;
    const beyond = scopes.filter((scope) => held?.includes(scope) !== true);
    return held === undefined || beyond.length > 0 ? [{ audience, scopes: beyond }] : [];
  });

/**
 * What a change gives somebody and takes: every pair decided before and after by the code that decides in earnest, on the
 * facts of the graph as it is and as it would be. Nothing is written and nothing recorded. At most 5,000 pairs.
 */
export const askWhatIf = async (parts: WhatIfParts, body: Body, tenant: string, active: Version, next: Version): Promise<Reply> => {
  const { facts } = parts;
  if (facts.gatherIf === undefined)
    throw new Problem("not_supported", { detail: "The facts here come from a source that cannot be changed." });
  const { gatherIf } = facts;
  const change: GraphChange = {
    tenant_id: tenant,
    add: body.changes.edges?.add ?? [],
    remove: body.changes.edges?.remove ?? [],
    reach: { subject_id: body.subject_id, agent_id: body.agent_id },
  };
  const reach = await gatherIf([], change);
  const over = (version: Version, source: FactSource) => createCedar({ ...parts, facts: source, engines: { current: () => version } });
  const before = over(active, facts);
  const after = over(next, { ready: facts.ready, gather: (asks) => gatherIf(asks, change) });

  const all = targetsOf(body, reach.reached, [active, next]);
  const targets = all.slice(0, MAX_PAIRS);
  const gained: Reply["gained"] = [];
  const lost: Reply["lost"] = [];
  for (const batch of inPieces(targets, PER_BATCH)) {
    const asks = batch.map((target) => askAbout(body, tenant, target));
    const then = (await before.evaluateMany(asks, "execute_all")).verdicts;
    const thereafter = (await after.evaluateMany(asks, "execute_all")).verdicts;
    for (const [index, { pair, id }] of batch.entries()) {
      const [one, other] = [then[index], thereafter[index]];
      if (one === undefined || other === undefined) continue;
      const now = ruledOn(other, next, body.changes.facts);
      if (one.decision === now.decision) continue;
      const shownId = id === "*" || pair.type === "secret" ? {} : { id };
      const row = {
        action: pair.action,
        resource: { type: pair.type, ...shownId },
        via: [...(now.decision ? now.policies : one.policies)],
      };
      (now.decision ? gained : lost).push(row);
    }
  }
  const { before: held, after: holds } = reach.audiences;
  return {
    policy_version: next.version,
    graph_version: reach.graphVersion,
    gained,
    lost,
    audiences: { gained: audiencesBeyond(holds, held), lost: audiencesBeyond(held, holds) },
    truncated: all.length > targets.length,
  };
};
