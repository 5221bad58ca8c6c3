import { createHash } from "node:crypto";
import { z } from "zod";
import { statement, type Sql } from "#store/database.ts";
import { canonicalText } from "#crud/model/digest.ts";
import type { References } from "#crud/systems/load-systems.ts";

/** One version of an object as it is kept; it never changes. `text` null: the object was taken away. */
export interface StoredVersion {
  readonly kind: string;
  readonly name: string;
  readonly version: number;
  readonly text: string | null;
  readonly refs: References;
  readonly digest: string;
  /** Null: all. Of what was taken away those that it served; of the tools document those that see a difference from the version before. */
  readonly tenants: readonly string[] | null;
  readonly author: string;
  readonly reason: string;
  readonly at: string;
  readonly restored_from: number | null;
  /** Its entity tag where its reader sees a part of it. */
  readonly tag?: string;
}

/** The version in force, and the digest of the file that was taken last. */
export interface StoredHead extends StoredVersion {
  readonly taken: string | null;
  /** Its file is still to be written. */
  readonly unwritten: boolean;
}

interface Row extends Omit<StoredVersion, "refs"> {
  readonly refs: unknown;
}
type HeadRow = Row & Pick<StoredHead, "taken" | "unwritten">;

const refsOf = z.record(z.string(), z.string());
const read = <T extends StoredVersion>(row: Row): T => ({ ...row, refs: refsOf.parse(row.refs) }) as unknown as T;

const COLUMNS = "v.kind, v.name, v.version, v.text, v.refs, v.digest, v.tenants, v.author, v.reason, v.at, v.restored_from";
const HEAD = `select ${COLUMNS}, h.taken, h.unwritten from crud.config_head h join crud.config_version v using (kind, name, version)`;

/** All replicas hear of a change here; who misses it reads the set's version within a second. */
export const CONFIG_CHANNEL = "crud_config";

const setVersion = statement<{ readonly version: bigint }>("crud.config.set", "select version from crud.config_set where id = 1");
const raise = statement<{ readonly version: bigint }>(
  "crud.config.raise",
  "update crud.config_set set version = version + 1 where id = 1 returning version",
);
const markDegraded = statement(
  "crud.config.degraded",
  "insert into crud.config_degraded (kind, name) values ($1, $2) on conflict do nothing returning 1",
);
const markRepaired = statement("crud.config.repaired", "delete from crud.config_degraded where kind = $1 and name = $2 returning 1");
const degradedOnes = statement<{ readonly kind: string; readonly name: string }>(
  "crud.config.degraded_ones",
  "select kind, name from crud.config_degraded",
);
const lockSet = statement("crud.config.lock", "select version from crud.config_set where id = 1 for update");
const headsSince = statement<HeadRow>("crud.config.heads", `${HEAD} where h.changed > $1 order by v.kind, v.name`);
const oneHead = statement<HeadRow>("crud.config.head", `${HEAD} where v.kind = $1 and v.name = $2`);
const oneVersion = statement<Row>(
  "crud.config.version",
  `select ${COLUMNS} from crud.config_version v where v.kind = $1 and v.name = $2 and v.version = $3`,
);
const versionsBefore = statement<Row>(
  "crud.config.versions",
  `select ${COLUMNS} from crud.config_version v where v.kind = $1 and v.name = $2 and ($3::int is null or v.version < $3)
   order by v.version desc limit $4`,
);
const versionRows = statement<VersionRow>(
  "crud.config.version_rows",
  `select v.kind, v.name, v.version, v.digest, v.tenants, v.author, v.reason, v.at, v.restored_from, v.text is null as deleted
   from crud.config_version v where v.kind = $1 and v.name = $2 and ($3::int is null or v.version < $3)
     and (v.tenants is null or $5 = any(v.tenants)) order by v.version desc limit $4`,
);
const insertVersion = statement<Row>(
  "crud.config.insert",
  `insert into crud.config_version as v (kind, name, version, text, refs, digest, tenants, author, reason, restored_from)
   select $1, $2, coalesce(max(version), 0) + 1, $3, $4::jsonb, $5, $6::text[], $7, $8, $9 from crud.config_version where kind = $1 and name = $2
   returning ${COLUMNS}`,
);
const putHead = statement(
  "crud.config.put_head",
  `insert into crud.config_head as h (kind, name, version, taken, changed, unwritten) values ($1, $2, $3, $4, $5, $6)
   on conflict (kind, name) do update
     set version = excluded.version, changed = excluded.changed, taken = excluded.taken, unwritten = excluded.unwritten`,
);
const noteWritten = statement(
  "crud.config.written",
  "update crud.config_head set unwritten = false where kind = $1 and name = $2 and version = $3",
);
const noteTaken = statement("crud.config.taken", "update crud.config_head set taken = $3 where kind = $1 and name = $2");
const notify = statement("crud.config.notify", "select pg_notify($1, $2)");

/** SHA-256 of a document's bytes; with the files that it refers to, where it refers to any. */
export const digestOf = (text: string | null, refs: References): string =>
  createHash("sha256")
    .update(text ?? "")
    .update(Object.keys(refs).length === 0 ? "" : canonicalText(refs))
    .digest("hex");

export const etagOf = ({ version, digest, tag }: Pick<StoredVersion, "version" | "digest" | "tag">): string =>
  tag ?? `"${version}-${digest.slice(0, 12)}"`;

export const readSetVersion = async (sql: Sql): Promise<bigint> => (await sql.run(setVersion))[0]?.version ?? 0n;
/** Nobody else changes anything until the transaction ends. */
export const lockConfig = (sql: Sql): Promise<unknown> => sql.run(lockSet);

/** Heads that a change after that version of the set put in force. */
export const readHeads = async (sql: Sql, since: bigint): Promise<readonly StoredHead[]> =>
  (await sql.run(headsSince, [since])).map((row) => read<StoredHead>(row));
export const readHead = async (sql: Sql, kind: string, name: string): Promise<StoredHead | undefined> => {
  const [row] = await sql.run(oneHead, [kind, name]);
  return row === undefined ? undefined : read<StoredHead>(row);
};
export const readVersion = async (sql: Sql, kind: string, name: string, version: number): Promise<StoredVersion | undefined> => {
  const [row] = await sql.run(oneVersion, [kind, name, version]);
  return row === undefined ? undefined : read(row);
};
/** The newest, or those before one. */
export interface VersionPage {
  readonly before?: number | undefined;
  readonly limit: number;
}
/** Newest first. */
export const listVersions = async (sql: Sql, kind: string, name: string, page: VersionPage): Promise<readonly StoredVersion[]> =>
  (await sql.run(versionsBefore, [kind, name, page.before ?? null, page.limit])).map((row) => read(row));

/** What a list shows of a version. */
export type VersionRow = Omit<StoredVersion, "text" | "refs"> & { readonly deleted: boolean };

/** What this tenant sees of them, without their texts, which may be some MiB each. */
export const listVersionRows = (
  sql: Sql,
  { kind, name, tenant }: { readonly kind: string; readonly name: string; readonly tenant: string },
  page: VersionPage,
): Promise<readonly VersionRow[]> => sql.run(versionRows, [kind, name, page.before ?? null, page.limit, tenant]);

export interface VersionDraft extends Pick<StoredVersion, "kind" | "name" | "text" | "refs" | "tenants" | "author" | "reason"> {
  readonly restoredFrom?: number | undefined;
  /** Digest of the file that it was taken from; null: it was never in a file, or is there no more. */
  readonly taken: string | null;
  readonly unwritten?: boolean;
}

/** Has every process look again, in the caller's transaction: something that serves hangs on was changed. Answers the set's new version. */
export const raiseSet = async (sql: Sql): Promise<bigint> => {
  const [set] = await sql.run(raise);
  if (set === undefined) throw new Error("there is one set");
  await sql.run(notify, [CONFIG_CHANNEL, String(set.version)]);
  return set.version;
};

/** Puts a new version in force, in the caller's transaction; whoever listens hears of it at the commit. */
export const putVersion = async (sql: Sql, draft: VersionDraft): Promise<StoredVersion> => {
  const { kind, name, text, refs } = draft;
  const set = await raiseSet(sql);
  const { tenants, author, reason, restoredFrom = null } = draft;
  const values = [kind, name, text, JSON.stringify(refs), digestOf(text, refs), tenants, author, reason, restoredFrom];
  const [row] = await sql.run(insertVersion, values);
  if (row === undefined) throw new Error("a version that is put gives a row");
  await sql.run(putHead, [kind, name, row.version, draft.taken, set, draft.unwritten ?? false]);
  return read(row);
};

/** Notes which file an object was taken from, where nothing else changes. */
export const markTaken = (sql: Sql, kind: string, name: string, taken: string | null): Promise<unknown> =>
  sql.run(noteTaken, [kind, name, taken]);

/** Notes that the file of a version lies in the folder. */
export const markWritten = (sql: Sql, kind: string, name: string, version: number): Promise<unknown> =>
  sql.run(noteWritten, [kind, name, version]);

/** Objects that others were told of as degraded. */
export const readDegraded = (sql: Sql): Promise<readonly { readonly kind: string; readonly name: string }[]> => sql.run(degradedOnes);

/** Notes that others are told of an object's state; false: they were told already. */
export const markState = async (sql: Sql, state: "degraded" | "repaired", kind: string, name: string): Promise<boolean> =>
  (await sql.run(state === "degraded" ? markDegraded : markRepaired, [kind, name])).length > 0;
