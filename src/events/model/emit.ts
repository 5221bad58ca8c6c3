import { createHash } from "node:crypto";
import { eventTypes } from "#contract/event-types.ts";
import { statement, type TransactionSql } from "#store/database.ts";
import type { EventDraft } from "./event-draft.ts";

/** The newest version of a stream after an emission. */
export interface StreamHead {
  readonly tenant: string;
  readonly stream: string;
  readonly version: bigint;
}

const EMIT = statement<{ head_tenant: string; head_stream: string; head_version: bigint }>(
  "events.emit",
  "select head_tenant, head_stream, head_version from events.emit($1::json)",
);

// Rows for the sink alone raise no head, so nothing waits for anything.
const KEEP = statement<never>(
  "events.keep",
  `insert into events.outbox (id, tenant, sink, topic, lane, key, type, subject, data, traceparent, correlation_id)
   select (d ->> 'id')::uuid, d ->> 'tenant', d ->> 'sink', d ->> 'topic', (d ->> 'lane')::smallint, d ->> 'key', d ->> 'type', d ->> 'subject',
          d -> 'data', d ->> 'traceparent', d ->> 'correlation_id'
   from json_array_elements($1::json) with ordinality as given (d, place) order by place`,
);

/** A configured taker of events besides the live streams. */
export interface SinkInUse {
  readonly name: "kafka";
  /** Throws `event_backlog_full` while too much waits for it. */
  requireCapacity(): void;
  /** This process committed something that may be for it. */
  notify(): void;
}

export interface EmitOptions {
  readonly newId: () => string;
  /** Names the subjects of events that are about somebody, and who made them. */
  readonly refOf?: (tenant: string, subject: string) => string | undefined;
  /** Nobody takes events besides the streams unless given. */
  readonly sink?: SinkInUse | undefined;
}

const MAX_DATA_BYTES = 65_536;
const WORD = /^[a-z][a-z0-9_.-]{0,99}$/;

const dataOf = (data: EventDraft["data"]): EventDraft["data"] => {
  const bytes = Buffer.byteLength(JSON.stringify(data));
  return bytes > MAX_DATA_BYTES ? { truncated: true, bytes } : data;
};

/** Order is kept by topic and key: what belongs together is in one of 64 lanes. */
const laneOf = (topic: string, key: string): number =>
  createHash("sha256").update(`${topic}\0${key}`, "utf8").digest().readUInt32BE(0) % 64;

/**
 * What the sink needs besides; a type that none takes needs nothing. Throws TypeError for data that consumers would not know, whether or not
 * there is a sink: an instance that has one must not refuse what another does.
 */
const sinkOf = ({ type }: EventDraft, key: string, data: EventDraft["data"], sink: SinkInUse | undefined) => {
  const row = eventTypes[type];
  if (row === undefined) return undefined;
  const read = row.data.safeParse(data);
  if (!read.success)
    throw new TypeError(`data of ${type}: ${read.error.issues.map(({ path, message }) => `${path.join(".")} ${message}`).join("; ")}`);
  return sink === undefined ? undefined : { sink: sink.name, topic: row.topic, lane: laneOf(row.topic, key) };
};

const rowOf = (draft: EventDraft, { newId, refOf, sink }: EmitOptions) => {
  if (!WORD.test(draft.type)) throw new TypeError("an event's type is a lower-case word with dots");
  if (draft.kind !== undefined && !WORD.test(draft.kind)) throw new TypeError("an event's kind is a lower-case word");
  if (draft.tenant === "") throw new TypeError("an event names its tenant");
  const ref = draft.about === undefined ? undefined : refOf?.(draft.tenant, draft.about);
  const author = draft.by === undefined ? undefined : refOf?.(draft.tenant, draft.by);
  const key = ref ?? draft.key;
  const data = {
    ...draft.data,
    ...(ref === undefined ? {} : { subject_ref: ref }),
    ...(author === undefined ? {} : { author: { ref: author } }),
  };
  return {
    id: draft.id ?? newId(),
    tenant: draft.tenant,
    stream: draft.stream,
    kind: draft.kind,
    visible_to: draft.visibleTo,
    key,
    type: draft.type,
    subject: ref,
    data: dataOf(data),
    traceparent: draft.traceparent,
    correlation_id: draft.correlationId,
    ...sinkOf(draft, key, data, sink),
  };
};

/**
 * Writes events inside a running transaction, as its last statement. Answers the new heads, to be announced after the
 * commit. Events that no stream shows and no sink takes are not kept. Throws before writing if an event is malformed.
 */
export const emit = async (sql: TransactionSql, drafts: readonly EventDraft[], options: EmitOptions): Promise<readonly StreamHead[]> => {
  const rows = drafts.map((draft) => rowOf(draft, options));
  const kept = rows.filter((row) => row.stream === undefined && row.sink !== undefined);
  if (kept.length > 0) sql.post(KEEP, [JSON.stringify(kept)]);
  const shown = rows.filter((row) => row.stream !== undefined);
  if (shown.length === 0) return [];
  const heads = await sql.run(EMIT, [JSON.stringify(shown)]);
  return heads.map((head) => ({ tenant: head.head_tenant, stream: head.head_stream, version: head.head_version }));
};
