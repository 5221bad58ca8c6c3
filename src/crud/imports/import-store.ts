import { randomUUID } from "node:crypto";
import { z } from "zod";
import type { ImportedOperation } from "#contract/imports.ts";
import { statement, type Database } from "#store/database.ts";
import type { Inspected } from "./import-document.ts";

/** A document that was looked at. */
export interface StoredImport {
  readonly id: string;
  readonly sha256: string;
  readonly prefix: string;
  readonly title: string;
  readonly servers: readonly string[];
  readonly operations: readonly ImportedOperation[];
}

const meta = z.object({
  sha256: z.string(),
  prefix: z.string(),
  title: z.string(),
  servers: z.array(z.string()),
  /** The house wrote them. */
  operations: z.array(z.custom<ImportedOperation>()),
});

/** A tenant's newest ones are kept; each may be some MiB. */
const MOST_KEPT = 20;

const INSERT = statement<{ readonly expires_at: string }>(
  "crud.import_insert",
  `insert into crud.openapi_import (id, tenant_id, by_sub, doc, meta, expires_at) values ($1, $2, $3, $4, $5::jsonb, now() + interval '7 days')
   returning expires_at`,
);
const SWEEP = statement(
  "crud.import_sweep",
  `delete from crud.openapi_import where expires_at < now()
   or id in (select id from crud.openapi_import where tenant_id = $1 order by at desc offset ${MOST_KEPT})`,
);
const META = statement<{ readonly meta: unknown }>(
  "crud.import_meta",
  "select meta from crud.openapi_import where id = $1 and tenant_id = $2 and expires_at > now()",
);
const DOCUMENT = statement<{ readonly doc: Uint8Array }>(
  "crud.import_document",
  "select doc from crud.openapi_import where id = $1 and tenant_id = $2 and expires_at > now()",
);

export const keepImport = async (
  database: Database,
  { tenant, by, prefix, found }: { readonly tenant: string; readonly by: string; readonly prefix: string; readonly found: Inspected },
): Promise<{ readonly id: string; readonly expiresAt: string }> => {
  const id = randomUUID();
  const { sha256, title, servers, operations, packed } = found;
  const [row] = await database.run(INSERT, [id, tenant, by, packed, JSON.stringify({ sha256, prefix, title, servers, operations })]);
  await database.run(SWEEP, [tenant]);
  if (row === undefined) throw new Error("what is inserted is there");
  return { id, expiresAt: row.expires_at };
};

export const readImport = async (database: Database, id: string, tenant: string): Promise<StoredImport | undefined> => {
  const [row] = await database.run(META, [id, tenant]);
  return row === undefined ? undefined : { id, ...meta.parse(row.meta) };
};

/** gzip of the document. */
export const readImportedDocument = async (database: Database, id: string, tenant: string): Promise<Uint8Array | undefined> =>
  (await database.run(DOCUMENT, [id, tenant]))[0]?.doc;
