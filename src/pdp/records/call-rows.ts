import { createHmac, hash } from "node:crypto";
import { canonicalJson, quoted } from "#contract/canonical-json.ts";
import type { ResourceRef } from "#events/resource-ref.ts";
import type { EntryDraft } from "#events/audit/entry.ts";
import type { EventDraft } from "#events/change.ts";
import { eventsOf, type DecisionEvents } from "./decision-events.ts";
import { formatDecisionId } from "./decision-id.ts";
import { noticesOf } from "./notices.ts";
import type { Facts } from "#contract/facts.ts";
import type { Sealer } from "#authn/seal.ts";
import type { Properties, Verdict } from "#pdp/decision-point.ts";
import type { CallDraft, StoredCall, StoredItem } from "./record.ts";

/** A call ready to be written: rows, the facts that they name, and what the audit log says of each row. */
export interface CallRows {
  readonly calls: readonly (StoredCall & { readonly items: string })[];
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
  readonly resourceRef?: ResourceRef;
  /** Which decisions other systems hear of; acts unless said. */
  readonly events?: DecisionEvents;
}

/** Items that an audit entry names one by one; the record has them all. */
const MOST_ENTRY_ITEMS = 32;

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

const contextOf = (parts: Pick<RowParts, "digestKey">, { props, claimed, ui, said }: Verdict["ask"]): string =>
  said === undefined && isEmpty(props) && isEmpty(claimed) && isEmpty(ui)
    ? emptyContextOf(parts)
    : digest(parts, canonical(said === undefined ? { claimed, props, ui } : { claimed, props, said, ui }));

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
  factsDigest: string | undefined,
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
    ...(verdict.reason === undefined ? {} : { reason: verdict.reason }),
    policies: verdict.policies,
    obligations: verdict.obligations,
    ...(verdict.errors.length === 0 ? {} : { errors: verdict.errors }),
    requestable: verdict.requestable,
    cached: verdict.cached === true,
    ...(showing ? { showing: true } : {}),
    ...(factsDigest === undefined ? {} : { facts: factsDigest }),
    context: contextOf(parts, ask),
    inputs: verdict.inputs,
    ...(verdict.request === undefined
      ? {}
      : { request: { template: verdict.request.name, agents: ask.agents, binding: verdict.request.binding } }),
    ...(verdict.approval === undefined ? {} : { approval: verdict.approval.id }),
  };
};

const kindOf = (subject: string, agent: string | null): EntryDraft["actor"]["kind"] =>
  agent !== null || subject.startsWith("agent:") ? "agent" : subject.startsWith("service:") ? "service" : "person";

const entryOf = (call: StoredCall, items: readonly StoredItem[], text: string): EntryDraft => {
  const [first] = items;
  const single = items.length === 1 ? first : undefined;
  const denied = items.filter((item) => !item.decision);
  const named = [...denied, ...items.filter((item) => item.decision)].slice(0, MOST_ENTRY_ITEMS);
  return {
    tenant: call.tenant,
    category: "decision",
    outcome: denied.length > 0 ? "denied" : "ok",
    ...(denied[0]?.reason === undefined ? {} : { code: denied[0].reason }),
    actor: { subject: call.subject, kind: kindOf(call.subject, call.agent), ...(call.agent === null ? {} : { agent_id: call.agent }) },
    via: { service: call.pep },
    resource: {
      type: single?.type ?? "evaluations",
      ...(single?.id === undefined ? {} : { id: single.id.slice(0, 256) }),
      ...(single?.ref === undefined ? {} : { ref: single.ref }),
    },
    decisionId: call.call_id,
    correlationId: call.correlation_id,
    data: {
      call_id: call.call_id,
      action: single?.action ?? null,
      result: denied.length === 0,
      reason: single?.reason ?? null,
      policies: single?.policies ?? [],
      policy_version: call.policy_version,
      graph_version: call.graph_version === null ? null : Number(call.graph_version),
      obligations: single?.obligations.map((obligation) => obligation.id) ?? [],
      pep: call.pep,
      cached: items.every((item) => item.cached),
      latency_us: call.latency_us,
      record_digest: hash("sha256", text),
      items_total: items.length,
      items: named.map((item) => ({
        ...(item.index === undefined ? {} : { index: item.index }),
        type: item.type,
        action: item.action,
        result: item.decision,
        ...(item.reason === undefined ? {} : { reason: item.reason }),
        ...(item.approval === undefined ? {} : { approval_id: item.approval }),
      })),
    },
  };
};

/** The canonical text of a call with its items, of which those are canonical already: its members in their order. */
const recordText = (call: StoredCall, items: string): string => {
  const text = (value: string | null): string => (value === null ? "null" : quoted(value));
  return (
    `{"agent":${text(call.agent)},"call_id":${quoted(call.call_id)},"correlation_id":${quoted(call.correlation_id)},` +
    `"decided_at":${quoted(call.decided_at)},"graph_version":${String(call.graph_version)},"items":${items},` +
    `"latency_us":${call.latency_us},"part":${call.part},"pep":${quoted(call.pep)},"policy_version":${quoted(call.policy_version)},` +
    `"request_id":${text(call.request_id)},"subject":${quoted(call.subject)},"tenant":${quoted(call.tenant)}}`
  );
};

/** Rows of a call: one for each tenant, subject and agent in it. */
export const rowsOf = (draft: CallDraft, parts: RowParts): CallRows => {
  const groups = new Map<
    string,
    { readonly tenant: string; readonly subject: string; readonly agent: string | null; readonly items: StoredItem[] }
  >();
  const facts = new Map<string, { readonly text: string } | { readonly sealed: Uint8Array }>();
  const keep = (verdict: Verdict, snapshot: Facts): string => {
    const text = canonical(snapshot);
    const found = digest(parts, text);
    if (!facts.has(found)) {
      facts.set(found, isSecret(verdict) ? { sealed: parts.sealer.seal(JSON.stringify(snapshot), found) } : { text });
    }
    return found;
  };
  for (const { index, verdict, showing = false } of draft.items) {
    const tenant = verdict.tenant ?? draft.fallbackTenant;
    const subject = verdict.ask.subject.id;
    const agent = verdict.ask.agents[0] ?? null;
    const key = JSON.stringify([tenant, subject, agent]);
    const group = groups.get(key) ?? { tenant, subject, agent, items: [] };
    groups.set(key, group);
    const factsDigest = verdict.facts === undefined ? undefined : keep(verdict, verdict.facts);
    group.items.push(itemOf(draft, index, verdict, tenant, factsDigest, showing, parts));
  }
  const entries: EntryDraft[] = [];
  const events = [
    ...draft.items.flatMap(({ index, verdict }) => noticesOf(draft, index, verdict)),
    ...[...groups.values()].flatMap((group) => eventsOf(draft, group, parts.events ?? "acts")),
  ];
  const takes = draft.items.flatMap(({ index, verdict: { approval } }): Take[] => {
    if (approval === undefined || !approval.singleUse) return [];
    const decisionId = formatDecisionId({ callId: draft.callId, ...(draft.batch ? { index } : {}) });
    return [{ approvalId: approval.id, decisionId, correlationId: draft.correlationId }];
  });
  const calls = [...groups.values()].map(({ tenant, subject, agent, items }, part) => {
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
    const text = canonical(items);
    entries.push(entryOf(call, items, recordText(call, text)));
    return { ...call, items: text };
  });
  return { calls, facts, entries, events, takes: takes.toSorted((a, b) => (a.approvalId < b.approvalId ? -1 : 1)) };
};
