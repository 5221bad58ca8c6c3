import { statement, type Sql } from "#store/database.ts";
import { requestColumns, type RequestRow } from "./request-store.ts";

/** What time and other policies end, whether or not it is written down yet. */

const outdate = statement(
  "pdp.request.outdate",
  `update pdp.request set void_reason = 'policies_changed'
   where policy_version <> $1 and voided_at is null and void_reason is null and (status = 'pending' or status = 'approved' and used_by is null)`,
);

/**
 * Ends what was asked and approved under other policies than these, in the transaction that lets them decide: it does not come to life
 * again when the former do. Whoever sweeps writes the end down and tells it.
 */
export const outdateRequests = (sql: Sql, active: string): Promise<unknown> => sql.run(outdate, [active]);

const decides = statement("pdp.request.decides", "select 1 from pdp.pointer where id = 1 and active = $1 for share");

/** Whether this version decides; no other will before the transaction ends, so what is asked for under it is seen by who ends that. */
export const isDeciding = async (sql: Sql, version: string): Promise<boolean> => (await sql.run(decides, [version])).length > 0;

const endOwn = statement<RequestRow>(
  "pdp.request.end_own",
  `update pdp.request set status = case when void_reason is null and policy_version = $3 then 'expired' else 'failed' end,
     failure = case when void_reason is null and policy_version = $3 then null else 'policies_changed' end
   where tenant = $1 and requester = $2 and status = 'pending'
     and (expires_at <= $4 or void_reason is not null or policy_version <> $3) returning ${requestColumns}`,
);

/** Ends what is due of somebody who asks anew: it neither counts as open any more nor stands in the way. */
export const endOwnOutdated = (sql: Sql, by: Pick<RequestRow, "tenant" | "requester" | "policy_version">, now: Date) =>
  sql.run(endOwn, [by.tenant, by.requester, by.policy_version, now]);

const some = (which: string) => `(select id from pdp.request where ${which} order by id limit 200 for update skip locked)`;
const ofOthers = "(void_reason is not null or policy_version <> (select active from pdp.pointer where id = 1))";
const expire = statement<RequestRow>(
  "pdp.request.expire",
  `update pdp.request set status = 'expired' where id in ${some("status = 'pending' and expires_at <= $1 and void_reason is null")} returning ${requestColumns}`,
);
const failOfOthers = statement<RequestRow>(
  "pdp.request.fail_of_others",
  `update pdp.request set status = 'failed', failure = 'policies_changed'
   where id in ${some(`status = 'pending' and ${ofOthers}`)} returning ${requestColumns}`,
);
const voidOfOthers = statement<RequestRow>(
  "pdp.request.void_of_others",
  `update pdp.request set voided_at = $1, void_reason = 'policies_changed'
   where id in ${some(
     `status = 'approved' and used_by is null and voided_at is null and approved_until > $1
      and ${ofOthers}`,
   )} returning ${requestColumns}`,
);

/** Ends what has run out, and what was bound to policies that no longer decide. A part at a time. */
export const endOutdated = async (sql: Sql, now: Date) => ({
  expired: await sql.run(expire, [now]),
  failed: await sql.run(failOfOthers),
  voided: await sql.run(voidOfOthers, [now]),
});
