import type { AccessRequestReply, AccessRequestTask, ShownCall } from "#contract/access-requests.ts";
import { mayBePerson } from "#contract/ids.ts";
import { Problem, type ProblemCode, type ProblemOptions } from "#contract/problem.ts";
import { displayOf } from "./offer.ts";
import type { RequestRow } from "#pdp/records/request-store.ts";

/** The profile names its errors by URN; ours is the code beside it. */
export const taskProblem = (
  code: Extract<ProblemCode, "invalid_denial_binding" | "duplicate_request" | "unknown_task" | "task_expired" | "invalid_task_state">,
  detail?: string,
  members: NonNullable<ProblemOptions["members"]> = {},
): Problem =>
  new Problem(code, {
    detail,
    type: `urn:openid:authzen:access-request:error:${code}`,
    members,
  });

/** What the reader may do with it now. */
export interface Rights {
  readonly cancel: boolean;
  readonly answer: boolean;
  /** Reads what people wrote to one another about it. */
  readonly words: boolean;
  /** Sees who else may answer or did: an approver, and who may see all decisions. To others a person is `someone`, as in a remedy. */
  readonly names?: boolean;
}

/** The status that time and other policies have made of it, written or not. */
export const requestStatus = (row: RequestRow, now: Date): RequestRow["status"] => {
  if (row.status !== "pending") return row.status;
  if (row.void_reason !== null) return "failed";
  return Date.parse(row.expires_at) <= now.getTime() ? "expired" : "pending";
};

const someone = (id: string, name: string | null) => ({ id, name: name ?? undefined });

export const taskOf = (row: RequestRow, rights: Rights, now: Date): AccessRequestTask => {
  const path = `/access/v1/requests/${row.id}`;
  const status = requestStatus(row, now);
  const failure = status === "failed" ? (row.failure ?? row.void_reason) : null;
  const isOpen = status === "pending";
  const resource = { type: row.resource_type, id: row.resource_id ?? undefined };
  const [agent] = row.agents;
  const isHidden = rights.answer === false && rights.names !== true;
  return {
    id: row.id,
    status,
    status_endpoint: path,
    expires_at: row.expires_at,
    display: displayOf({ action: row.action, ...resource }, { ...row, approvers: row.approver_rule }),
    links: {
      cancel: isOpen && rights.cancel ? `${path}/cancel` : undefined,
      review: isOpen && rights.answer ? `${path}/answer` : undefined,
    },
    created_at: row.created_at,
    evaluation_id: row.evaluation_id,
    template: row.template,
    subject: someone(row.subject, row.subject_name),
    agent: agent === undefined ? undefined : someone(agent, row.agent_name),
    action: { name: row.action },
    resource: { ...resource, ref: row.resource_ref ?? undefined },
    justification: rights.words ? (row.justification ?? undefined) : undefined,
    approvers: [...new Set(row.approvers.map((id) => (isHidden && mayBePerson(id) ? "someone" : id)))],
    answered_at: row.answered_at ?? undefined,
    answered_by: row.answered_by === null ? undefined : isHidden ? { id: "someone" } : someone(row.answered_by, row.answered_name),
    comment: rights.words ? (row.comment ?? undefined) : undefined,
    failure: failure ?? undefined,
  };
};

const stateOf = (row: RequestRow, until: string, now: Date) => {
  if (row.used_by !== null) return "used";
  if (row.voided_at !== null || row.void_reason !== null) return "voided";
  return Date.parse(until) <= now.getTime() ? "expired" : "live";
};

/** `call` only for who may see it. */
export const replyOf = (row: RequestRow, rights: Rights, now: Date, call?: ShownCall): AccessRequestReply => {
  const task = { ...taskOf(row, rights, now), call };
  const { approval_id: id, answered_at: at, approved_until: until } = row;
  if (id === null || at === null || until === null) return { task };
  return {
    task,
    result: {
      mode: "reevaluate",
      approval: {
        id,
        approved_at: at,
        approved_until: until,
        state: stateOf(row, until, now),
        single_use: row.single_use,
        reason: row.void_reason ?? undefined,
      },
    },
  };
};
