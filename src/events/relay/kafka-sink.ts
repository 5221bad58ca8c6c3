import { Admin, ProduceAcks, Producer } from "@platformatic/kafka";
import { RecordRefused, SinkUnavailable, type EventSink, type SinkRecord } from "./event-sink.ts";

export interface KafkaOptions {
  /** host:port, at least one. */
  readonly brokers: readonly string[];
  readonly clientId: string;
  /** A broker that keeps producers' numbers writes no batch twice when the client repeats it. */
  readonly idempotent: boolean;
  readonly compression: "none" | "gzip" | "zstd";
  readonly deliveryTimeoutMs: number;
  /** Topics that are not there are made; by the broker's own defaults where it lets nobody else make them. */
  readonly createTopics: boolean;
  /** On how many brokers each partition of a topic is kept that is made so. */
  readonly replication: number;
  /** Unset: plain TCP. */
  readonly tls?: { readonly ca?: string | undefined } | undefined;
  readonly sasl?:
    | { readonly mechanism: "PLAIN" | "SCRAM-SHA-256" | "SCRAM-SHA-512"; readonly username: string; readonly password: string }
    | undefined;
}

/** Kafka's words for a record that it will not take, however often it comes. */
const refusals: ReadonlySet<string> = new Set([
  "MESSAGE_TOO_LARGE",
  "RECORD_LIST_TOO_LARGE",
  "INVALID_RECORD",
  "INVALID_TOPIC_EXCEPTION",
  "TOPIC_AUTHORIZATION_FAILED",
  "POLICY_VIOLATION",
]);

/** Partitions of a topic that is made: each key is in one of them. */
const PARTITIONS = 6;
/** A topic is there, or not for us to make: who sends to it is told what is so. */
const unmade: ReadonlySet<string> = new Set([
  "TOPIC_ALREADY_EXISTS",
  "TOPIC_AUTHORIZATION_FAILED",
  "CLUSTER_AUTHORIZATION_FAILED",
  "PLT_KFK_UNSUPPORTED_API",
]);

/** Kafka's own words of a fault, which hold no address, and of the client's the code. */
const wordsOf = (error: unknown): readonly string[] => {
  const { apiId, code, errors, cause } = error as { apiId?: unknown; code?: unknown; errors?: readonly unknown[]; cause?: unknown };
  const own = typeof apiId === "string" ? apiId : undefined;
  const inner = [...(errors ?? []), ...(cause === undefined ? [] : [cause])]
    .filter((one) => typeof one === "object" && one !== null)
    .flatMap(wordsOf);
  if (own !== undefined) return [own, ...inner];
  return inner.length > 0 ? inner : typeof code === "string" ? [code] : [];
};

/** A producer of `@platformatic/kafka`: acknowledged by all replicas, one request after the other. */
export const createKafkaSink = (options: KafkaOptions): EventSink => {
  const { brokers, clientId, idempotent, compression, deliveryTimeoutMs, createTopics, replication, tls, sasl } = options;
  // A topic that nobody makes is the record's fault: the others go on.
  const isRefusal = (word: string): boolean => refusals.has(word) || (!createTopics && word === "UNKNOWN_TOPIC_OR_PARTITION");

  const connecting = {
    clientId,
    bootstrapBrokers: [...brokers],
    retryDelay: 200,
    connectTimeout: deliveryTimeoutMs,
    requestTimeout: deliveryTimeoutMs,
    timeout: deliveryTimeoutMs,
    ...(tls === undefined ? {} : { tls: tls.ca === undefined ? {} : { ca: tls.ca } }),
    ...(sasl === undefined ? {} : { sasl }),
  };
  const open = (): Producer<string, string, string, string> =>
    new Producer({
      ...connecting,
      serializers: {
        key: (text?: string) => Buffer.from(text ?? ""),
        value: (text?: string) => Buffer.from(text ?? ""),
        headerKey: (text?: string) => Buffer.from(text ?? ""),
        headerValue: (text?: string) => Buffer.from(text ?? ""),
      },
      idempotent,
      acks: ProduceAcks.ALL,
      ...(compression === "none" ? {} : { compression }),
      maxInflights: 1,
      // The outbox repeats; of an idempotent producer the client takes less than 2 for "for ever".
      retries: idempotent ? 2 : 0,
      autocreateTopics: createTopics,
    });
  const known = new Set<string>();
  /** Before the first record of each topic; one that is there stays as it is. */
  const makeTopics = async (records: readonly SinkRecord[]): Promise<void> => {
    const topics = [...new Set(records.map(({ topic }) => topic))].filter((topic) => !known.has(topic));
    if (!createTopics || topics.length === 0) return;
    const admin = new Admin({ ...connecting, retries: 0 });
    try {
      await admin.createTopics({ topics, partitions: PARTITIONS, replicas: replication });
    } catch (error) {
      const words = wordsOf(error);
      if (words.length === 0 || !words.every((word) => unmade.has(word))) throw error;
    } finally {
      void admin.close().catch(() => undefined);
    }
    for (const topic of topics) known.add(topic);
  };
  let producer: ReturnType<typeof open> | undefined;
  /** A client that failed may hold a dead connection or wait for ever: the next send has a new one. */
  const letGo = (): void => {
    void producer?.close(true).catch(() => undefined);
    producer = undefined;
  };

  const sendAll = async (records: readonly SinkRecord[]): Promise<void> => {
    await makeTopics(records);
    producer ??= open();
    await producer.send({ messages: records.map((record) => ({ ...record, headers: { ...record.headers } })) });
  };
  const inTime = async (records: readonly SinkRecord[]): Promise<void> => {
    const late = Promise.withResolvers<never>();
    const timer = setTimeout(() => late.reject(new SinkUnavailable("the broker does not answer")), deliveryTimeoutMs);
    const sending = sendAll(records);
    try {
      await Promise.race([sending, late.promise]);
    } finally {
      clearTimeout(timer);
      sending.catch(() => undefined);
    }
  };

  return {
    send: async (records) => {
      try {
        await inTime(records);
      } catch (error) {
        if (error instanceof SinkUnavailable) {
          letGo();
          throw error;
        }
        // Said of the topics that were there, where one beside them could not be made.
        const words = [...new Set(wordsOf(error))].filter((word) => word !== "TOPIC_ALREADY_EXISTS");
        const refusal = words.find(isRefusal);
        if (refusal !== undefined) throw new RecordRefused(refusal, { cause: error });
        letGo();
        throw new SinkUnavailable(words.join(", ") || "the broker cannot be used", { cause: error });
      }
    },
    [Symbol.asyncDispose]: async () => letGo(),
  };
};
