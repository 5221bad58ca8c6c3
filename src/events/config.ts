import { z } from "zod";
import { isLoopbackHost } from "#contract/loopback.ts";
import type { Issue } from "#contract/problem.ts";
import { commaList, flag, integer, setting, type Environment, type SettingsOf, type SettingTable } from "#contract/setting.ts";

const ADDRESS = /^(?:\[[0-9a-fA-F:.]+\]|[A-Za-z0-9._-]{1,253}):[0-9]{1,5}$/;

/** Live streams, the relay to Kafka, and the audit log. */
export const eventsSettings = {
  busPollMs: setting("BUS_POLL_MS", integer(50, 60_000), {
    description:
      "Longest time until a process notices what another one changed when the database's hints are lost. Without effect on the embedded database.",
    unit: "ms",
    default: "1000",
  }),
  outboxReplayHours: setting("OUTBOX_REPLAY_HOURS", integer(1, 8_760), {
    description: "How long events of live streams can be read again; the newest 10000 of each stream always can.",
    unit: "h",
    default: "24",
  }),
  outboxMaxAttempts: setting("OUTBOX_MAX_ATTEMPTS", integer(1, 100), {
    description: "Tries of an event that Kafka refuses for what it is; then it goes to the dead letters.",
    unit: "tries",
    default: "10",
  }),
  outboxMaxRows: setting("OUTBOX_MAX_ROWS", integer(100, 1_000_000_000), {
    description:
      "Events that may wait for Kafka; from there on what would tell of itself is refused (event_backlog_full). Health says so at 80 %.",
    unit: "events",
    default: "5000000",
  }),
  kafkaBrokers: setting(
    "KAFKA_BROKERS",
    commaList().refine((items) => items.every((item) => ADDRESS.test(item)), "must be host:port, as a comma list"),
    {
      description: "Kafka's brokers, host:port as a comma list. Unset: events are told on live streams alone, and none is kept for Kafka.",
      default: "",
    },
  ),
  kafkaClientId: setting("KAFKA_CLIENT_ID", z.string().regex(/^[A-Za-z0-9._-]{1,100}$/, "must be 1-100 of letters, digits, . _ -"), {
    description: "How this deployment names itself to Kafka.",
    default: "sallyport",
  }),
  kafkaTopicPrefix: setting("KAFKA_TOPIC_PREFIX", z.string().regex(/^[A-Za-z0-9._-]{0,100}$/, "must be letters, digits, . _ -"), {
    description: "What the names of all topics begin with.",
    default: "",
  }),
  kafkaIdempotent: setting("KAFKA_IDEMPOTENT", flag(), {
    description: "Whether brokers number what they take, so that a repeated request is written once.",
    default: "true",
  }),
  kafkaCompression: setting("KAFKA_COMPRESSION", z.enum(["none", "gzip", "zstd"]), {
    description: "How batches are compressed.",
    default: "zstd",
  }),
  kafkaCreateTopics: setting("KAFKA_CREATE_TOPICS", flag().optional(), {
    description: "Whether a topic that is not there is made, with 6 partitions. Unset: true in dev and test, else false.",
  }),
  kafkaReplication: setting("KAFKA_REPLICATION", integer(1, 100).optional(), {
    description: "On how many brokers a topic that is made is kept. Unset: 3, in dev and test 1.",
    unit: "brokers",
  }),
  kafkaTls: setting("KAFKA_TLS", flag(), {
    description: "Whether brokers are spoken to over TLS; false in production on loopback only.",
    default: "true",
    npmStart: "false",
  }),
  kafkaTlsCaFile: setting("KAFKA_TLS_CA_FILE", z.string().min(1).optional(), {
    description: "Authorities (PEM) that signed the brokers' certificates. Unset: those of the system.",
  }),
  kafkaSaslMechanism: setting("KAFKA_SASL_MECHANISM", z.enum(["PLAIN", "SCRAM-SHA-256", "SCRAM-SHA-512"]).optional(), {
    description: "How Sallyport signs in at the brokers. Unset: not at all.",
  }),
  kafkaSaslUsername: setting("KAFKA_SASL_USERNAME", z.string().min(1).max(256).optional(), { description: "As whom it signs in." }),
  kafkaSaslPasswordFile: setting("KAFKA_SASL_PASSWORD_FILE", z.string().min(1).optional(), { description: "File with the password." }),
  kafkaDeliveryTimeoutMs: setting("KAFKA_DELIVERY_TIMEOUT_MS", integer(100, 60_000), {
    description: "Longest wait for the brokers' word that a batch is kept; then it is sent again.",
    unit: "ms",
    default: "10000",
  }),
  auditOrigin: setting(
    "AUDIT_ORIGIN",
    z
      .string()
      .regex(/^[a-z0-9.-]{1,200}$/, "must be a host name")
      .optional(),
    {
      description: "Host that the origins of the audit logs begin with. Unset: the public host of the gateway.",
    },
  ),
  auditKekFile: setting("AUDIT_KEK_FILE", z.string().min(1).optional(), {
    description:
      "File with the key of 32 bytes that wraps the keys of persons' references. In dev and test one is made in the data folder when this is unset.",
  }),
  auditOpenTimeoutMs: setting("AUDIT_OPEN_TIMEOUT_MS", integer(10, 60_000), {
    description: "How long an act waits for its audit entry before it is refused.",
    unit: "ms",
    default: "2000",
  }),
} satisfies SettingTable;

/** What no single row can say. */
export const eventsIssues = (config: SettingsOf<typeof eventsSettings>, environment: Environment): readonly Issue[] => {
  const issues: Issue[] = [];
  const isFar = config.kafkaBrokers.some((broker) => !isLoopbackHost(broker.slice(0, broker.lastIndexOf(":"))));
  if (environment === "production" && !config.kafkaTls && isFar)
    issues.push({ path: "KAFKA_TLS", message: "must be true unless on loopback, where ENVIRONMENT is production" });
  const sasl = [config.kafkaSaslMechanism, config.kafkaSaslUsername, config.kafkaSaslPasswordFile];
  if (sasl.some((value) => value === undefined) && sasl.some((value) => value !== undefined))
    issues.push({
      path: "KAFKA_SASL_MECHANISM, KAFKA_SASL_USERNAME, KAFKA_SASL_PASSWORD_FILE",
      message: "are needed together",
    });
  return issues;
};
