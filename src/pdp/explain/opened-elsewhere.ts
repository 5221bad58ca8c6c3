import { isRoleId } from "#contract/ids.ts";
import { createCedar } from "#pdp/decision/cedar.ts";
import type { Verdict } from "#pdp/engine/decision-point.ts";
import type { Engine } from "#pdp/engine/engine.ts";
import type { FactSource, GraphChange } from "#pdp/facts/fact-source.ts";
import { pairs, type Pair } from "#pdp-client/pairs.ts";
import type { Question } from "#pdp/model/question.ts";
import type { WhatIfParts } from "#pdp/lifecycle/what-if/what-if.ts";
import { askAbout, namedByPolicies } from "#pdp/lifecycle/what-if/ask-about.ts";
import type { Candidate } from "./candidate.ts";

export interface OpenedElsewhere {
  /** One for each pair and thing. */
  readonly opened: readonly Pair[];
  /** Not everything was asked about: there may be more. */
  readonly more: boolean;
}

/** What lasting changes open of things other than the one that was asked about. */
export type LookElsewhere = (question: Question, lasting: readonly Candidate[], engine: Engine) => Promise<OpenedElsewhere>;

/** Most questions about one change, each decided twice. */
const MAX_ASKS = 400;
/** Most things that the graph lists. */
const MAX_REACHED = 1000;

/** Steps that hold for whatever is asked; all but these and what `brings` says are about the one thing alone. */
const everywhere: ReadonlySet<string> = new Set(["sign_in_again", "reactivate_edge", "raise_limit"]);

/** An edge that leads further than to the thing itself: to all that a group is granted, or from a page to its widgets. */
const brings = (kind: string, question: Question): boolean =>
  kind === "MEMBER_OF" || (question.pair.type === "pages" && (kind === "GRANTS_ACCESS" || kind === "OWNS_RESOURCE"));

/**
 * A new membership brings what is granted to the group and to those that it is in, a page its widgets; a strong sign-in or a delegation that goes on
 * may open what was granted before. Which things these are, and what facts hold of them then, the graph says as it is now: the
 * edge is made by the code that makes it in earnest, and taken back. Each pair of each thing is then decided before and
 * after. At most two such questions to the graph, and one to the graph as it is; none for steps that are about one thing.
 */
export const createLookElsewhere =
  (parts: WhatIfParts): LookElsewhere =>
  async (question, lasting, engine) => {
    const joins = lasting.flatMap(({ step: { kind, edge } }) =>
      kind === "add_edge" && edge !== undefined && brings(edge.kind, question) ? [edge] : [],
    );
    // A role opens things that nothing in the graph leads to.
    const gainsRole = joins.some(({ to }) => isRoleId(to));
    const alike = lasting.filter(({ step }) => everywhere.has(step.kind));
    if (joins.length === 0 && alike.length === 0) return { opened: [], more: false };
    const { gatherIf } = parts.facts;
    if (gatherIf === undefined) return { opened: [], more: true };
    const change: GraphChange = { tenant_id: question.tenant, add: joins, remove: [] };
    const who = { subject_id: question.facts.subject.id };
    const { reached } = await gatherIf([], { ...change, reach: who });
    const targets = pairs.flatMap((pair) => {
      if (pair.of === "all" || !engine.bundle.schema.actions.has(pair.key)) return [];
      const ids = reached.flatMap(({ type, external_id: id }) => (type === pair.type ? [id] : []));
      // Without a new edge nothing that a policy names by itself is opened: what it asks of the person stays as it was.
      const others = new Set([...ids, ...(joins.length === 0 ? [] : namedByPolicies(engine, pair))]);
      if (pair.type === question.pair.type) others.delete(question.resourceId);
      return [...others].map((id) => ({ pair, id }));
    });
    const principals = question.agentId === undefined ? [who] : [who, { ...who, agent_id: question.agentId }];
    const asked = targets.slice(0, Math.floor(MAX_ASKS / principals.length));
    const asks = principals.flatMap((principal) => asked.map((target) => askAbout(principal, question.tenant, target)));
    const verdictsOn = async (gather: FactSource["gather"]): Promise<readonly Verdict[]> => {
      const engines = { current: () => ({ version: "asked", engine }) };
      const { decisions, metrics, now } = parts;
      const point = createCedar({ engines, facts: { ready: parts.facts.ready, gather }, decisions, metrics, now });
      return (await point.evaluateMany(asks, "execute_all")).verdicts;
    };
    const before = await verdictsOn((wanted) => parts.facts.gather(wanted));
    const after = joins.length === 0 ? before : await verdictsOn((wanted) => gatherIf(wanted, change));

    const inputs = { ...question.inputs, approved: false, could: false };
    const permits = (verdict: Verdict | undefined, steps: readonly Candidate[]): boolean =>
      verdict?.question !== undefined &&
      engine.judge(steps.reduce<Question>((held, step) => step.apply(held), { ...verdict.question, inputs })).permit;
    const opens = (index: number): boolean => permits(after[index], alike) && !permits(before[index], []);
    const opened = asked.filter((_target, index) => principals.some((_principal, at) => opens(at * asked.length + index)));
    return { opened: opened.map(({ pair }) => pair), more: gainsRole || asked.length < targets.length || reached.length >= MAX_REACHED };
  };
