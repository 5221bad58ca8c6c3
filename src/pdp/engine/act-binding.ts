import { createHmac } from "node:crypto";
import { canonicalJson } from "#contract/canonical-json.ts";
import { MAX_SHOWN_BYTES, type ShownCall } from "#contract/access-requests.ts";
import { maskValues } from "#contract/masked-values.ts";
import type { Ask } from "#pdp/model/ask.ts";
import type { Engine } from "#pdp/engine/engine.ts";
import type { Question } from "#pdp/model/question.ts";

/** What an approval holds for. Digests are keyed: nobody finds out by trying which salary or path was behind one. */
export interface ActBinding {
  /** Who does what to which thing with which arguments, whatever the policies and the definition of the tool. */
  readonly act: string;
  /** The same as it is shown to who answers, under one definition and one version of the policies. */
  readonly whole: string;
  /** Digest of the tool's definition, where there is one. */
  readonly definition?: string;
  readonly delegationId?: string;
}

export interface BoundAct {
  readonly binding: ActBinding;
  /** What who answers is shown of it; `undefined`: nothing came with the question; `null`: it cannot be shown, so nobody approves it. */
  readonly call: ShownCall | undefined | null;
}

/** What the digest of a whole act is made of. */
export interface WholeAct {
  readonly act: string;
  readonly definition: string | null | undefined;
  readonly policyVersion: string;
  readonly call: ShownCall | undefined;
}

export interface ActBinder {
  bind(ask: Ask, question: Question, decidedBy: { readonly version: string; readonly engine: Engine }): BoundAct;
  /** Equal to the `whole` of a binding exactly if that was bound to all of this: proves that a call is shown as it was asked. */
  wholeOf(whole: WholeAct): string;
}

export const textOfCall = (call: ShownCall): string => canonicalJson(call) ?? "null";

const isShort = (call: ShownCall): boolean => Buffer.byteLength(textOfCall(call)) <= MAX_SHOWN_BYTES;

/** A tool server says itself what may be shown of its call; else it is what the policies can read of the question. */
const shownOf = ({ vouched }: Ask, seen: Readonly<Record<string, unknown>>): BoundAct["call"] => {
  if (vouched.call !== undefined) return isShort(vouched.call) ? vouched.call : null;
  if (vouched.argumentsDigest !== undefined) return null;
  const said = Object.entries(seen).filter(([, value]) => canonicalJson(value ?? {}) !== "{}");
  if (said.length === 0) return undefined;
  const { value, masked } = maskValues(Object.fromEntries(said));
  const call = { arguments: value, masked: [...masked] };
  return isShort(call) ? call : null;
};

/**
 * Arguments are the digest that the tool server vouches for and, of what else came with the question, whatever a policy
 * of this action can read: what no policy sees cannot matter, and a client may word it otherwise the next time.
 */
export const createActBinder = (key: Uint8Array): ActBinder => {
  const digest = (value: unknown): string =>
    createHmac("sha256", key)
      .update(canonicalJson(value) ?? "null")
      .digest("base64url");

  const wholeOf: ActBinder["wholeOf"] = ({ act, definition, policyVersion, call }) =>
    digest({ act, definition: definition ?? null, policy_version: policyVersion, ...(call === undefined ? {} : { call }) });

  return {
    wholeOf,
    bind: (ask, question, { version, engine }) => {
      const reads = engine.slice(question.pair.key).context;
      const sent: Readonly<Record<string, unknown>> = {
        props: ask.props,
        claimed: ask.claimed,
        ui: ask.ui,
        said_of_subject: ask.said?.subject ?? {},
        said_of_action: ask.said?.action ?? {},
      };
      const seen = Object.fromEntries(Object.entries(sent).filter(([name]) => reads.has(name)));
      const call = shownOf(ask, seen);
      const act = digest({
        tenant: question.tenant,
        subject: ask.subject.id,
        agents: ask.agents,
        action: ask.action,
        resource: [ask.resource.type, ask.resource.id],
        arguments: [ask.vouched.argumentsDigest ?? null, seen],
      });
      const definition = ask.vouched.definitionDigest;
      return {
        binding: {
          act,
          whole: wholeOf({ act, definition, policyVersion: version, call: call ?? undefined }),
          ...(definition === undefined ? {} : { definition }),
          ...(question.facts.delegation === null ? {} : { delegationId: question.facts.delegation.id }),
        },
        call,
      };
    },
  };
};
