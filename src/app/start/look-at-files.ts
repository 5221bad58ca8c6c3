import { readFile, stat } from "node:fs/promises";
import { join } from "node:path";
import { readTls } from "#http/tls-files.ts";
import { openIssuerFetch } from "#authn/provider/issuer-fetch.ts";
import type { DataFolderLocked } from "#store/data-folder-lock.ts";
import { folderIssue } from "#store/make-folder.ts";
import { openRedis, RedisError } from "#store/redis.ts";
import { silentLog } from "#telemetry/log.ts";
import { readKafkaOptions } from "#app/store/open-relay.ts";
import { fault, note, ok, type Finding } from "./finding.ts";
import type { StartPlan } from "./start-plan.ts";

const DATA_FOLDER = 73;
const UNAVAILABLE = 69;

export const lookAtDataFolder = async (folder: string, held: DataFolderLocked | undefined): Promise<readonly Finding[]> => {
  const refused = await folderIssue(folder);
  if (refused !== undefined) return [fault("data", refused.message, DATA_FOLDER)];
  if (held !== undefined) return [fault("data", held.message, DATA_FOLDER)];
  const stats = await stat(folder).catch(() => undefined);
  if (stats === undefined) return [ok("data", `${folder} will be made`)];
  return [
    (stats.mode & 0o077) === 0 ? ok("data", folder) : note("data", `${folder} can be entered by other users; chmod 700 keeps it private`),
  ];
};

/** What this process shows and whom it believes: each file readable, a key that of its certificate. Throws `StartIssues`. */
export const lookAtTls = async ({ settings }: StartPlan): Promise<readonly Finding[]> => {
  const { own } = await readTls(settings.http);
  return own === undefined ? [] : [ok("settings", `TLS_CERT_FILE: ${settings.http.tlsCertFile}`)];
};

export const lookAtProvider = async ({ settings }: StartPlan): Promise<readonly Finding[]> => {
  await (await openIssuerFetch(settings.authn.oidcCaFile))[Symbol.asyncDispose]();
  return [];
};

/** The folder that is named for the web client; one that is not named is this program's own. */
export const lookAtWebClient = async ({ settings, commandLine }: StartPlan): Promise<readonly Finding[]> => {
  const folder = settings.gateway.webFolder;
  if (folder === undefined || !commandLine.serve.has("gateway")) return [];
  const page = join(folder, "index.html");
  const isThere = (await stat(page).catch(() => undefined))?.isFile() === true;
  return [isThere ? ok("settings", `WEB_DIST_DIR: ${folder}`) : fault("settings", `WEB_DIST_DIR: ${page} is not there`)];
};

/** The files that Kafka is reached with; Kafka itself need not be there. Throws `StartIssues`. */
export const lookAtKafka = async ({ settings }: StartPlan): Promise<readonly Finding[]> => {
  const options = await readKafkaOptions(settings);
  return options === undefined ? [] : [ok("settings", `KAFKA_BROKERS: ${options.brokers.join(", ")}`)];
};

export const lookAtRedis = async ({ settings, commandLine }: StartPlan): Promise<readonly Finding[]> => {
  const { redisUrl: url, redisCaFile: caFile } = settings.store;
  if (url === undefined || !commandLine.serve.has("gateway")) return [];
  try {
    if (caFile !== undefined) await readFile(caFile);
  } catch (error) {
    return [fault("settings", `REDIS_CA_FILE: ${caFile} cannot be read (${(error as NodeJS.ErrnoException).code ?? "unknown"}).`)];
  }
  try {
    await (await openRedis({ url, log: silentLog, caFile }))[Symbol.asyncDispose]();
    return [ok("redis", "answers")];
  } catch (error) {
    if (!(error instanceof RedisError)) throw error;
    return [fault("redis", `REDIS_URL: ${error.message}`, UNAVAILABLE)];
  }
};
