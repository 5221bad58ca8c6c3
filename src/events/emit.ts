import { statement, type Sql } from "#store/database.ts";
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

/**
 * Writes events inside a running transaction, as its last statement. Answers the new heads, to be announced after the
 * commit. Events that no stream shows and no relay takes are not kept. Throws before writing if an event is malformed.
 */
export const emit = async (sql: Sql, drafts: readonly EventDraft[], newId: () => string): Promise<readonly StreamHead[]> => {
  const rows = drafts.filter((draft) => draft.stream !== undefined).map((draft) => rowOf(draft, newId()));
  if (rows.length === 0) return [];
  const heads = await sql.run(EMIT, [JSON.stringify(rows)]);
  return heads.map((head) => ({ tenant: head.head_tenant, stream: head.head_stream, version: head.head_version }));
};
