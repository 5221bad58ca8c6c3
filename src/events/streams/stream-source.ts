import { activityMembers } from "#contract/tool-call-record.ts";
import { statement, type Database } from "#store/database.ts";
import type { StreamHead } from "#events/model/emit.ts";

/** One event of a live stream, as it stands in the table. */
export interface StreamEvent {
  /** Version of its stream; of `activity`: the index in the tenant's audit log. */
  readonly seq: bigint;
  readonly id: string;
  readonly type: string;
  /** `event:` line of its frame. */
  readonly kind: string | undefined;
  readonly at: string;
  readonly correlationId: string | undefined;
  /** Names of those who may see it; undefined = all who may read the stream. */
  readonly visibleTo: readonly string[] | undefined;
  /** Wire names. */
  readonly data: Readonly<Record<string, unknown>>;
}

export interface Reach extends StreamHead {
  /** The oldest version that can still be read. */
  readonly oldest: bigint;
}

/** Truth of the live streams: the tables. */
export interface StreamSource {
  /** Heads of these streams in one statement; a stream that never had an event is missing. */
  heads(streams: readonly { readonly tenant: string; readonly stream: string }[]): Promise<readonly Reach[]>;
  /** Events after a version, in order, at most `limit`. */
  read(tenant: string, stream: string, after: bigint, limit: number): Promise<readonly StreamEvent[]>;
}

const HEADS = statement<Reach>(
  "events.heads",
  `select tenant, stream, version, oldest from events.stream_head
   where (tenant, stream) in (select * from unnest($1::text[], $2::text[]))
   union all
   select log, 'activity', size - 1, 0::bigint from events.audit_log
   where log in (select t from unnest($1::text[], $2::text[]) as given (t, s) where s = 'activity')`,
);

interface EventRow {
  readonly version: bigint;
  readonly id: string;
  readonly type: string;
  readonly kind: string | null;
  readonly at: string;
  readonly correlation_id: string | null;
  readonly visible_to: readonly string[] | null;
  readonly data: Readonly<Record<string, unknown>>;
}

const EVENTS = statement<EventRow>(
  "events.read",
  `select version, id, type, kind, at, correlation_id, visible_to, data from events.outbox
   where tenant = $1 and stream = $2 and version > $3 order by version limit $4`,
);

interface ActRow {
  readonly seq: bigint;
  readonly entry_id: string;
  readonly at: string;
  readonly started_at: string | null;
  readonly phase: string;
  readonly category: string;
  readonly act_id: string;
  readonly outcome: string;
  readonly code: string | null;
  readonly subject_ref: string;
  readonly agent_id: string | null;
  readonly delegation_id: string | null;
  readonly tool: string | null;
  readonly resource_type: string;
  readonly resource_id: string | null;
  readonly resource_ref: string | null;
  readonly decision_id: string | null;
  readonly correlation_id: string;
  readonly actor_kind: string | null;
  readonly data: Readonly<Record<string, unknown>> | null;
}

/** An entry of the log as its act's row: a close also tells when the act began. */
const ACTS = statement<ActRow>(
  "events.acts",
  `select e.seq, e.entry_id, e.at, e.phase, e.category, e.act_id, e.outcome, e.code, e.subject_ref, e.agent_id, e.delegation_id, e.tool,
     e.resource_type, e.resource_id, e.resource_ref, e.decision_id, e.correlation_id,
     convert_from(e.leaf, 'UTF8')::json -> 'actor' ->> 'kind' as actor_kind, convert_from(e.leaf, 'UTF8')::json -> 'data' as data,
     (select o.at from events.audit_entry as o where o.act_id = e.act_id and o.log = e.log and o.phase = 'open') as started_at
   from events.audit_entry as e where e.log = $1 and e.seq > $2 order by e.seq limit $3`,
);

const given = (members: Readonly<Record<string, unknown>>): Record<string, unknown> =>
  Object.fromEntries(Object.entries(members).filter(([, value]) => value !== null && value !== undefined));

const actOf = (row: ActRow): StreamEvent => ({
  seq: row.seq,
  id: row.entry_id,
  type: `act.${row.phase === "open" ? "opened" : row.phase === "close" ? "closed" : "recorded"}`,
  kind: "activity",
  at: row.at,
  correlationId: row.correlation_id,
  visibleTo: [row.subject_ref, ...(row.agent_id === null ? [] : [row.agent_id])],
  data: given({
    act_id: row.act_id,
    at: row.started_at ?? row.at,
    ended_at: row.phase === "close" ? row.at : undefined,
    category: row.category,
    outcome: row.outcome,
    code: row.code,
    actor: given({ subject_ref: row.subject_ref, kind: row.actor_kind, agent_id: row.agent_id, delegation_id: row.delegation_id }),
    resource: given({ type: row.resource_type, id: row.resource_id, ref: row.resource_ref }),
    tool: row.tool,
    decision_id: row.decision_id,
    ...Object.fromEntries(activityMembers.map((name) => [name, row.data?.[name]])),
  }),
});

const eventOf = (row: EventRow): StreamEvent => ({
  seq: row.version,
  id: row.id,
  type: row.type,
  kind: row.kind ?? undefined,
  at: row.at,
  correlationId: row.correlation_id ?? undefined,
  visibleTo: row.visible_to ?? undefined,
  data: row.data,
});

export const createStreamSource = (database: Database): StreamSource => ({
  heads: (streams) => database.run(HEADS, [streams.map(({ tenant }) => tenant), streams.map(({ stream }) => stream)]),
  read: async (tenant, stream, after, limit) =>
    stream === "activity"
      ? (await database.run(ACTS, [tenant, after, limit])).map(actOf)
      : (await database.run(EVENTS, [tenant, stream, after, limit])).map(eventOf),
});
