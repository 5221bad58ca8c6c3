import type { DecisionRecord, Remedy, ShadowDecision } from "#contract/decisions.ts";
import type { FactEdge, Facts } from "#contract/facts.ts";
import { isPersonId, mayBePerson } from "#contract/ids.ts";
import type { Policy } from "#pdp/bundle/policies.ts";
import type { Engine } from "#pdp/engine/engine.ts";
import type { Question } from "#pdp/model/question.ts";
import type { Recorded } from "#pdp/records/record.ts";
import { answerNow, type NowParts, type Present } from "./answer-now.ts";
import { missingGroups } from "./candidates.ts";
import { checksOf } from "./checks.ts";
import { questionOf, reachedPolicies, readsNotKept } from "#pdp/decision/question-of.ts";
import type { LookElsewhere } from "./opened-elsewhere.ts";
import { findRemedy } from "./remedy.ts";
import { sentenceOf } from "./sentence.ts";
import type { ViewerClass } from "#pdp/rights/viewer.ts";

export interface Explained extends NowParts {
  readonly recorded: Recorded;
  readonly facts: Facts | undefined;
  /** The engine over the policies that decided; `undefined`: they are not kept, or another decision point decided. */
  readonly engine: Engine | undefined;
  /** For who sees everything. */
  readonly present?: Present;
  /** What the version in shadow made of it; for who sees everything. */
  readonly shadow?: ShadowDecision;
  /** Of these groups, those that the subject's tenant has. */
  readonly joinable: (question: Question, groups: readonly string[]) => Promise<ReadonlySet<string>>;
  readonly lookElsewhere: LookElsewhere;
  readonly viewer: { readonly id: string; readonly class: Exclude<ViewerClass, "none"> };
  readonly wantsRemedy: boolean;
}

/** Who stands in a decision where persons do and bears no other's name: ids of persons need not have a form of their own. */
const personsIn = ({ subject }: Recorded, facts: Facts | undefined): ReadonlySet<string> => {
  const controllers = facts?.resource?.attributes["controller_ids"];
  const standing = [subject, facts?.agent?.controllers, facts?.resource?.owners, controllers].flat();
  return new Set(standing.filter((id): id is string => typeof id === "string" && mayBePerson(id)));
};

/** What members every viewer gets. */
export const coarseRecord = (recorded: Recorded, nameOf: (id: string) => string): DecisionRecord => {
  const { item } = recorded;
  return {
    decision_id: recorded.decision_id,
    decided_at: recorded.decided_at,
    decision: item.decision,
    reason: item.reason,
    sentence: sentenceOf(recorded, nameOf),
    action: item.action,
    resource: { type: item.type, id: item.id, ref: item.ref },
    requestable: item.requestable,
    correlation_id: recorded.correlation_id,
  };
};

/** Facts without what a secret's node says of its path. */
const shownFacts = (recorded: Recorded, facts: Facts | undefined): unknown =>
  recorded.item.type !== "secret" || facts === undefined
    ? facts
    : {
        ...facts,
        resource: facts.resource === null ? null : { ...facts.resource, node_id: "secret", name: "secret" },
        edges: shownEdges(recorded, facts),
      };

const shownEdges = (recorded: Recorded, facts: Facts | undefined): FactEdge[] => {
  const node = recorded.item.type === "secret" ? facts?.resource?.node_id : undefined;
  return (facts?.edges ?? []).map((edge) => ({
    ...edge,
    from: edge.from === node ? "secret" : edge.from,
    to: edge.to === node ? "secret" : edge.to,
  }));
};

/** Deciding policies; for a denial that no policy made, those that would permit after the first remedy. */
const policiesOf = (
  engine: Engine,
  decided: readonly string[],
  wouldPermit: readonly string[],
): readonly (Policy & { readonly decided: boolean })[] =>
  [
    ...decided.map((id) => ({ id, decided: true })),
    ...wouldPermit.filter((id) => !decided.includes(id)).map((id) => ({ id, decided: false })),
  ].flatMap(({ id, decided: did }) => {
    const policy = engine.bundle.policies.get(id);
    return policy === undefined ? [] : [{ ...policy, decided: did }];
  });

/** No change was tried. Only where there was nothing to change is that all there is. */
const untried = (complete: boolean, blockedBy: readonly string[]): Remedy => ({ complete, changes: [], blocked_by: [...blockedBy] });

/** What was sent beside claims and is not kept; a claim can only forbid, which is allowed for. */
const sentBeside = ["props", "ui", "said_of_subject", "said_of_action"];

/** What would permit it, and the policies that then would. `complete` only where all was tried, on all that was asked. */
const remedyOf = async (
  explained: Explained,
  engine: Engine,
): Promise<{ readonly remedy: Remedy; readonly wouldPermit: readonly string[] }> => {
  const { recorded, facts } = explained;
  const { item } = recorded;
  if (item.decision) return { remedy: untried(true, []), wouldPermit: [] };
  const reached = reachedPolicies(recorded);
  const question = reached ? questionOf(recorded, facts, explained.vocabulary) : undefined;
  if (question === undefined) return { remedy: untried(!reached && explained.isGraph, [item.reason ?? "denied"]), wouldPermit: [] };
  const joinable = await explained.joinable(question, missingGroups(question, engine));
  const found = await findRemedy(question, engine, item.policies, joinable, explained.wantsRemedy ? explained.lookElsewhere : undefined);
  // A file of facts has more to change than the steps that the graph knows.
  const isWhole = explained.isGraph && !readsNotKept(recorded, question, engine, explained.emptyContext, sentBeside);
  return { ...found, remedy: { ...found.remedy, complete: found.remedy.complete && isWhole } };
};

/** The record as one viewer may see it. */
export const explain = async (explained: Explained): Promise<DecisionRecord> => {
  const { recorded, facts, engine, viewer } = explained;
  const { item } = recorded;
  const isFull = viewer.class === "full";
  const persons = personsIn(recorded, facts);
  const isHidden = (id: string): boolean =>
    !isFull && viewer.class !== "internal" && id !== viewer.id && (isPersonId(id) || persons.has(id));
  const hide = (id: string): string => (isHidden(id) ? "someone" : id);
  const veil = (text: string): string =>
    text.replace(/\b(?:person|account):[A-Za-z0-9._:@+~-]+/g, hide).replace(/[A-Za-z0-9][A-Za-z0-9._:@+~-]*/g, hide);
  const named = new Map(
    [facts?.subject, facts?.agent].flatMap((one) => (one === null || one === undefined ? [] : [[one.id, one.name] as const])),
  );
  const nameOf = (id: string): string =>
    hide(id) !== id ? "someone" : viewer.class === "coarse" && id !== viewer.id ? id : (named.get(id) ?? id);
  const base = coarseRecord(recorded, nameOf);
  if (viewer.class === "coarse") return base;
  const who = {
    subject: { id: hide(recorded.subject), ...(named.has(recorded.subject) ? { name: nameOf(recorded.subject) } : {}) },
    ...(recorded.agent === undefined
      ? {}
      : { agent: { id: recorded.agent, ...(named.has(recorded.agent) ? { name: nameOf(recorded.agent) } : {}) } }),
  };
  if (viewer.class === "internal") return { ...base, ...who, tenant: recorded.tenant, pep: recorded.pep };
  const question = reachedPolicies(recorded) ? questionOf(recorded, facts, explained.vocabulary) : undefined;
  const found = engine === undefined ? undefined : await remedyOf(explained, engine);
  const policies = engine === undefined ? [] : policiesOf(engine, item.policies, found?.wouldPermit ?? []);
  const remedy = found?.remedy ?? untried(false, item.decision ? [] : [item.reason ?? "denied"]);
  const own: DecisionRecord = {
    ...base,
    ...who,
    policy_version: recorded.policy_version,
    ...(recorded.graph_version === null ? {} : { graph_version: Number(recorded.graph_version) }),
    checks: checksOf(recorded, question, policies, question === undefined ? [] : (engine?.slice(question.pair.key).policies ?? [])).map(
      (check) => (check.input === undefined ? check : { ...check, input: veil(check.input) }),
    ),
    edges: shownEdges(recorded, facts).map((edge) => ({ ...edge, from: hide(edge.from), to: hide(edge.to) })),
    ...(engine === undefined
      ? {}
      : {
          policies: policies.map(({ id, description, decided, effect, text, file, line }) =>
            isFull ? { id, description, decided, effect, text, file, line } : { id, description, decided },
          ),
        }),
    ...(explained.wantsRemedy
      ? {
          remedy: shownRemedy(remedy, recorded, facts, hide, (text) =>
            veil(withNames(text, (id) => (hide(id) === id ? named.get(id) : undefined))),
          ),
        }
      : {}),
  };
  if (!isFull) return { ...own, checks: own.checks?.map(({ source: _source, ...check }) => check) };
  const now = explained.present === undefined ? undefined : answerNow(recorded, explained.present, explained);
  return {
    ...own,
    pep: recorded.pep,
    latency_ms: recorded.latency_us / 1000,
    cached: item.cached,
    obligations: [...item.obligations],
    errors: [...(item.errors ?? [])],
    facts: shownFacts(recorded, facts),
    inputs: { ...item.inputs },
    shadow: explained.shadow,
    now,
  };
};

/** The ids in a sentence of ours, as people call them; of whom the viewer may not know the id stays, to be veiled. */
const withNames = (text: string, nameOf: (id: string) => string | undefined): string =>
  text
    .split(" ")
    .map((word) => nameOf(word) ?? word)
    .join(" ");

const shownRemedy = (
  remedy: Remedy,
  recorded: Recorded,
  facts: Facts | undefined,
  hide: (id: string) => string,
  veil: (text: string) => string,
): Remedy => {
  const secret = recorded.item.type === "secret" ? facts?.resource : undefined;
  const plain = (text: string): string =>
    secret === undefined || secret === null ? text : text.replaceAll(secret.name, "the secret").replaceAll(secret.node_id, "secret");
  return {
    ...remedy,
    changes: remedy.changes.map((change) => ({
      ...change,
      steps: change.steps.map((step) => ({
        ...step,
        text: veil(plain(step.text)),
        who_can: step.who_can.map(hide),
        ...(step.edge === undefined
          ? {}
          : { edge: { kind: step.edge.kind, from: hide(plain(step.edge.from)), to: hide(plain(step.edge.to)) } }),
      })),
    })),
  };
};
