import { randomUUID } from "node:crypto";
import { join } from "node:path";
import { hasHouseKeys } from "#authn/house-key-store.ts";
import { HouseSecretFault, readHouseSecrets } from "#authn/house-secret.ts";
import type { HouseSecrets } from "#authn/seal.ts";
import { createIntegrator } from "#events/audit/integrator.ts";
import { keyEncryptionKey } from "#events/audit/key-encryption-key.ts";
import { createRecorder, type AuditRecorder } from "#events/audit/recorder.ts";
import { isWrappedBy } from "#events/audit/references.ts";
import type { Change } from "#events/change.ts";
import { createChange } from "#events/create-change.ts";
import { createLiveBus, type LiveBus } from "#events/live-bus.ts";
import { createRetention } from "#events/outbox-retention.ts";
import type { Database } from "#store/database.ts";
import { migrate } from "#store/migrate.ts";
import { createPglite } from "#store/pglite.ts";
import { createPostgres } from "#store/postgres.ts";
import { postgresRefusal } from "#store/postgres-refusal.ts";
import { openRedis, RedisFault, type Redis } from "#store/redis.ts";
import type { Log } from "#telemetry/log.ts";
import type { Metrics } from "#telemetry/metrics.ts";
import type { HouseSettings } from "./settings.ts";
import { StartRefused } from "./start-refused.ts";

/** What is kept and what happened: the walls every service stands on. */
export interface HouseStore {
  readonly database: Database;
  /** Of processes that serve the gateway, where REDIS_URL is set. */
  readonly redis?: Redis;
  readonly secrets: HouseSecrets;
  readonly bus: LiveBus;
  readonly recorder: AuditRecorder;
  readonly change: Change;
}

export interface HouseStoreParts {
  readonly settings: HouseSettings;
  readonly dataFolder: string;
  readonly publicOrigin: string;
  /** Names this process in the audit log: its parts. */
  readonly service: string;
  readonly servesGateway: boolean;
  readonly log: Log;
  readonly metrics: Metrics;
  readonly now: () => Date;
  readonly say: (line: string) => void;
  /** What is opened here is closed by it, last first. */
  readonly stack: AsyncDisposableStack;
}

const rooms = ["store", "events", "authn", "pdp", "gateway", "membership", "crud", "secrets"] as const;
/** Rooms that keep tables of their own. */
const migrated = rooms.filter((room) => room !== "store" && room !== "secrets");

const openDatabase = async (parts: HouseStoreParts): Promise<Database> => {
  const { databaseUrl: url, databaseListenUrl: listenUrl, databasePoolSize: poolSize } = parts.settings.store;
  if (url !== undefined) {
    parts.say("Connecting to PostgreSQL ...");
    return createPostgres({ url, poolSize, log: parts.log, ...(listenUrl === undefined ? {} : { listenUrl }) }).catch((error: unknown) => {
      const refusal = postgresRefusal("DATABASE_URL", url, error);
      throw refusal === undefined ? error : new StartRefused(refusal.exitCode, [refusal.message]);
    });
  }
  parts.say(`Opening the embedded database in ${parts.dataFolder} ...`);
  return createPglite({ dataFolder: parts.dataFolder, log: parts.log });
};

const connectRedis = async (parts: HouseStoreParts): Promise<Redis | undefined> => {
  const { redisUrl: url, redisCaFile: caFile } = parts.settings.store;
  if (url === undefined || !parts.servesGateway) return undefined;
  parts.say("Connecting to Redis ...");
  const { log, metrics } = parts;
  const observe = (operation: string, status: string, seconds: number): void => {
    metrics.count("bff_redis_operations_total", { operation, status });
    metrics.observe("bff_redis_latency_seconds", { operation }, seconds);
  };
  try {
    return parts.stack.use(await openRedis({ url, log, observe, ...(caFile === undefined ? {} : { caFile }) }));
  } catch (error) {
    if (error instanceof RedisFault) throw new StartRefused(69, [`REDIS_URL: ${error.message}`]);
    throw error;
  }
};

/** Entries about persons could neither be read nor continued. */
const otherKek = (given: string | undefined, dataFolder: string): string =>
  `The audit log was written under another key than that of ${given === undefined ? join(dataFolder, "keys", "audit-kek") : `AUDIT_KEK_FILE (${given})`}. ` +
  "Put the right key back from a backup of the folder; without it the log cannot be gone on with, and a house starts on an empty database.";

export const openHouseStore = async (parts: HouseStoreParts): Promise<HouseStore> => {
  const { settings, dataFolder, log, metrics, now, say, stack } = parts;
  const isOpen = settings.house.environment !== "production";
  const database = stack.use(await openDatabase(parts));
  const redis = await connectRedis(parts);
  const applied = await migrate(
    database,
    migrated.map((room) => ({ room, folder: new URL(`./${room}/migrations/`, import.meta.url) })),
  );
  if (applied.length > 0) say(`Prepared ${applied.length} sets of tables.`);
  const secrets = await readHouseSecrets({
    given: settings.authn.sessionSecrets,
    dataFolder,
    environment: settings.house.environment,
    isSealed: () => hasHouseKeys(database),
  }).catch((error: unknown) => {
    throw error instanceof HouseSecretFault ? new StartRefused(78, [error.message]) : error;
  });
  const kek = await keyEncryptionKey({ file: settings.events.auditKekFile, dataFolder, mayMake: isOpen });
  if (!(await isWrappedBy(database, kek))) throw new StartRefused(78, [otherKek(settings.events.auditKekFile, dataFolder)]);
  const bus = stack.use(await createLiveBus({ database, log, metrics, pollMs: settings.events.busPollMs }));
  const integrator = stack.use(
    createIntegrator({ database, log, origin: settings.events.auditOrigin ?? new URL(parts.publicOrigin).hostname, bus }),
  );
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
      openTimeoutMs: settings.events.auditOpenTimeoutMs,
    }),
  );
  stack.use(createRetention({ database, log, replayHours: settings.events.outboxReplayHours }));
  return { database, ...(redis === undefined ? {} : { redis }), secrets, bus, recorder, change: createChange({ database, recorder, bus }) };
};
