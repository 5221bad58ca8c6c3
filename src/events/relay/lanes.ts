import { statement, type Database } from "#store/database.ts";
import type { OutboxRow } from "./event-sink.ts";

/** Lanes that this process relays until the lease is over. */
export interface Lease {
  /** Lane -> epoch under which it was taken. */
  readonly lanes: ReadonlyMap<number, bigint>;
  /** By this process's monotonic clock, ms. */
  readonly until: number;
}

const MAX_LANES = 8;
const MAX_ROWS = 500;

/** Whether the row `o`, or one of its key before it, was refused for what it is and is not due yet. */
const heldBack = `exists (select 1 from events.outbox w
         where w.lane = o.lane and w.sink is not null and w.sent_at is null and w.dead_at is null and w.attempts > 0
           and w.next_at > statement_timestamp() and w.topic = o.topic and w.key = o.key and w.seq <= o.seq)`;

// A lane with nothing but rows that are held back is left alone: it would be taken again and again, and others would wait.
const CLAIM = statement<{ lane: number; epoch: bigint }>(
  "events.lanes_claim",
  `update events.outbox_lane set lease_by = $1, lease_until = clock_timestamp() + make_interval(secs => $2), epoch = epoch + 1
   where lane in (
     select l.lane from events.outbox_lane l
     where (l.lease_until is null or l.lease_until < clock_timestamp())
       and exists (select 1 from events.outbox o
         where o.lane = l.lane and o.sink is not null and o.sent_at is null and o.dead_at is null and o.next_at <= clock_timestamp()
           and not ${heldBack})
     order by l.lane limit ${MAX_LANES} for update skip locked)
   returning lane, epoch`,
);
const RELEASE = statement(
  "events.lanes_release",
  `update events.outbox_lane l set lease_until = null
   from unnest($2::int[], $3::bigint[]) as mine (lane, epoch)
   where l.lane = mine.lane and l.epoch = mine.epoch and l.lease_by = $1`,
);
/**
 * A row that is not due yet holds back its own key and nothing else. By the time at which the statement began: by a clock that goes on, a row could
 * become due between two rows of its key, and the later one would go ahead of it.
 */
const DUE = statement<OutboxRow>(
  "events.outbox_due",
  `select o.seq, o.id, o.tenant, o.version, o.topic, o.key, o.lane, o.type, o.subject, o.data::text as data, o.traceparent, o.correlation_id,
     to_char(o.at at time zone 'UTC', 'YYYY-MM-DD"T"HH24:MI:SS.MS"Z"') as at, o.attempts
   from unnest($1::int[]) as mine (lane)
   cross join lateral (
     select * from events.outbox o
     where o.lane = mine.lane and o.sink is not null and o.sent_at is null and o.dead_at is null
       and not ${heldBack}
     order by o.seq limit $2) o
   order by o.seq`,
);
const whileMine = `from events.outbox_lane l join unnest($2::int[], $3::bigint[]) as mine (lane, epoch) on l.lane = mine.lane and l.epoch = mine.epoch
   where l.lease_by = $1 and o.lane = l.lane and o.sent_at is null and o.seq`;
const SENT = statement<{ waited: number }>(
  "events.outbox_sent",
  `update events.outbox o set sent_at = clock_timestamp(), error = null ${whileMine} = any($4::bigint[])
   returning extract(epoch from clock_timestamp() - o.at)::float8 as waited`,
);
const REFUSED = statement(
  "events.outbox_refused",
  `update events.outbox o set attempts = o.attempts + 1, error = $5,
     dead_at = case when $6::float8 is null then clock_timestamp() end,
     next_at = case when $6::float8 is null then o.next_at else clock_timestamp() + make_interval(secs => $6::float8) end
   ${whileMine} = $4::bigint`,
);

/** The lanes of the outbox, as the relay of one process takes them. Leases go by the database's clock. */
export const createLanes = ({ database, owner, leaseSeconds }: { database: Database; owner: string; leaseSeconds: number }) => {
  const epochs = ({ lanes }: Lease): readonly [number[], bigint[]] => [[...lanes.keys()], [...lanes.values()]];
  return {
    /** Lanes with due rows that nobody holds; none where there are none. */
    claim: async (): Promise<Lease | undefined> => {
      const until = performance.now() + leaseSeconds * 1000;
      const taken = await database.run(CLAIM, [owner, leaseSeconds]);
      return taken.length === 0 ? undefined : { lanes: new Map(taken.map(({ lane, epoch }) => [lane, epoch])), until };
    },
    release: (lease: Lease) => database.run(RELEASE, [owner, ...epochs(lease)]),
    /** Rows to be sent now, in their order, about 500; whether there are no more of these lanes. */
    due: async ({ lanes }: Lease): Promise<{ readonly rows: readonly OutboxRow[]; readonly isAll: boolean }> => {
      const maxOfLane = Math.ceil(MAX_ROWS / lanes.size);
      const rows = await database.run(DUE, [[...lanes.keys()], maxOfLane]);
      const full = Map.groupBy(rows, ({ lane }) => lane)
        .values()
        .some(({ length }) => length === maxOfLane);
      return { rows, isAll: !full };
    },
    /** Seconds that each row waited; fewer than rows: a lane is another's by now. */
    markSent: async (lease: Lease, rows: readonly OutboxRow[]): Promise<readonly number[]> =>
      (await database.run(SENT, [owner, ...epochs(lease), rows.map(({ seq }) => seq)])).map(({ waited }) => waited),
    /** One more try in vain; without a wait there is none after it. */
    markRefused: (lease: Lease, row: OutboxRow, error: string, waitSeconds: number | undefined) =>
      database.run(REFUSED, [owner, ...epochs(lease), row.seq, error.slice(0, 500), waitSeconds ?? null]),
  };
};
