/** A row of the outbox on its way to a sink. */
export interface OutboxRow {
  readonly seq: bigint;
  readonly id: string;
  readonly tenant: string;
  readonly version: bigint | null;
  readonly topic: string;
  readonly key: string;
  readonly lane: number;
  readonly type: string;
  /** Reference of whom it is about. */
  readonly subject: string | null;
  /** As it was written. */
  readonly data: string;
  readonly traceparent: string | null;
  readonly correlation_id: string | null;
  /** RFC 3339. */
  readonly at: string;
  readonly attempts: number;
}

/** What a sink is handed. */
export interface SinkRecord {
  readonly topic: string;
  readonly key: string;
  readonly value: string;
  readonly headers: Readonly<Record<string, string>>;
}

/** The sink refused a record of the batch for what it is (too large, its topic refused): another try alone does not help. */
export class RecordRefused extends Error {
  override readonly name = "RecordRefused";
}

/** The sink did not answer, or cannot take anything now. What was sent may have been taken. */
export class SinkUnavailable extends Error {
  override readonly name = "SinkUnavailable";
}

/** Takes events for other systems. */
export interface EventSink {
  /**
   * Resolves when all records are kept there, each key's in the order given. Throws `RecordRefused` or `SinkUnavailable`,
   * within the delivery timeout; some of the records may have been taken then.
   */
  send(records: readonly SinkRecord[]): Promise<void>;
  [Symbol.asyncDispose](): Promise<void>;
}
