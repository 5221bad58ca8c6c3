import { eventTypes, eventVersion } from "#contract/event-types.ts";
import type { OutboxRow, SinkRecord } from "./event-sink.ts";

export interface CloudEventParts {
  /** Names Sallyport in `ce_source`: the host of the audit origin. */
  readonly instanceId: string;
  readonly publicOrigin: string;
  readonly topicPrefix: string;
}

const SEQUENCE_DIGITS = 19;

/** Only members that the type declares: what a module tells its own live stream besides stays in Sallyport. */
const declaredOnly = (type: string, text: string): string => {
  const shape = eventTypes[type]?.data.shape;
  const data = JSON.parse(text) as Record<string, unknown>;
  if (shape === undefined || data["truncated"] === true) return text;
  return JSON.stringify(Object.fromEntries(Object.entries(data).filter(([name]) => Object.hasOwn(shape, name))));
};

/** CloudEvents 1.0 in the binary mode of the Kafka binding: attributes are headers `ce_*`, the value is the data. */
export const cloudEventOf = (row: OutboxRow, { instanceId, publicOrigin, topicPrefix }: CloudEventParts): SinkRecord => {
  const type = `${row.type}.${eventVersion}`;
  const headers: Record<string, string | undefined> = {
    "content-type": "application/json",
    ce_specversion: "1.0",
    ce_id: row.id,
    ce_source: `urn:sallyport:${instanceId}:${eventTypes[row.type]?.service ?? "sallyport"}`,
    ce_type: type,
    ce_time: row.at,
    ce_subject: row.key,
    ce_dataschema: `${publicOrigin}/api/v1/events/schemas/${type}`,
    ce_partitionkey: row.key,
    ce_tenant: row.tenant,
    // Of events without a version the order in which they were written: both grow within a key.
    ce_sequence: String(row.version ?? row.seq).padStart(SEQUENCE_DIGITS, "0"),
    ce_correlationid: row.correlation_id ?? undefined,
    ce_authtype: row.subject === null ? undefined : "user",
    ce_authid: row.subject ?? undefined,
    ce_traceparent: row.traceparent ?? undefined,
    traceparent: row.traceparent ?? undefined,
  };
  return {
    topic: `${topicPrefix}${row.topic}`,
    key: row.key,
    value: declaredOnly(row.type, row.data),
    headers: Object.fromEntries(Object.entries(headers).flatMap(([name, value]) => (value === undefined ? [] : [[name, value]]))),
  };
};

/** The copy of a record that was refused for good; without its value where that is what no topic takes. */
export const deadLetterOf = (record: SinkRecord, error: string, withValue: boolean): SinkRecord => ({
  topic: `${record.topic}.dlq`,
  key: record.key,
  value: withValue ? record.value : JSON.stringify({ truncated: true, bytes: Buffer.byteLength(record.value) }),
  headers: { ...record.headers, dlq_topic: record.topic, dlq_error: error },
});
