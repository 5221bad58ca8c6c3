import { createHash } from "node:crypto";
import { statement, type TransactionSql } from "#store/database.ts";
import type { EventDraft } from "./change.ts";

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

// Rows for other systems alone raise no head, so nothing waits for anything.
const KEEP = statement<never>(
  "events.keep",
  `insert into events.outbox (id, tenant, sink, topic, lane, key, type, subject, data, correlation_id)
   select (d ->> 'id')::uuid, d ->> 'tenant', 'kafka', d ->> 'topic', (d ->> 'lane')::smallint, d ->> 'key', d ->> 'type', d ->> 'subject',
          d -> 'data', d ->> 'correlation_id'
   from json_array_elements($1::json) with ordinality as given (d, place) order by place`,
);

const MOST_DATA_BYTES = 65_536;
const WORD = /^[a-z][a-z0-9_.-]{0,99}$/;

const dataOf = (draft: EventDraft): Readonly<Record<string, unknown>> => {
  const bytes = Buffer.byteLength(JSON.stringify(draft.data));
  return bytes > MOST_DATA_BYTES ? { truncated: true, bytes } : draft.data;
};

const rowOf = (draft: EventDraft, id: string): Readonly<Record<string, unknown>> => {
  if (!WORD.test(draft.type)) throw new TypeError("an event's type is a lower-case word with dots");
  if (draft.kind !== undefined && !WORD.test(draft.kind)) throw new TypeError("an event's kind is a lower-case word");
  if (draft.tenant === "") throw new TypeError("an event names its tenant");
  return {
    id,
    tenant: draft.tenant,
    stream: draft.stream,
    kind: draft.kind,
    visible_to: draft.visibleTo,
    key: draft.key,
    type: draft.type,
    data: dataOf(draft),
    correlation_id: draft.correlationId,
  };
};

/** Order is kept by topic and key: what belongs together is in one of 64 lanes. */
const laneOf = (topic: string, key: string): number =>
  createHash("sha256").update(`${topic}\0${key}`, "utf8").digest().readUInt32BE(0) % 64;

const keptRowOf = (draft: EventDraft, topic: string, id: string, ref: string | undefined): Readonly<Record<string, unknown>> => {
  const key = ref ?? draft.key;
  const data = ref === undefined ? draft.data : { ...draft.data, subject_ref: ref };
  return { ...rowOf({ ...draft, key, data }, id), topic, lane: laneOf(topic, key), ...(ref === undefined ? {} : { subject: ref }) };
};

/**
 * Writes events inside a running transaction, as its last statement. Answers the new heads, to be announced after the
 * commit. Events that no stream shows and that have no topic are not kept. Throws before writing if an event is malformed.
 * `refOf` names the subjects of events that are about somebody.
 */
export const emit = async (
  sql: TransactionSql,
  drafts: readonly EventDraft[],
  newId: () => string,
  refOf: (tenant: string, subject: string) => string | undefined = () => undefined,
): Promise<readonly StreamHead[]> => {
  const kept = drafts.flatMap((draft) =>
    draft.topic === undefined || draft.stream !== undefined
      ? []
      : [keptRowOf(draft, draft.topic, newId(), draft.about === undefined ? undefined : refOf(draft.tenant, draft.about))],
  );
  if (kept.length > 0) sql.post(KEEP, [JSON.stringify(kept)]);
  const rows = drafts.filter((draft) => draft.stream !== undefined).map((draft) => rowOf(draft, newId()));
  if (rows.length === 0) return [];
  const heads = await sql.run(EMIT, [JSON.stringify(rows)]);
  return heads.map((head) => ({ tenant: head.head_tenant, stream: head.head_stream, version: head.head_version }));
};
