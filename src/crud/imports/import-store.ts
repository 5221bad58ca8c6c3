import { randomUUID } from "node:crypto";
import { z } from "zod";
import type { ImportedOperation } from "#contract/imports.ts";
import { pageOf } from "#authn/sealing/sealed-cursors.ts";
import { statement, type Database } from "#store/database.ts";
import type { Looked } from "./import-document.ts";

/** A document that was looked at. */
export interface StoredImport {
  readonly id: string;
  readonly sha256: string;
  readonly prefix: string;
  readonly title: string;
  readonly servers: readonly string[];
}

const meta = z.object({ sha256: z.string(), prefix: z.string(), title: z.string(), servers: z.array(z.string()) });

/** A tenant's newest ones are kept; each may be some MiB. */
const MAX_KEPT = 20;

const INSERT = statement<{ readonly expires_at: string }>(
  "crud.import_insert",
  `insert into crud.openapi_import (id, tenant_id, by_sub, doc, meta, expires_at) values ($1, $2, $3, $4, $5::jsonb, now() + interval '7 days')
   returning expires_at`,
);
const INSERT_OPERATIONS = statement(
  "crud.import_operations_insert",
  `insert into crud.openapi_operation (import_id, at, key, tags, importable, searched, operation)
   select $1, o.at, o.key, o.tags, o.importable, o.searched, o.operation
   from jsonb_to_recordset($2::jsonb) as o(at int, key text, tags text[], importable boolean, searched text, operation jsonb)`,
);
const SWEEP = statement(
  "crud.import_sweep",
  `delete from crud.openapi_import where expires_at < now()
   or id in (select id from crud.openapi_import where tenant_id = $1 order by at desc offset ${MAX_KEPT})`,
);
const META = statement<{ readonly meta: unknown }>(
  "crud.import_meta",
  "select meta from crud.openapi_import where id = $1 and tenant_id = $2 and expires_at > now()",
);
const DOCUMENT = statement<{ readonly doc: Uint8Array }>(
  "crud.import_document",
  "select doc from crud.openapi_import where id = $1 and tenant_id = $2 and expires_at > now()",
);
/** Sallyport wrote the operations. */
const PAGE = statement<{ readonly at: number | null; readonly operation: ImportedOperation; readonly total: number }>(
  "crud.import_operations",
  `with found as materialized (select o.at from crud.openapi_operation o where o.import_id = $1 and ($2::text is null or $2 = any(o.tags))
     and ($3::text is null or strpos(o.searched, $3) > 0))
   select (select count(*)::int from found) as total, page.at, page.operation from (select 1) one
   left join lateral (select o.at, o.operation from found f join crud.openapi_operation o on o.import_id = $1 and o.at = f.at
     where f.at > $4 order by f.at limit $5) page on true order by page.at`,
);
const IMPORTABLE = statement<{ readonly key: string }>(
  "crud.import_importable",
  "select key from crud.openapi_operation where import_id = $1 and importable and ($2::text[] is null or tags && $2) order by at",
);

export const keepImport = async (
  database: Database,
  { tenant, by, prefix, found }: { readonly tenant: string; readonly by: string; readonly prefix: string; readonly found: Looked },
): Promise<{ readonly id: string; readonly expiresAt: string }> => {
  const id = randomUUID();
  const { sha256, title, servers, rows, packed } = found;
  return database.transaction(async (sql) => {
    const [row] = await sql.run(INSERT, [id, tenant, by, packed, JSON.stringify({ sha256, prefix, title, servers })]);
    for (const texts of rows) await sql.run(INSERT_OPERATIONS, [id, texts]);
    await sql.run(SWEEP, [tenant]);
    if (row === undefined) throw new Error("what is inserted is there");
    return { id, expiresAt: row.expires_at };
  });
};

export const readImport = async (database: Database, id: string, tenant: string): Promise<StoredImport | undefined> => {
  const [row] = await database.run(META, [id, tenant]);
  return row === undefined ? undefined : { id, ...meta.parse(row.meta) };
};

/** Operations of an import, those behind a place, in the order of the document; `next` is the place of the last where there are more. */
export const readOperations = async (
  database: Database,
  id: string,
  asked: { readonly tag?: string | undefined; readonly text?: string | undefined; readonly after: number; readonly limit: number },
): Promise<{ readonly operations: ImportedOperation[]; readonly total: number; readonly next?: number }> => {
  const { tag, text, after, limit } = asked;
  const rows = await database.run(PAGE, [id, tag ?? null, text?.toLowerCase() ?? null, after, limit + 1]);
  const found = rows.flatMap(({ at, operation }) => (at === null ? [] : [{ at, operation }]));
  const { page, last } = pageOf(found, limit);
  return {
    operations: page.map(({ operation }) => operation),
    total: rows[0]?.total ?? 0,
    ...(last === undefined ? {} : { next: last.at }),
  };
};

/** Keys of what can be imported, of these tags or all, in the order of the document. */
export const importableKeys = async (database: Database, id: string, tags: readonly string[] | undefined): Promise<readonly string[]> =>
  (await database.run(IMPORTABLE, [id, tags ?? null])).map(({ key }) => key);

/** gzip of the document. */
export const readImportedDocument = async (database: Database, id: string, tenant: string): Promise<Uint8Array | undefined> =>
  (await database.run(DOCUMENT, [id, tenant]))[0]?.doc;
