import { randomUUID } from "node:crypto";
import { hasServiceKeys, openServiceKeys, resealServiceKeys } from "#authn/keys/service-key-store.ts";
import { foreignSecret, readInstanceSecrets } from "#authn/sealing/instance-secret.ts";
import { createIntegrator } from "#events/audit/integrator.ts";
import { foreignAuditKey, keyEncryptionKey } from "#events/audit/key-encryption-key.ts";
import { createRecorder } from "#events/audit/recorder.ts";
import { isWrappedBy } from "#events/audit/references.ts";
import { createChange } from "#events/changes/create-change.ts";
import { createLiveBus } from "#events/streams/live-bus.ts";
import { createRetention } from "#events/changes/outbox-retention.ts";
import type { Database } from "#store/database.ts";
import { migrate } from "#store/migrate.ts";
import { createPglite } from "#store/pglite.ts";
import { openRedis, RedisError, type Redis } from "#store/redis.ts";
import { openRelay } from "./open-relay.ts";
import type { InstanceSettings } from "#app/model/settings.ts";
import { StartRefused } from "#app/model/start-refused.ts";
import type { StartParts } from "#app/model/start-parts.ts";

export type OpenedStore = Awaited<ReturnType<typeof openStore>>;

export interface OpenStoreParts extends StartParts {
  /** The one that was there; the embedded one is made where there was none. */
  readonly database: Database | undefined;
  readonly settings: InstanceSettings;
  readonly dataFolder: string;
  readonly publicOrigin: string;
  /** Names this process in the audit log: its parts. */
  readonly service: string;
  readonly servesGateway: boolean;
}

/** Modules that keep tables of their own, in the order in which theirs are made. */
export const migratedModules = ["events", "authn", "pdp", "gateway", "membership", "crud", "secrets"].map((module) => ({
  module,
  folder: new URL(`../../${module}/migrations/`, import.meta.url),
}));

const createNew = async ({ dataFolder, log, say }: OpenStoreParts): Promise<Database> => {
  say(`Opening the embedded database in ${dataFolder} ...`);
  return createPglite({ dataFolder, log });
};

const connectRedis = async (parts: OpenStoreParts): Promise<Redis | undefined> => {
  const { redisUrl: url, redisCaFile: caFile } = parts.settings.store;
  if (url === undefined || !parts.servesGateway) return undefined;
  parts.say("Connecting to Redis ...");
  const { log, metrics } = parts;
  const observe = (operation: string, status: string, seconds: number): void => {
    metrics.count("bff_redis_operations_total", { operation, status });
    metrics.observe("bff_redis_latency_seconds", { operation }, seconds);
  };
  try {
    return parts.stack.use(await openRedis({ url, log, observe, caFile }));
  } catch (error) {
    if (error instanceof RedisError) throw new StartRefused(69, [`REDIS_URL: ${error.message}`]);
    throw error;
  }
};

/** Only for what an issue kept from being announced. */
const ALONE_POLL_MS = 5_000;

/** What is kept and what happened: the walls every service stands on. */
export const openStore = async (parts: OpenStoreParts) => {
  const { settings, dataFolder, log, metrics, tracing, now, say, stack } = parts;
  const traceparent = (): string | undefined => tracing.traceparent();
  const { environment } = settings.instance;
  const database = parts.database ?? stack.use(await createNew(parts));
  const redis = await connectRedis(parts);
  const applied = await migrate(database, migratedModules);
  if (applied.length > 0) say(`Prepared ${applied.length} sets of tables.`);
  const place = { given: settings.authn.sessionSecrets, dataFolder, environment };
  const secrets = await readInstanceSecrets({ ...place, isSealed: () => hasServiceKeys(database) });
  // Another process may have come first since the start was examined.
  if (!(await openServiceKeys(database, secrets))) throw foreignSecret({ ...place, isMissing: false });
  await resealServiceKeys(database, secrets);
  const keyPlace = { file: settings.events.auditKekFile, dataFolder, mayMake: environment !== "production" };
  const kek = await keyEncryptionKey(keyPlace);
  if (!(await isWrappedBy(database, kek))) throw foreignAuditKey(keyPlace);
  // The embedded database has no other process that could have changed something: what is changed here is announced here.
  const looking =
    database.kind === "pglite" ? { pollMs: ALONE_POLL_MS, freshMs: 3 * ALONE_POLL_MS } : { pollMs: settings.events.busPollMs };
  const bus = stack.use(await createLiveBus({ database, log, metrics, ...looking }));
  const origin = settings.events.auditOrigin ?? new URL(parts.publicOrigin).hostname;
  const integrator = stack.use(createIntegrator({ database, log, origin, bus }));
  const backlog = await openRelay({
    database,
    settings,
    publicOrigin: parts.publicOrigin,
    instanceId: origin,
    log,
    metrics,
    tracing,
    stack,
  });
  const recorder = stack.use(
    await createRecorder({
      database,
      writerId: `${parts.service}:${randomUUID()}`,
      service: parts.service,
      log,
      metrics,
      now,
      kek,
      bus,
      integrator,
      sink: backlog,
      traceparent,
      openTimeoutMs: settings.events.auditOpenTimeoutMs,
    }),
  );
  stack.use(createRetention({ database, log, replayHours: settings.events.outboxReplayHours, hasSink: backlog !== undefined }));
  return {
    database,
    /** Of processes that serve the gateway, where REDIS_URL is set. */
    redis,
    secrets,
    bus,
    recorder,
    change: createChange({ database, recorder, bus, sink: backlog, traceparent }),
    /** What waits for Kafka, where one is configured. */
    backlog,
  };
};
