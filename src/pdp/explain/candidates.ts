import type { Facts } from "#contract/facts.ts";
import { isRoleId } from "#contract/ids.ts";
import type { Engine } from "#pdp/engine/engine.ts";
import { standingOf, type Question } from "#pdp/model/question.ts";
import { approversBy } from "#pdp/decision/approvers.ts";
import { holdersOf, withFacts, type Candidate } from "./candidate.ts";
import { delegationCandidates } from "./delegation-candidates.ts";

/** Things that somebody can be made an owner of. */
const ownable: ReadonlySet<string> = new Set(["Resource", "Tool", "MCPService", "SaaSApp"]);

const assuranceSteps = (question: Question, engine: Engine): readonly Candidate[] => {
  const { context, policies } = engine.slice(question.pair.key);
  const standing = standingOf(question);
  const candidates: Candidate[] = [];
  if (context.has("mfa") && !standing.mfa) {
    candidates.push({
      step: {
        kind: "sign_in_again",
        context: { acr_value: "strong", max_age_seconds: 300 },
        text: "Sign in again with a second factor; it counts for five minutes",
        who_can: [question.facts.subject.id],
      },
      cost: 1,
      apply: (asked) => ({ ...asked, inputs: { ...asked.inputs, mfa: true } }),
    });
  }
  const template = policies.map((policy) => policy.requestable).find((name) => name !== undefined);
  if (context.has("approved") && !standing.approved && template !== undefined) {
    const { approvers = "resource_owner" } = engine.bundle.templates.get(template) ?? {};
    candidates.push({
      step: {
        kind: "approval",
        context: { template },
        text: `Have this one act approved (${template})`,
        who_can: [...approversBy(approvers, question.facts)],
      },
      cost: 1,
      thisActAlone: true,
      apply: (asked) => ({ ...asked, inputs: { ...asked.inputs, approved: true } }),
    });
  }
  return candidates;
};

/** Groups that a permit of this question names and the subject is not in. Some may be another tenant's. */
export const missingGroups = (question: Question, engine: Engine): readonly string[] =>
  holdersOf(engine, question.pair.key).filter((group) => !question.facts.subject.groups.includes(group));

const edgeSteps = (question: Question, engine: Engine, joinable: ReadonlySet<string>): readonly Candidate[] => {
  const { subject, resource } = question.facts;
  const { policies } = engine.slice(question.pair.key);
  const permits = policies.filter((policy) => policy.effect === "permit");
  const editors = holdersOf(engine, "graph:edit");
  const assigners = holdersOf(engine, "roles:assign");
  const reads = (member: string) => policies.some((policy) => policy.reads.context.has(member));
  const add = (kind: string, from: string, to: string, text: string, whoCan: readonly string[], apply: Candidate["apply"]): Candidate => ({
    step: { kind: "add_edge", edge: { kind, from, to }, text, who_can: [...new Set(whoCan)] },
    cost: 4,
    apply,
  });
  const circles = missingGroups(question, engine).filter((group) => joinable.has(group));
  const candidates = circles.map((group) =>
    add("MEMBER_OF", subject.id, group, `Make ${subject.id} a member of ${group}`, isRoleId(group) ? assigners : editors, (asked) =>
      withFacts(asked, { subject: { ...asked.facts.subject, groups: [...asked.facts.subject.groups, group] } }),
    ),
  );
  if (resource === null) return candidates;
  const withResource = (asked: Question, more: Partial<NonNullable<Facts["resource"]>>): Question =>
    asked.facts.resource === null ? asked : withFacts(asked, { resource: { ...asked.facts.resource, ...more } });
  if (reads("granted") && !resource.granted && ownable.has(resource.kind)) {
    const groups = subject.groups.filter((id) => !isRoleId(id));
    for (const from of groups.length > 0 ? groups : [subject.id]) {
      const text = `Grant ${resource.name} to ${from}`;
      candidates.push(
        add("GRANTS_ACCESS", from, resource.node_id, text, [...resource.owners, ...editors], (asked) =>
          withResource(asked, { granted: true }),
        ),
      );
    }
  }
  if (permits.some((policy) => policy.reads.context.has("owner")) && ownable.has(resource.kind) && !standingOf(question).owner) {
    const text = `Make ${subject.id} an owner of ${resource.name}`;
    candidates.push(
      add("OWNS_RESOURCE", subject.id, resource.node_id, text, holdersOf(engine, "resources:assign_owner"), (asked) =>
        withResource(asked, { owners: [...(asked.facts.resource?.owners ?? []), subject.id] }),
      ),
    );
  }
  return candidates;
};

const definitionSteps = (question: Question, engine: Engine): readonly Candidate[] =>
  question.facts.definition_ok || question.pair.entity !== "Tool"
    ? []
    : [
        {
          step: {
            kind: "reapprove_definition",
            text: `Approve the present definition of ${question.resourceId}`,
            who_can: holdersOf(engine, "tool:approve_definition"),
          },
          cost: 5,
          apply: (asked) => withFacts(asked, { definition_ok: true }),
        },
      ];

/** Every small change that could bear on this question, the cheapest first. `joinable`: groups that the subject's tenant has. */
export const candidatesFor = (question: Question, engine: Engine, joinable: ReadonlySet<string>): readonly Candidate[] =>
  [
    ...assuranceSteps(question, engine),
    ...delegationCandidates(question, engine),
    ...edgeSteps(question, engine, joinable),
    ...definitionSteps(question, engine),
  ].toSorted((a, b) => a.cost - b.cost || (a.step.text < b.step.text ? -1 : 1));
