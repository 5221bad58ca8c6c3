import { statement, type TransactionSql } from "#store/database.ts";

/** Why a notice is sent: for whom something waits. */
export type NoticeKind =
  | "task"
  | "too_few_approvers"
  | "compensation_incomplete"
  | "unknown_outcome"
  | "step_up"
  | "reauth"
  | "access_request"
  | "tool_approval";

/** One message to those for whom something waits: title, who asks and a link, never data. */
export interface Notice {
  readonly kind: NoticeKind;
  /** Id of the task, run or request. */
  readonly id: string;
  readonly tenant: string;
  readonly title: string;
  /** Who asks: node id. */
  readonly from: string;
  /** Path of a page. */
  readonly href: string;
  /** Node ids of persons, groups and roles. */
  readonly recipients: readonly string[];
}

/** A row of the outbox for a sink that keeps no order; `key` is the channel. */
export interface SinkRow {
  readonly tenant: string;
  readonly sink: "notice" | "mail" | "webhook";
  readonly key: string;
  readonly data: unknown;
}

// Without a lane: the relay to Kafka passes them over.
const POST = statement(
  "events.sink_rows",
  `insert into events.outbox (id, tenant, sink, topic, key, type, data)
   select gen_random_uuid(), tenant, sink, 'notifications', key, 'notification', data
   from json_to_recordset($1::json) as given (tenant text, sink text, key text, data json)`,
);

/** In a running transaction; without a wait of its own. */
export const postSinkRows = (sql: Pick<TransactionSql, "post">, rows: readonly SinkRow[]): void => {
  if (rows.length > 0) sql.post(POST, [JSON.stringify(rows)]);
};

/** Writes a notice into the outbox, in the transaction of what it reports. Who gets it by which channel is found once that is committed. */
export const postNotice = (sql: Pick<TransactionSql, "post">, notice: Notice): void =>
  postSinkRows(sql, [{ tenant: notice.tenant, sink: "notice", key: "notice", data: notice }]);
