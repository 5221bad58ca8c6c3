import { z } from "zod";
import { statement, type Database, type Sql } from "#store/database.ts";
import { digestOf, readBundle, type Bundle } from "./bundle.ts";
import type { PolicyFiles } from "./policy-files.ts";

export interface StoredBundle {
  /** `v<number>+<first 12 hexadecimal digits of its digest>`. */
  readonly version: string;
  readonly bundle: Bundle;
}

interface Row {
  readonly version: string;
  readonly files: unknown;
}

const findDigest = statement<{ readonly version: string; readonly state: string }>(
  "pdp.bundle.digest",
  "select version, state from pdp.bundle where digest = $1",
);
const insertBundle = statement<{ readonly version: string }>(
  "pdp.bundle.insert",
  `insert into pdp.bundle (version, seq, digest, state, files, message, created_by)
   select 'v' || n || '+' || left($1, 12), n, $1, 'draft', $2::jsonb, $3, $4 from (select coalesce(max(seq), 0) + 1 as n from pdp.bundle) s
   returning version`,
);
// One writer at a time: two processes that start together must not make two versions of one bundle.
const lockBundles = statement("pdp.bundle.lock", "lock table pdp.bundle in share row exclusive mode");
const readPointer = statement<{ readonly active: string }>("pdp.pointer.read", "select active from pdp.pointer where id = 1");
const retireActive = statement("pdp.bundle.retire", "update pdp.bundle set state = 'retired' where state = 'active'");
const markActive = statement(
  "pdp.bundle.activate",
  "update pdp.bundle set state = 'active', activated_at = clock_timestamp() where version = $1",
);
const movePointer = statement(
  "pdp.pointer.move",
  `insert into pdp.pointer (id, active, epoch) values (1, $1, 1)
   on conflict (id) do update set active = excluded.active, epoch = pdp.pointer.epoch + 1`,
);
const readFiles = statement<Row>("pdp.bundle.files", "select version, files from pdp.bundle where version = $1");

const storedFiles = z.record(z.string(), z.string());

const versionOf = async (sql: Sql, files: PolicyFiles, digest: string): Promise<string> => {
  const [known] = await sql.run(findDigest, [digest]);
  if (known !== undefined) return known.version;
  const [made] = await sql.run(insertBundle, [digest, JSON.stringify(files), "Imported at start", "system"]);
  if (made === undefined) throw new Error("the insert gives one row");
  return made.version;
};

const activate = async (sql: Sql, version: string): Promise<void> => {
  await sql.run(retireActive);
  await sql.run(markActive, [version]);
  await sql.run(movePointer, [version]);
};

export interface Imported {
  readonly active: StoredBundle;
  /** The files of this start became a draft that does not decide. */
  readonly draft?: string;
}

/**
 * Takes the policy files of this start into the store, once for each content, and says which bundle decides: the imported one
 * where `autoActivate` says so or none decided before, else the one that is active. Throws `BundleRefused`.
 */
export const importBundle = async (database: Database, files: PolicyFiles, autoActivate: boolean): Promise<Imported> => {
  const bundle = readBundle(files);
  const digest = digestOf(files);
  const { version, active } = await database.transaction(async (sql) => {
    await sql.run(lockBundles);
    const [pointer] = await sql.run(readPointer);
    const imported = await versionOf(sql, files, digest);
    if (pointer?.active === imported) return { version: imported, active: imported };
    if (pointer !== undefined && !autoActivate) return { version: imported, active: pointer.active };
    await activate(sql, imported);
    return { version: imported, active: imported };
  });
  if (active === version) return { active: { version, bundle } };
  const decides = await readStoredBundle(database, active);
  if (decides === undefined) throw new Error(`the active bundle ${active} is not stored`);
  return { active: decides, draft: version };
};

/** A bundle as it was when it decided. */
export const readStoredBundle = async (database: Database, version: string): Promise<StoredBundle | undefined> => {
  const [row] = await database.run(readFiles, [version]);
  return row === undefined ? undefined : { version: row.version, bundle: readBundle(storedFiles.parse(row.files)) };
};
