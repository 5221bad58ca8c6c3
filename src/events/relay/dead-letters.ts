import { Problem } from "#contract/problem.ts";
import type { EntryDraft } from "#events/audit/entry.ts";
import type { Change } from "#events/changes/change.ts";
import { statement, type Database } from "#store/database.ts";

/** An event that the sink has not taken. */
export interface Untaken {
  readonly seq: bigint;
  readonly id: string;
  readonly type: string;
  readonly topic: string;
  readonly key: string;
  /** `*`: of Sallyport, and no tenant's. */
  readonly tenant: string;
  readonly at: string;
  readonly attempts: number;
  readonly next_at: string;
  readonly dead_at: string | null;
  readonly error: string | null;
  readonly bytes: number;
}
type Named = Pick<Untaken, "id" | "type" | "topic" | "key">;

/** The tenant `*` stands for all of them. */
const ofTenant = "($1 = '*' or tenant = $1)";
const listed = (name: string, state: string) =>
  statement<Untaken>(
    name,
    `select seq, id, type, topic, key, tenant, at, attempts, next_at, dead_at, error, octet_length(data::text) as bytes
     from events.outbox where sink is not null and sent_at is null and ${state} and ${ofTenant} and seq > $2 order by seq limit $3`,
  );
const LIST = {
  pending: listed("events.outbox_pending_list", "dead_at is null"),
  dead: listed("events.outbox_dead_list", "dead_at is not null"),
};

const acted = (name: string, set: string) =>
  statement<Named>(
    name,
    `update events.outbox set dead_at = null, ${set} where id = $2 and dead_at is not null and ${ofTenant} returning id, type, topic, key`,
  );
const ACTS = {
  retried: acted("events.outbox_retry", "attempts = 0, next_at = clock_timestamp(), error = null"),
  // As if it had been taken, so that it goes with its stream's window.
  dropped: acted("events.outbox_drop", "sent_at = clock_timestamp(), error = 'dropped'"),
};

const UUID = /^[0-9a-f]{8}(?:-[0-9a-f]{4}){3}-[0-9a-f]{12}$/i;

export type DeadLetters = ReturnType<typeof createDeadLetters>;

/** What an operator does about events that the sink refused for good. */
export const createDeadLetters = (parts: { readonly database: Database; readonly change: Change; readonly notify: () => void }) => ({
  /** The tenant's, from after this place on, the oldest first. */
  list: (state: keyof typeof LIST, tenant: string, after: bigint, limit: number): Promise<readonly Untaken[]> =>
    parts.database.run(LIST[state], [tenant, after, limit]),
  /** One act, with an audit entry of who did it. Throws `not_found` for what is no dead letter of the tenant, `audit_unavailable`. */
  act: async (
    act: keyof typeof ACTS,
    { id, tenant }: { readonly id: string; readonly tenant: string },
    by: Omit<EntryDraft, "category" | "outcome" | "resource" | "data">,
  ): Promise<Named> => {
    if (!UUID.test(id)) throw new Problem("not_found");
    const row = await parts.change(async (sql) => {
      const [found] = await sql.run(ACTS[act], [tenant, id]);
      if (found === undefined) throw new Problem("not_found");
      const data = { event: `outbox_${act}`, type: found.type, topic: found.topic };
      return {
        result: found,
        entries: [{ ...by, category: "system" as const, outcome: "ok" as const, resource: { type: "outbox", id }, data }],
      };
    });
    parts.notify();
    return row;
  },
});
