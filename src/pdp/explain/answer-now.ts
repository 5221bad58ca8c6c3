import type { DecisionRecord } from "#contract/decisions.ts";
import type { Facts } from "#contract/facts.ts";
import type { Inputs } from "#pdp/model/ask.ts";
import type { Engine } from "#pdp/engine/engine.ts";
import { whyUnplaced } from "#pdp/decision/resolve.ts";
import type { Recorded } from "#pdp/records/record.ts";
import { evaluate, withInputs } from "#pdp/engine/evaluation.ts";
import type { Vocabulary } from "#pdp/engine/vocabulary.ts";
import { questionOf, readsNotKept } from "#pdp/decision/question-of.ts";

/** The engine that decides now, the facts as they are, and whether an approval is live. */
export interface Present {
  readonly engine: Engine;
  readonly facts: Facts | undefined;
  readonly approved: boolean;
}

export interface NowParts {
  readonly vocabulary: Pick<Vocabulary, "pairOf">;
  /** Facts come from the identity graph, which knows every subject by its id alone. */
  readonly isGraph: boolean;
  readonly emptyContext: string;
}

type Now = NonNullable<DecisionRecord["now"]>;

/** What somebody vouched for at that moment and need not hold any more: a fresh sign-in, a task, a call under way. */
const fadedInputs = ({ mfa, assigned, tool }: Inputs): readonly Partial<Inputs>[] => [
  ...(mfa ? [{ mfa: false }] : []),
  ...(assigned ? [{ assigned: false }] : []),
  ...(tool?.permitted === true ? [{ tool: { ...tool, permitted: false } }] : []),
];

/** The subject is somebody in the tenant that it was decided in; a service of Sallyport belongs to none. */
const isPlaced = (subject: Facts["subject"], tenant: string): boolean =>
  subject !== null && (subject.tenant_ids.includes(tenant) || (subject.kind === "Service" && subject.tenant_ids.length === 0));

/**
 * The recorded question with the facts and policies of this moment. `undefined` where it cannot be asked again as it was: the
 * policies read what was sent and is not kept, or the answer hangs on what was true only then.
 */
export const answerNow = (recorded: Recorded, present: Present, parts: NowParts): Now | undefined => {
  const { item } = recorded;
  const { engine, facts } = present;
  const isUntold = ["obligation_unsupported", "approval_invalid"].includes(item.reason ?? "");
  if (isUntold || facts === undefined || item.policies.includes("authorization-disabled")) return undefined;
  const refused = (reason: string): Now => ({ decision: false, reason });
  if (!isPlaced(facts.subject, recorded.tenant)) return parts.isGraph ? refused("subject_unresolved") : undefined;
  const question = questionOf(recorded, facts, parts.vocabulary);
  const known = question !== undefined && engine.bundle.schema.actions.has(question.pair.key) ? question : undefined;
  const reason = whyUnplaced(known?.pair, known?.resourceId ?? "", facts.resource, recorded.tenant);
  if (reason !== undefined || known === undefined) return refused(reason ?? "unknown_action");
  if (readsNotKept(recorded, known, engine, parts.emptyContext)) return undefined;
  const asked = withInputs(known, { approved: present.approved });
  const evaluation = evaluate(engine, asked);
  const isSteady = fadedInputs(item.inputs).every((faded) => {
    const other = evaluate(engine, withInputs(asked, faded));
    return other.permit === evaluation.permit && other.reason === evaluation.reason;
  });
  if (!isSteady) return undefined;
  return { decision: evaluation.permit, reason: evaluation.reason };
};
