import { existsSync } from "node:fs";
import { resolve } from "node:path";
import type { Database } from "#store/database.ts";
import { makeFolder } from "#store/make-folder.ts";
import { createPglite } from "#store/pglite.ts";
import { createPostgres } from "#store/postgres.ts";
import { silentLog } from "#telemetry/log.ts";
import { Refusal } from "./refusal.ts";

const NO_INPUT = 66;

/**
 * Sallyport's database for a command: `DATABASE_URL` where it is set, else the data folder, whose instance has to be stopped first. `isMade`: one that is
 * not there is made.
 */
export const openDatabase = async (data: string, { isMade = false } = {}): Promise<Database> => {
  const url = process.env["DATABASE_URL"];
  if (url !== undefined && url !== "") return createPostgres({ url, poolSize: 2, log: silentLog });
  const dataFolder = resolve(process.env["SALLYPORT_INVOKED_FROM"] ?? ".", data);
  if (isMade) await makeFolder(dataFolder);
  else if (!existsSync(dataFolder))
    throw new Refusal(NO_INPUT, `There is no data folder ${dataFolder}. Name it with --data, or set DATABASE_URL.`);
  return createPglite({ dataFolder, log: silentLog });
};
