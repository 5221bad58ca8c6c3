import type { EntryDraft } from "#events/audit/entry.ts";
import type { EventDraft } from "#events/model/event-draft.ts";
import { entryActor, type ActActor } from "#pdp/records/act-actor.ts";
import type { RequestRow } from "./request-store.ts";

export type RequestAct = "created" | "approved" | "denied" | "cancelled" | "expired" | "failed" | "voided" | "used";

/** An act on a request, and who did it. */
export interface RequestReport {
  readonly row: RequestRow;
  readonly act: RequestAct;
  readonly by: ActActor;
}

/** Of an approval that was used or voided these are about the approval; of all others about the request. */
const aboutOf = (row: RequestRow, act: RequestAct): Readonly<Record<string, unknown>> => ({
  op: act,
  request_id: row.id,
  evaluation_id: row.evaluation_id,
  status: row.status,
  template: row.template,
  action: row.action,
  resource_type: row.resource_type,
  policy_version: row.policy_version,
  ...(row.approval_id === null ? {} : { approval_id: row.approval_id, approved_until: row.approved_until, single_use: row.single_use }),
  ...(act === "used" ? { decision_id: row.used_by } : {}),
  ...(act === "failed" ? { reason: row.failure } : {}),
  ...(act === "voided" ? { reason: row.void_reason } : {}),
});

const entryOf = ({ row, act, by }: RequestReport): EntryDraft => ({
  tenant: row.tenant,
  category: "task",
  outcome: act === "denied" ? "denied" : act === "failed" ? "error" : "ok",
  actor: entryActor(by),
  via: { service: "pdp" },
  resource: { type: "access_request", id: row.id },
  decisionId: act === "used" && row.used_by !== null ? row.used_by : row.evaluation_id,
  correlationId: by.correlationId,
  // Whom it is about goes in as its reference.
  data: { ...aboutOf(row, act), subject: row.subject, agent_id: row.agents[0] },
});

/** For who asked, whom it is about, and those who may answer; it names none of them. */
const eventOf = ({ row, act, by }: RequestReport): EventDraft => ({
  type: `access_request.${act}`,
  tenant: row.tenant,
  stream: "workflow",
  kind: "access_request",
  visibleTo: [...new Set([row.requester, row.subject, ...row.told])],
  key: row.id,
  data: aboutOf(row, act),
  correlationId: by.correlationId,
});

/** What is told of acts, for the commit that they are part of. */
export const tellRequests = (
  acts: readonly RequestReport[],
): { readonly events: readonly EventDraft[]; readonly entries: readonly EntryDraft[] } => ({
  events: acts.map(eventOf),
  entries: acts.map(entryOf),
});
