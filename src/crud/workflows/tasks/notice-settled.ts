import type { Notice, NoticeKind } from "#events/model/notice.ts";
import { statement, type Sql } from "#store/database.ts";
import { STATUS } from "./task-rows.ts";

const TASK = statement("crud.notice_task", `select 1 from crud.task t where t.id = $1 and t.tenant = $2 and ${STATUS} = 'PENDING'`);
const RUN = statement("crud.notice_run", "select 1 from crud.wf_run where id = $1 and tenant = $2 and reason = $3");
/** Events of the decision point about its requests: what ended one came after its notice. */
const ENDED = statement(
  "crud.notice_request",
  `select 1 from events.outbox where seq > $3 and tenant = $2 and stream = 'workflow' and key = $1
     and type in ('access_request.approved', 'access_request.denied', 'access_request.cancelled', 'access_request.expired', 'access_request.failed')`,
);

const things: Readonly<Record<NoticeKind, "task" | "run" | "request">> = {
  task: "task",
  too_few_approvers: "task",
  unknown_outcome: "task",
  compensation_incomplete: "run",
  step_up: "run",
  reauth: "run",
  access_request: "request",
  tool_approval: "request",
};

/** Whether what a notice reports waits no more; `since` is its place in the outbox. */
export const isNoticeSettled = async (sql: Sql, { kind, id, tenant }: Notice, since: bigint): Promise<boolean> => {
  const thing = things[kind];
  if (thing === "request") return (await sql.run(ENDED, [id, tenant, since])).length > 0;
  const waiting = thing === "task" ? await sql.run(TASK, [id, tenant]) : await sql.run(RUN, [id, tenant, kind]);
  return waiting.length === 0;
};
