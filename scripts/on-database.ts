import { settingTables } from "#app/model/settings.ts";
import { readSettings } from "#contract/setting.ts";
import { Problem } from "#contract/problem.ts";
import { createChange } from "#events/changes/create-change.ts";
import { createWriteGraph, type WriteGraph } from "#membership/graph/write.ts";
import type { Database } from "#store/database.ts";
import { DataFolderLocked } from "#store/data-folder-lock.ts";
import { createMetrics } from "#telemetry/metrics.ts";
import { Refusal } from "./refusal.ts";

/** Exit codes of sysexits.h. */
export const USAGE = 64;
const DATA = 65;
const UNAVAILABLE = 69;
const LOCKED = 73;
const REFUSED = 77;

export const refused = (why: string): Refusal => new Refusal(REFUSED, why);

/**
 * Writes the graph of a database that no instance of this process serves: the change log says what was done, and where Sallyport tells Kafka
 * (KAFKA_BROKERS) Sallyport that runs on it, or next does, tells it.
 */
export const writeAlone = (database: Database): WriteGraph => {
  const { kafkaBrokers } = readSettings(settingTables.events, process.env).values;
  const sink = kafkaBrokers.length === 0 ? undefined : ({ name: "kafka", requireCapacity: () => {}, notify: () => {} } as const);
  const {
    oidcProvision: provision,
    oidcSubjectPrefix: subjectPrefix,
    oidcIssuer: issuer,
  } = readSettings(settingTables.authn, process.env).values;
  const recorder = { writeIn: async () => [], ended: () => {} };
  const change = createChange({ database, bus: { announce: () => {} }, recorder, sink });
  return createWriteGraph({ change, metrics: createMetrics(), signIns: { provision, subjectPrefix, issuer } });
};

const refusalOf = (error: unknown): Refusal | undefined => {
  if (error instanceof Refusal) return error;
  if (error instanceof DataFolderLocked) return new Refusal(LOCKED, `${error.message}\nStop Sallyport first.`);
  if (error instanceof Problem) {
    const issues = (error.options.errors ?? []).map(
      ({ line, path, code, message }) => `  line ${line ?? "?"}  ${path}  ${code ?? error.code}: ${message}`,
    );
    const said = [error.options.detail ?? error.title, ...issues].join("\n");
    return new Refusal(error.code === "store_unavailable" ? UNAVAILABLE : error.code === "import_refused" ? DATA : REFUSED, said);
  }
  const { exitCode, message } = error as { readonly exitCode?: unknown; readonly message?: unknown };
  if (typeof exitCode === "number" && typeof message === "string") return new Refusal(exitCode, message);
  return error instanceof Error && /relation .* does not exist|schema .* does not exist|column .* does not exist/.test(error.message)
    ? refused("This database holds no graph of this version of the program. Start Sallyport on it once.")
    : undefined;
};

/** A command on the database itself: what stands in its way is said in words that a person can use, with the exit code. */
export const runOnDatabase = async (command: () => Promise<void>, beforeSaying: () => void = () => {}): Promise<void> => {
  try {
    await command();
  } catch (error) {
    const refusal = refusalOf(error);
    if (refusal === undefined) throw error;
    beforeSaying();
    process.stderr.write(`${refusal.message}\n`);
    process.exitCode = refusal.exitCode;
  }
};
