import type { AccessRequestStatus } from "#contract/access-requests.ts";
import { statement, type Sql } from "#store/database.ts";

/** One request as it is kept. */
export interface RequestRow {
  readonly id: string;
  readonly tenant: string;
  readonly subject: string;
  readonly subject_name: string | null;
  /** Outermost first. */
  readonly agents: readonly string[];
  readonly agent_name: string | null;
  readonly requester: string;
  readonly action: string;
  readonly resource_type: string;
  /** Null of a secret. */
  readonly resource_id: string | null;
  readonly resource_ref: string | null;
  readonly evaluation_id: string;
  readonly policy_version: string;
  readonly act_digest: string;
  readonly binding_digest: string;
  readonly definition: string | null;
  readonly delegation_id: string | null;
  readonly template: string;
  /** `resource_owner`, `agent_controller` or `group:<id>`. */
  readonly approver_rule: string;
  readonly approvers: readonly string[];
  readonly told: readonly string[];
  readonly justification: string | null;
  readonly status: AccessRequestStatus;
  readonly failure: string | null;
  readonly created_at: string;
  readonly expires_at: string;
  readonly valid_minutes: number;
  readonly single_use: boolean;
  readonly answered_at: string | null;
  readonly answered_by: string | null;
  readonly answered_name: string | null;
  readonly comment: string | null;
  readonly approval_id: string | null;
  readonly approved_until: string | null;
  readonly used_by: string | null;
  readonly voided_at: string | null;
  /** Without `voided_at`: other policies decided since, and it ends as soon as that is told. */
  readonly void_reason: string | null;
  readonly idem_key: string;
  readonly body_digest: string;
}

export type NewRequest = Omit<
  RequestRow,
  "answered_at" | "answered_by" | "answered_name" | "comment" | "approval_id" | "approved_until" | "used_by" | "voided_at" | "void_reason"
>;

/** Of a `NewRequest`. */
const newColumns = `id, tenant, subject, subject_name, agents, agent_name, requester, action, resource_type, resource_id, resource_ref,
  evaluation_id, policy_version, act_digest, binding_digest, definition, delegation_id, template, approver_rule, approvers, told,
  justification, status, failure, created_at, expires_at, valid_minutes, single_use, idem_key, body_digest`;

/** Of a `RequestRow`. */
export const requestColumns = `${newColumns}, answered_at, answered_by, answered_name, comment, approval_id, approved_until, used_by,
  voided_at, void_reason`;

const inserted = newColumns.split(/,\s+/) as readonly (keyof NewRequest)[];
const insert = statement<RequestRow>(
  "pdp.request.insert",
  `insert into pdp.request (${newColumns}, call) values (${inserted.map((_column, at) => `$${at + 1}`).join(", ")}, $${inserted.length + 1})
   on conflict do nothing returning ${requestColumns}`,
);
const read = statement<RequestRow>("pdp.request.read", `select ${requestColumns} from pdp.request where id = $1`);
const readCall = statement<{ readonly call: Uint8Array | null }>("pdp.request.call", "select call from pdp.request where id = $1");
const readKeyed = statement<RequestRow>(
  "pdp.request.keyed",
  `select ${requestColumns} from pdp.request where tenant = $1 and requester = $2 and idem_key = $3`,
);
const readOpen = statement<{ readonly id: string }>(
  "pdp.request.open",
  "select id from pdp.request where tenant = $1 and requester = $2 and binding_digest = $3 and status = 'pending'",
);
const countOpen = statement<{ readonly open: bigint }>(
  "pdp.request.count_open",
  "select count(*) as open from pdp.request where tenant = $1 and requester = $2 and status = 'pending'",
);
// A status that time or other policies have made is shown before it is written.
const effective = `case when status = 'pending' and void_reason is not null then 'failed'
  when status = 'pending' and expires_at <= $6 then 'expired' else status end`;
const listOwn = statement<RequestRow>(
  "pdp.request.own",
  `select ${requestColumns} from pdp.request where tenant = $1 and (requester = $2 or subject = $2)
     and ($7::text is null or subject = $2 and $7 = any(agents))
     and ($3::text is null or id < $3) and ($4::text is null or ${effective} = $4) order by id desc limit $5`,
);
const listToAnswer = statement<RequestRow>(
  "pdp.request.to_answer",
  `select ${requestColumns} from pdp.request where tenant = $1 and requester <> $2 and subject <> $2 and (approvers && $7 or answered_by = $2)
     and ($3::text is null or id < $3) and ($4::text is null or ${effective} = $4) order by id desc limit $5`,
);
const answerPending = statement<RequestRow>(
  "pdp.request.answer",
  `update pdp.request set status = $2, answered_at = $3, answered_by = $4, answered_name = $5, comment = $6,
     approval_id = case when $2 = 'approved' then 'ap_' || substr(id, 4) end,
     approved_until = case when $2 = 'approved' then $3::timestamptz + make_interval(mins => valid_minutes) end
   where id = $1 and status = 'pending' and void_reason is null and expires_at > $3 returning ${requestColumns}`,
);
const cancelPending = statement<RequestRow>(
  "pdp.request.cancel",
  `update pdp.request set status = 'cancelled'
   where id = $1 and status = 'pending' and void_reason is null and expires_at > $2 returning ${requestColumns}`,
);
const failPending = statement<RequestRow>(
  "pdp.request.fail",
  `update pdp.request set status = 'failed', failure = $2 where id = $1 and status = 'pending' returning ${requestColumns}`,
);

/** `call`: what who answers is shown, sealed. */
export const insertRequest = async (sql: Sql, row: NewRequest, call: Uint8Array | undefined) =>
  (await sql.run(insert, [...inserted.map((column) => row[column]), call ?? null]))[0];

export const readRequest = async (sql: Sql, id: string) => (await sql.run(read, [id]))[0];
/** Sealed; apart from the rest, because few may see it. `undefined`: nothing came with the question. */
export const readSealedCall = async (sql: Sql, id: string) => (await sql.run(readCall, [id]))[0]?.call ?? undefined;
export const readKeyedRequest = async (sql: Sql, tenant: string, requester: string, key: string) =>
  (await sql.run(readKeyed, [tenant, requester, key]))[0];
export const findOpenRequest = async (sql: Sql, row: Pick<NewRequest, "tenant" | "requester" | "binding_digest">) =>
  (await sql.run(readOpen, [row.tenant, row.requester, row.binding_digest]))[0];
export const countOpenRequests = async (sql: Sql, tenant: string, requester: string): Promise<number> =>
  Number((await sql.run(countOpen, [tenant, requester]))[0]?.open ?? 0n);

export interface RequestList {
  readonly tenant: string;
  readonly caller: string;
  /** Ids that may answer: the caller's and those of its groups; absent: the caller's own requests are listed. */
  readonly answering?: readonly string[];
  /** Of the caller's own only those for this agent's acts. */
  readonly agent?: string | undefined;
  readonly before?: string | undefined;
  readonly status?: AccessRequestStatus | undefined;
  readonly limit: number;
  readonly now: Date;
}

export const listRequests = (sql: Sql, list: RequestList): Promise<readonly RequestRow[]> => {
  const common = [list.tenant, list.caller, list.before ?? null, list.status ?? null, list.limit, list.now] as const;
  return list.answering === undefined
    ? sql.run(listOwn, [...common, list.agent ?? null])
    : sql.run(listToAnswer, [...common, list.answering]);
};

export interface Answer {
  readonly status: "approved" | "denied";
  readonly at: Date;
  readonly by: string;
  readonly name: string | undefined;
  readonly comment: string | undefined;
}

/** `undefined`: it is no longer pending. */
export const answerRequest = async (sql: Sql, id: string, given: Answer) =>
  (await sql.run(answerPending, [id, given.status, given.at, given.by, given.name ?? null, given.comment ?? null]))[0];
export const failRequest = async (sql: Sql, id: string, failure: string) => (await sql.run(failPending, [id, failure]))[0];
export const cancelRequest = async (sql: Sql, id: string, now: Date) => (await sql.run(cancelPending, [id, now]))[0];

// ---- approvals ----

const findLive = statement<RequestRow>(
  "pdp.request.live",
  `select ${requestColumns} from pdp.request
   where tenant = $1 and subject = $2 and status = 'approved' and used_by is null and voided_at is null and void_reason is null
     and approved_until > $3 order by id`,
);
const take = statement<RequestRow>(
  "pdp.request.take",
  `update pdp.request set used_by = $2
   where approval_id = $1 and single_use and used_by is null and voided_at is null and void_reason is null and approved_until > $3
   returning ${requestColumns}`,
);
const voidOne = statement<RequestRow>(
  "pdp.request.void",
  `update pdp.request set voided_at = $2, void_reason = $3
   where id = $1 and status = 'approved' and used_by is null and voided_at is null and approved_until > $2 returning ${requestColumns}`,
);

const openOfAgents = statement<RequestRow>(
  "pdp.request.open_of_agents",
  `select ${requestColumns} from pdp.request
   where delegation_id is not null and id > $2
     and (status = 'approved' and used_by is null and voided_at is null and approved_until > $1
       or status = 'pending' and void_reason is null and expires_at > $1)
   order by id limit $3`,
);

/** Pending requests and live approvals for acts of agents, by id. */
export const listOpenOfAgents = (sql: Sql, now: Date, after: string, limit: number) => sql.run(openOfAgents, [now, after, limit]);
const isLive = statement<{ readonly id: string }>(
  "pdp.request.is_live",
  `select id from pdp.request
   where approval_id = $1 and used_by is null and voided_at is null and void_reason is null and approved_until > $2`,
);

export const isLiveApproval = async (sql: Sql, approvalId: string, now: Date): Promise<boolean> =>
  (await sql.run(isLive, [approvalId, now])).length > 0;
export const findLiveApprovals = (sql: Sql, tenant: string, subject: string, now: Date) => sql.run(findLive, [tenant, subject, now]);
/** `undefined`: somebody else took it, or it is not live any more. */
export const takeApproval = async (sql: Sql, approvalId: string, decisionId: string, now: Date) =>
  (await sql.run(take, [approvalId, decisionId, now]))[0];
export const voidApproval = async (sql: Sql, id: string, now: Date, reason: string) => (await sql.run(voidOne, [id, now, reason]))[0];
