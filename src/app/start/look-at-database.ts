import { stat } from "node:fs/promises";
import { join } from "node:path";
import { Problem } from "#contract/problem.ts";
import { weakSecret } from "#contract/setting.ts";
import { issueLine } from "#contract/start-issues.ts";
import { keyWeakness } from "#contract/weak-secret.ts";
import { hasServiceKeys, openServiceKeys } from "#authn/keys/service-key-store.ts";
import { findInstanceSecrets, foreignSecret } from "#authn/sealing/instance-secret.ts";
import { findAuditKey, foreignAuditKey } from "#events/audit/key-encryption-key.ts";
import { isWrappedBy } from "#events/audit/references.ts";
import { migratedModules } from "#app/store/store.ts";
import { StartRefused } from "#app/model/start-refused.ts";
import type { Database } from "#store/database.ts";
import { hasTable, migrationIssues } from "#store/migrate.ts";
import { createPglite } from "#store/pglite.ts";
import { createPostgres } from "#store/postgres.ts";
import { postgresRefusal } from "#store/postgres-refusal.ts";
import type { Log } from "#telemetry/log.ts";
import { fault, thrownIssues, guarded, ok, type Finding } from "./finding.ts";
import type { StartPlan } from "./start-plan.ts";

/**
 * Opens the database that is there, or none: an embedded one that was never made is not made here. What it throws is for a
 * person: `FolderError`, `DataFolderLocked`, or a refusal with the setting's name and an exit code.
 */
export const openDatabase = async (plan: StartPlan, log: Log, say: (line: string) => void): Promise<Database | undefined> => {
  const { dataFolder, settings } = plan;
  const { databaseUrl: url, databaseListenUrl: listenUrl, databasePoolSize: poolSize } = settings.store;
  if (url === undefined) {
    if ((await stat(join(dataFolder, "pg")).catch(() => undefined)) === undefined) return undefined;
    say(`Opening the embedded database in ${dataFolder} ...`);
    return createPglite({ dataFolder, log });
  }
  say("Connecting to PostgreSQL ...");
  return createPostgres({ url, poolSize, log, listenUrl }).catch((error: unknown) => {
    throw refusedBy(plan, error);
  });
};

/** What PostgreSQL said, or that it said nothing, for a person. */
const refusedBy = ({ settings }: Pick<StartPlan, "settings">, error: unknown): unknown => {
  const { databaseUrl: url } = settings.store;
  const refusal = url === undefined ? undefined : postgresRefusal("DATABASE_URL", url, error);
  return refusal === undefined ? error : new StartRefused(refusal.exitCode, [refusal.message]);
};

const isAway = (error: unknown): boolean => error instanceof Problem && error.code === "store_unavailable";

/** A look that reads the database; once more where it did not answer in time, for many may start at once on a slow one. */
export const guardedStore = (
  plan: Pick<StartPlan, "settings">,
  area: string,
  look: () => Promise<readonly Finding[]>,
): Promise<readonly Finding[]> =>
  guarded(area, () =>
    look().catch((first: unknown) => {
      if (!isAway(first)) throw first;
      return look().catch((error: unknown) => {
        throw isAway(error) ? refusedBy(plan, error) : error;
      });
    }),
  );

const lookAtSecret = async ({ settings, dataFolder }: StartPlan, database: Database | undefined): Promise<readonly Finding[]> => {
  const place = { given: settings.authn.sessionSecrets, dataFolder, environment: settings.instance.environment };
  // Production says it of the setting.
  if (place.environment === "production" && place.given.length === 0) return [];
  const secrets = await findInstanceSecrets(place);
  if (database === undefined || !(await hasTable(database, "authn.house_key"))) return [];
  const isKnown = secrets === undefined ? !(await hasServiceKeys(database)) : await openServiceKeys(database, secrets);
  return isKnown ? [] : thrownIssues("keys", foreignSecret({ ...place, isMissing: secrets === undefined }));
};

const lookAtAuditKey = async ({ settings, dataFolder }: StartPlan, database: Database | undefined): Promise<readonly Finding[]> => {
  const place = { file: settings.events.auditKekFile, dataFolder, mayMake: settings.instance.environment !== "production" };
  const key = await findAuditKey(place);
  const weak = weakSecret("AUDIT_KEK_FILE", key, keyWeakness, settings.instance.environment);
  if (weak.length > 0) return weak.map((one) => fault("keys", issueLine(one)));
  if (database === undefined || !(await hasTable(database, "events.subject_key"))) return [];
  // One that would be made now wraps nothing of what is there.
  return (await isWrappedBy(database, key ?? new Uint8Array(32))) ? [] : thrownIssues("keys", foreignAuditKey(place));
};

/** The keys that are given or kept, and that the database, if there is one, is theirs. */
export const lookAtKeys = async (plan: StartPlan, database: Database | undefined): Promise<readonly Finding[]> =>
  (
    await Promise.all([
      guardedStore(plan, "keys", () => lookAtSecret(plan, database)),
      guardedStore(plan, "keys", () => lookAtAuditKey(plan, database)),
    ])
  ).flat();

/** That the database is not of a newer version of this program. */
export const lookAtTables = (plan: StartPlan, database: Database | undefined): Promise<readonly Finding[]> =>
  guardedStore(plan, "database", async () => {
    if (database === undefined) return [ok("database", "embedded, will be made in the data folder")];
    const issues = await migrationIssues(database, migratedModules);
    if (issues.length > 0) return issues.map((one) => fault("database", one));
    return [ok("database", database.kind === "pglite" ? "embedded, in the data folder" : "PostgreSQL answers")];
  });
