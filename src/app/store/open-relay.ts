import { readFile } from "node:fs/promises";
import { StartIssues } from "#contract/start-issues.ts";
import { createBacklog, type Backlog } from "#events/relay/backlog.ts";
import type { KafkaOptions } from "#events/relay/kafka-sink.ts";
import { createRelay } from "#events/relay/relay.ts";
import { readCertificates } from "#http/pem-files.ts";
import type { Database } from "#store/database.ts";
import type { InstanceSettings } from "#app/model/settings.ts";
import type { StartParts } from "#app/model/start-parts.ts";

/** How Kafka is reached, its files read; undefined where none is configured. Throws `StartIssues` for files that cannot be read. */
export const readKafkaOptions = async ({ events, instance }: InstanceSettings): Promise<KafkaOptions | undefined> => {
  if (events.kafkaBrokers.length === 0) return undefined;
  const {
    kafkaTlsCaFile: caFile,
    kafkaSaslMechanism: mechanism,
    kafkaSaslUsername: username,
    kafkaSaslPasswordFile: passwordFile,
  } = events;
  const authority = caFile === undefined || !events.kafkaTls ? undefined : await readCertificates(caFile);
  if (authority !== undefined && "issue" in authority) throw new StartIssues([{ path: "KAFKA_TLS_CA_FILE", message: authority.issue }]);
  const password =
    passwordFile === undefined
      ? undefined
      : await readFile(passwordFile, "utf8").catch((error: NodeJS.ErrnoException) => {
          throw new StartIssues([
            { path: "KAFKA_SASL_PASSWORD_FILE", message: `${passwordFile} cannot be read (${error.code ?? "unknown"})` },
          ]);
        });
  return {
    brokers: events.kafkaBrokers,
    clientId: events.kafkaClientId,
    idempotent: events.kafkaIdempotent,
    compression: events.kafkaCompression,
    deliveryTimeoutMs: events.kafkaDeliveryTimeoutMs,
    createTopics: events.kafkaCreateTopics ?? instance.environment !== "production",
    replication: events.kafkaReplication ?? (instance.environment === "production" ? 3 : 1),
    tls: events.kafkaTls ? { ca: authority?.text } : undefined,
    sasl:
      mechanism === undefined || username === undefined || password === undefined
        ? undefined
        : { mechanism, username, password: password.replace(/\r?\n$/, "") },
  };
};

export interface OpenRelayParts extends Pick<StartParts, "log" | "metrics" | "tracing" | "stack"> {
  readonly database: Database;
  readonly settings: InstanceSettings;
  readonly publicOrigin: string;
  /** Host of the audit origin. */
  readonly instanceId: string;
}

/** The relay to Kafka, where one is configured; Kafka need not be there yet. */
export const openRelay = async ({ settings, stack, ...parts }: OpenRelayParts): Promise<Backlog | undefined> => {
  const options = await readKafkaOptions(settings);
  if (options === undefined) return undefined;
  const backlog = stack.use(createBacklog({ ...parts, maxRows: settings.events.outboxMaxRows }));
  // Only an instance that has a broker waits for its library, which is as large as half of Sallyport.
  const { createKafkaSink } = await import("#events/relay/kafka-sink.ts");
  const sink = stack.use(createKafkaSink(options));
  stack.use(
    createRelay({
      ...parts,
      sink,
      backlog,
      topicPrefix: settings.events.kafkaTopicPrefix,
      maxAttempts: settings.events.outboxMaxAttempts,
      deliveryTimeoutMs: options.deliveryTimeoutMs,
    }),
  );
  return backlog;
};
