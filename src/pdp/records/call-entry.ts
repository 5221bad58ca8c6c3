import { hash } from "node:crypto";
import { quoted } from "#contract/canonical-json.ts";
import { actorKindOf } from "#authn/model/actor-kind.ts";
import type { EntryDraft } from "#events/audit/entry.ts";
import type { StoredCall, StoredItem } from "./record.ts";

/** Items that an audit entry names one by one; the record has them all. */
const MAX_ENTRY_ITEMS = 32;

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

/** By what is asked to draw a page nobody is refused. */
const isRefusal = (item: StoredItem): boolean => !item.decision && item.showing !== true;

/** What the audit log says of a row: denials first, and the digest that proves the record. `text`: its items as canonical text. */
export const entryOfCall = (call: StoredCall, items: readonly StoredItem[], text: string): EntryDraft => {
  const [first] = items;
  const agent = call.agent ?? undefined;
  const single = items.length === 1 ? first : undefined;
  const denied = items.filter(isRefusal);
  const named = [...denied, ...items.filter((item) => !isRefusal(item))].slice(0, MAX_ENTRY_ITEMS);
  return {
    tenant: call.tenant,
    category: "decision",
    outcome: denied.length > 0 ? "denied" : "ok",
    code: denied[0]?.reason,
    actor: { subject: call.subject, kind: actorKindOf({ sub: call.subject, agent }), agent_id: agent },
    via: { service: call.pep },
    resource: {
      type: single?.type ?? "evaluations",
      ...(single?.id === undefined ? {} : { id: single.id.slice(0, 256) }),
      ref: single?.ref,
    },
    decisionId: call.call_id,
    correlationId: call.correlation_id,
    data: {
      call_id: call.call_id,
      action: single?.action ?? null,
      result: items.every((item) => item.decision),
      reason: single?.reason ?? null,
      policies: single?.policies ?? [],
      policy_version: call.policy_version,
      graph_version: call.graph_version === null ? null : Number(call.graph_version),
      obligations: single?.obligations.map((obligation) => obligation.id) ?? [],
      pep: call.pep,
      cached: items.every((item) => item.cached),
      latency_us: call.latency_us,
      record_digest: hash("sha256", recordText(call, text)),
      items_total: items.length,
      items: named.map((item) => ({
        index: item.index,
        type: item.type,
        action: item.action,
        result: item.decision,
        showing: item.showing === true || undefined,
        reason: item.reason,
        approval_id: item.approval,
      })),
    },
  };
};
