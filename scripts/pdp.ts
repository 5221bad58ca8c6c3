// `npm run pdp -- rollback`: takes policies back on the database alone, for when nobody can any more through the service.
import { userInfo } from "node:os";
import { parseArgs } from "node:util";
import { Problem } from "#contract/problem.ts";
import { BundleRefused } from "#pdp/bundle/bundle-refused.ts";
import { rollBackOffline } from "#pdp/lifecycle/rollout/offline-rollback.ts";
import { readPointer } from "#pdp/lifecycle/rollout/pointer.ts";
import { listVersions } from "#pdp/lifecycle/rollout/version-store.ts";
import { DataFolderLocked } from "#store/data-folder-lock.ts";
import { openDatabase } from "./open-database.ts";
import { Refusal } from "./refusal.ts";

const help = `npm run pdp -- rollback [VERSION] [--data .sallyport]
npm run pdp -- versions [--data .sallyport]

rollback   lets a version of the policies that decided before decide again; the last one unless VERSION is named.
           On the database alone: no service has to run, nobody's right is asked. The next start audits it.
versions   lists the versions, newest first, with their states.

The database is DATABASE_URL where it is set (running replicas follow within two seconds), else the data folder, whose
instance has to be stopped first.

  --data DIR   data folder of Sallyport, default .sallyport
`;

/** Exit codes of sysexits.h. */
const USAGE = 64;
const UNAVAILABLE = 69;
const REFUSED = 77;
const LOCKED = 73;

const readArguments = () => {
  try {
    return parseArgs({
      allowPositionals: true,
      options: { data: { type: "string", default: ".sallyport" }, help: { type: "boolean", short: "h" } },
    });
  } catch (error) {
    throw new Refusal(USAGE, `${(error as Error).message}\n\n${help}`);
  }
};

const run = async (): Promise<void> => {
  const { values, positionals } = readArguments();
  const [verb, version, ...more] = positionals;
  if (values.help === true) return void process.stderr.write(help);
  if ((verb !== "rollback" && verb !== "versions") || more.length > 0 || (verb === "versions" && version !== undefined))
    throw new Refusal(USAGE, help);
  if (version !== undefined && !/^v[1-9][0-9]{0,8}(?:\+[0-9a-f]{12})?$/.test(version))
    throw new Refusal(USAGE, `${version} is no version: one looks like v3 or v3+1a2b3c4d5e6f.`);
  await using database = await openDatabase(values.data);
  if (verb === "versions") {
    await readPointer(database);
    for (const one of await listVersions(database, { state: undefined, before: undefined, limit: 200 }))
      process.stdout.write(`${one.version}\t${one.state}\t${one.activated_at ?? "-"}\t${one.message}\n`);
    return;
  }
  const done = await rollBackOffline(database, version, userInfo().username);
  process.stdout.write(`${done.version} decides again, instead of ${done.from}. The next start writes it to the audit log.\n`);
};

/** What stopped it, as a person should read it. */
const refusalOf = (error: unknown): Refusal | undefined => {
  if (error instanceof Refusal) return error;
  if (error instanceof DataFolderLocked) return new Refusal(LOCKED, `${error.message}\nStop Sallyport first; or roll back through it.`);
  if (error instanceof BundleRefused) return new Refusal(REFUSED, `That version cannot be read any more:\n${error.message}`);
  if (error instanceof Problem)
    return new Refusal(error.code === "store_unavailable" ? UNAVAILABLE : REFUSED, error.options.detail ?? error.title);
  const isUnprepared =
    error instanceof Error && /relation .* does not exist|schema .* does not exist|column .* does not exist/.test(error.message);
  return isUnprepared
    ? new Refusal(REFUSED, "This database holds no policies of this version of the program. Start Sallyport on it once.")
    : undefined;
};

try {
  await run();
} catch (error) {
  const refusal = refusalOf(error);
  if (refusal === undefined) throw error;
  process.stderr.write(`${refusal.message}\n`);
  process.exitCode = refusal.exitCode;
}
