import { createHmac } from "node:crypto";
import { canonicalJson } from "#contract/canonical-json.ts";
import type { ResourceRef } from "#events/model/resource-ref.ts";
import type { EntryDraft } from "#events/audit/entry.ts";
import type { EventDraft } from "#events/model/event-draft.ts";
import { entryOfCall } from "./call-entry.ts";
import { eventsOf, type DecisionEvents } from "./decision-events.ts";
import { formatDecisionId } from "./decision-id.ts";
import { noticesOf } from "./notices.ts";
import type { Facts } from "#contract/facts.ts";
import type { Sealer } from "#authn/sealing/seal.ts";
import type { Properties } from "#pdp/model/ask.ts";
import type { Verdict } from "#pdp/engine/decision-point.ts";
import type { Yield } from "#http/yielding.ts";
import type { CallDraft, CallNames, StoredCall, StoredItem } from "./record.ts";

/** A call ready to be written: rows, the facts that they name, and what the audit log says of each row. */
export interface CallRows {
  readonly calls: readonly (StoredCall & CallNames & { readonly items: string })[];
  readonly facts: ReadonlyMap<string, { readonly text: string } | { readonly sealed: Uint8Array }>;
  readonly entries: readonly EntryDraft[];
  /** Approvals for one use that permits of this call use up, in the order of their ids. */
  readonly takes: readonly Take[];
  /** Who is to be told of a decision by its `notify` obligations, and what other systems hear of. */
  readonly events: readonly EventDraft[];
}

export interface Take {
  readonly approvalId: string;
  readonly decisionId: string;
  readonly correlationId: string;
}

export interface RowParts {
  readonly sealer: Sealer;
  /** Digests are keyed: nobody finds out by trying which salary or path was behind one. */
  readonly digestKey: Uint8Array;
  readonly resourceRef?: ResourceRef | undefined;
  /** Which decisions other systems hear of; acts unless said. */
  readonly events?: DecisionEvents;
}

const canonical = (value: unknown): string => canonicalJson(value) ?? "null";

/** Of a canonical text: the first 24 bytes of its HMAC. */
const digest = (parts: Pick<RowParts, "digestKey">, text: string): string =>
  createHmac("sha256", parts.digestKey).update(text).digest("base64url").slice(0, 32);

/** Most questions come without any of it, and a key has one digest of nothing. */
const emptyContexts = new WeakMap<Uint8Array, string>();

export const emptyContextOf = (parts: Pick<RowParts, "digestKey">): string => {
  const held = emptyContexts.get(parts.digestKey);
  if (held !== undefined) return held;
  const made = digest(parts, canonical({ props: {}, claimed: {}, ui: {} }));
  emptyContexts.set(parts.digestKey, made);
  return made;
};

const isEmpty = (members: Properties): boolean => {
  for (const _name in members) return false;
  return true;
};

/** The canonical text of an ask's context, out of the canonical texts of what it is made of. */
const contextText = ({ props, claimed, ui, said }: Verdict["ask"], textOf: (members: Properties) => string): string => {
  const stated = [
    said?.action === undefined ? "" : `"action":${textOf(said.action)}`,
    said?.subject === undefined ? "" : `"subject":${textOf(said.subject)}`,
  ];
  const saying = said === undefined ? "" : `"said":{${stated.filter((text) => text !== "").join()}},`;
  // The canonical form has the members in this order.
  return `{"claimed":${textOf(claimed)},"props":${textOf(props)},${saying}"ui":${textOf(ui)}}`;
};

/**
 * Digests of properties, claims and the rest of the context, for the items of one call: of many, each object is put into its
 * canonical form once, and what says it with the same objects has the same digest.
 */
const createContextDigests = (parts: Pick<RowParts, "digestKey">, isSingle: boolean): ((ask: Verdict["ask"]) => string) => {
  // Not weak: it ends with the call, and what is weak costs each collection.
  const known = new Map<object, { readonly id: number; readonly text: string }>();
  const digests = new Map<string, string>();
  const read = (members: Properties) => {
    const held = known.get(members) ?? { id: known.size, text: canonical(members) };
    known.set(members, held);
    return held;
  };
  return (ask) => {
    const { props, claimed, ui, said } = ask;
    if (said === undefined && isEmpty(props) && isEmpty(claimed) && isEmpty(ui)) return emptyContextOf(parts);
    if (isSingle) return digest(parts, contextText(ask, canonical));
    const ids = [claimed, props, ui, said?.action, said?.subject].map((members) => members && read(members).id);
    const same = [...ids, said === undefined].join();
    const held =
      digests.get(same) ??
      digest(
        parts,
        contextText(ask, (members) => read(members).text),
      );
    digests.set(same, held);
    return held;
  };
};

/** Scheme, mount, path and key of a canonical secret URI. */
const secretOf = (uri: string) => {
  const [address = "", key] = uri.split("#", 2);
  const [scheme = "", rest = ""] = address.split("://", 2);
  const [mount = "", ...segments] = rest.split("/");
  return { scheme, mount, segments, ...(key === undefined ? {} : { key: decodeKey(key) }) };
};

const decodeKey = (key: string): string => {
  try {
    return decodeURIComponent(key);
  } catch {
    return key;
  }
};

/** Ids that are nobody's business but the owner's. */
const isSecret = (verdict: Verdict): boolean => verdict.ask.resource.type === "secret";

const itemOf = (
  draft: CallDraft,
  index: number,
  verdict: Verdict,
  tenant: string,
  digested: { readonly context: string; readonly facts?: string },
  showing: boolean,
  parts: RowParts,
): StoredItem => {
  const { ask } = verdict;
  const sealed = isSecret(verdict)
    ? {
        sealed_id: Buffer.from(parts.sealer.seal(ask.resource.id, draft.callId)).toString("base64url"),
        ...(parts.resourceRef === undefined ? {} : { ref: parts.resourceRef(tenant, secretOf(ask.resource.id)) }),
      }
    : { id: ask.resource.id };
  return {
    ...(draft.batch ? { index } : {}),
    action: ask.action,
    type: ask.resource.type,
    ...sealed,
    decision: verdict.decision,
    reason: verdict.reason,
    policies: verdict.policies,
    obligations: verdict.obligations,
    ...(verdict.errors.length === 0 ? {} : { errors: verdict.errors }),
    requestable: verdict.requestable,
    cached: verdict.cached === true,
    ...(showing ? { showing: true } : {}),
    ...digested,
    inputs: verdict.inputs,
    ...(verdict.request === undefined
      ? {}
      : { request: { template: verdict.request.name, agents: ask.agents, binding: verdict.request.binding } }),
    ...(verdict.approval === undefined ? {} : { approval: verdict.approval.id }),
  };
};

interface Group {
  readonly tenant: string;
  readonly subject: string;
  readonly agent: string | null;
  subjectName: string | null;
  agentName: string | null;
  readonly items: StoredItem[];
  /** The items as canonical texts. */
  readonly texts: string[];
}

/** Makes the rows of a call item by item, so that a large one need not be made in one go. */
const createRows = (draft: CallDraft, parts: RowParts) => {
  const groups = new Map<string, Group>();
  const facts = new Map<string, { readonly text: string } | { readonly sealed: Uint8Array }>();
  const digests = new Map<string, string>();
  const contextDigest = createContextDigests(parts, draft.items.length === 1);
  const events: EventDraft[] = [];
  const takes: Take[] = [];

  /** Items of a batch are often about the same person in the same circumstances. */
  const digestOf = (text: string): string => {
    if (draft.items.length === 1) return digest(parts, text);
    const held = digests.get(text) ?? digest(parts, text);
    digests.set(text, held);
    return held;
  };
  const keep = (verdict: Verdict, snapshot: Facts): string => {
    const text = canonical(snapshot);
    const found = digestOf(text);
    if (!facts.has(found)) {
      facts.set(found, isSecret(verdict) ? { sealed: parts.sealer.seal(JSON.stringify(snapshot), found) } : { text });
    }
    return found;
  };

  const add = ({ index, verdict, showing = false }: CallDraft["items"][number]): void => {
    const tenant = verdict.tenant ?? draft.fallbackTenant;
    const subject = verdict.ask.subject.id;
    const agent = verdict.ask.agents[0] ?? null;
    const key = JSON.stringify([tenant, subject, agent]);
    const group = groups.get(key) ?? { tenant, subject, agent, subjectName: null, agentName: null, items: [], texts: [] };
    groups.set(key, group);
    group.subjectName ??= verdict.facts?.subject?.name ?? null;
    group.agentName ??= verdict.facts?.agent?.name ?? null;
    const digested = {
      context: contextDigest(verdict.ask),
      ...(verdict.facts === undefined ? {} : { facts: keep(verdict, verdict.facts) }),
    };
    const item = itemOf(draft, index, verdict, tenant, digested, showing, parts);
    group.items.push(item);
    group.texts.push(canonical(item));
    if (showing) return;
    events.push(...noticesOf(draft, index, verdict));
    const { approval } = verdict;
    if (approval === undefined || !approval.singleUse) return;
    const decisionId = formatDecisionId({ callId: draft.callId, index: draft.batch ? index : undefined });
    takes.push({ approvalId: approval.id, decisionId, correlationId: draft.correlationId });
  };

  const finish = (): CallRows => {
    const entries: EntryDraft[] = [];
    const calls = [...groups.values()].map((group, part) => {
      const { tenant, subject, agent, items } = group;
      const call: StoredCall = {
        call_id: draft.callId,
        part,
        decided_at: draft.decidedAt.toISOString(),
        tenant,
        subject,
        agent,
        pep: draft.pep,
        policy_version: draft.policyVersion,
        graph_version: draft.graphVersion === undefined ? null : BigInt(draft.graphVersion),
        latency_us: draft.latencyUs,
        request_id: draft.requestId ?? null,
        correlation_id: draft.correlationId,
      };
      const text = `[${group.texts.join(",")}]`;
      entries.push(entryOfCall(call, items, text));
      events.push(...eventsOf(draft, group, parts.events ?? "acts"));
      return { ...call, subject_name: group.subjectName, agent_name: group.agentName, items: text };
    });
    return { calls, facts, entries, events, takes: takes.toSorted((a, b) => (a.approvalId < b.approvalId ? -1 : 1)) };
  };
  return { add, finish };
};

/** Rows of a call: one for each tenant, subject and agent in it. */
export const rowsOf = (draft: CallDraft, parts: RowParts): CallRows => {
  const rows = createRows(draft, parts);
  for (const item of draft.items) rows.add(item);
  return rows.finish();
};

/** As `rowsOf`, of a large call: others have their turns between its items. */
export const rowsInTurns = async (draft: CallDraft, parts: RowParts, turn: Yield): Promise<CallRows> => {
  const rows = createRows(draft, parts);
  for (const [index, item] of draft.items.entries()) {
    rows.add(item);
    const others = index + 1 < draft.items.length ? turn() : undefined;
    if (others !== undefined) await others;
  }
  return rows.finish();
};
