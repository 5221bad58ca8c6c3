import { createHmac } from "node:crypto";
import canonicalize from "canonicalize";
import type { Ask } from "#pdp/decision-point.ts";
import type { Engine } from "#pdp/engine.ts";
import type { Question } from "#pdp/question.ts";

/** What an approval holds for. Digests are keyed: nobody finds out by trying which salary or path was behind one. */
export interface ActBinding {
  /** Who does what to which thing with which arguments, whatever the policies and the definition of the tool. */
  readonly act: string;
  /** The same under one definition and one version of the policies. */
  readonly whole: string;
  /** Digest of the tool's definition, where there is one. */
  readonly definition?: string;
  readonly delegationId?: string;
}

export type BindAct = (ask: Ask, question: Question, decidedBy: { readonly version: string; readonly engine: Engine }) => ActBinding;

/**
 * Arguments are the digest that the tool server vouches for and, of what else came with the question, whatever a policy
 * of this action can read: what no policy sees cannot matter, and a client may word it otherwise the next time.
 */
export const createBindAct = (key: Uint8Array): BindAct => {
  const digest = (value: unknown): string =>
    createHmac("sha256", key)
      .update(canonicalize(value) ?? "null")
      .digest("base64url");

  return (ask, question, { version, engine }) => {
    const reads = engine.slice(question.pair.key).context;
    const seen: Readonly<Record<string, unknown>> = {
      props: ask.props,
      claimed: ask.claimed,
      ui: ask.ui,
      said_of_subject: ask.said?.subject ?? {},
      said_of_action: ask.said?.action ?? {},
    };
    const act = digest({
      tenant: question.tenant,
      subject: ask.subject.id,
      agents: ask.agents,
      action: ask.action,
      resource: [ask.resource.type, ask.resource.id],
      arguments: [ask.vouched.argumentsDigest ?? null, Object.fromEntries(Object.entries(seen).filter(([name]) => reads.has(name)))],
    });
    const definition = ask.vouched.definitionDigest;
    return {
      act,
      whole: digest({ act, definition: definition ?? null, policy_version: version }),
      ...(definition === undefined ? {} : { definition }),
      ...(question.facts.delegation === null ? {} : { delegationId: question.facts.delegation.id }),
    };
  };
};
