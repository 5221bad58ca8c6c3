import { createCipheriv, createDecipheriv, createHmac, hkdfSync, randomBytes } from "node:crypto";
import { createTtlCache } from "#http/ttl-cache.ts";
import { statement, type Sql } from "#store/database.ts";

/** A person's name in the record: unlinkable to the person, and between tenants, without the row of its key. */
export interface Reference {
  /** `sr1.` and 16 bytes in base64url. */
  readonly ref: string;
  readonly wrappedKey: Uint8Array;
}

export type References = ReturnType<typeof createReferences>;

/** Whether what the database keeps of persons' keys was wrapped by this key; true where it keeps none. */
export const isWrappedBy = async (sql: Sql, kek: Uint8Array): Promise<boolean> => {
  const [newest] = await sql.run(NEWEST);
  if (newest === undefined) return true;
  try {
    decrypt(kek, newest.wrapped_key, boundTo(newest.tenant, newest.subject_id));
    return true;
  } catch {
    return false;
  }
};

interface Row {
  readonly subject_id: string;
  readonly ref: string;
  readonly wrapped_key: Uint8Array;
}

const FIND = statement<Row>(
  "events.subject_find",
  "select subject_id, ref, wrapped_key from events.subject_key where tenant = $1 and subject_id = any($2)",
);
const NEWEST = statement<Row & { readonly tenant: string }>(
  "events.subject_newest",
  "select tenant, subject_id, ref, wrapped_key from events.subject_key order by created_at desc limit 1",
);
const MAKE = statement(
  "events.subject_make",
  "insert into events.subject_key (tenant, subject_id, ref, wrapped_key) values ($1, $2, $3, $4) on conflict do nothing",
);
const SUBJECTS = statement<{ subject_id: string; ref: string }>(
  "events.subject_of_ref",
  "select subject_id, ref from events.subject_key where tenant = $1 and ref = any($2)",
);

const MAX_REMEMBERED = 10_000;
/** An erased person gets a new reference at the latest after this time, in every process. */
const REMEMBERED_MS = 30_000;
const NONCE_BYTES = 12;

const encrypt = (key: Uint8Array, plain: Uint8Array, bound: string): Buffer => {
  const nonce = randomBytes(NONCE_BYTES);
  const cipher = createCipheriv("aes-256-gcm", key, nonce).setAAD(Buffer.from(bound, "utf8"));
  return Buffer.concat([nonce, cipher.update(plain), cipher.final(), cipher.getAuthTag()]);
};

const decrypt = (key: Uint8Array, sealed: Uint8Array, bound: string): Buffer => {
  const bytes = Buffer.from(sealed);
  const cipher = createDecipheriv("aes-256-gcm", key, bytes.subarray(0, NONCE_BYTES), { authTagLength: 16 });
  cipher.setAAD(Buffer.from(bound, "utf8")).setAuthTag(bytes.subarray(-16));
  return Buffer.concat([cipher.update(bytes.subarray(NONCE_BYTES, -16)), cipher.final()]);
};

const boundTo = (tenant: string, subject: string): string => `subject_key/v1\u0000${tenant}\u0000${subject}`;

const makeReference = (kek: Uint8Array, tenant: string, subject: string): Reference => {
  const key = randomBytes(32);
  const digest = createHmac("sha256", key).update(`subject_ref/v1\u0000${tenant}\u0000${subject}`, "utf8").digest();
  return { ref: `sr1.${digest.subarray(0, 16).toString("base64url")}`, wrappedKey: encrypt(kek, key, boundTo(tenant, subject)) };
};

const sealKey = (key: Uint8Array): Uint8Array => new Uint8Array(hkdfSync("sha256", key, "", "audit_seal/v1", 32));

/** A random key a subject, wrapped by the key encryption key; the reference is its HMAC over tenant and id. */
export const createReferences = (kek: Uint8Array, now: () => Date) => {
  const remembered = createTtlCache<Reference>(MAX_REMEMBERED, now);
  /** What each transaction made, which it alone sees until it commits. */
  const madeBy = new WeakMap<Sql, Set<string>>();
  const keyOf = (tenant: string, subject: string): string => `${tenant}\u0000${subject}`;

  const recall = (tenant: string, subject: string): Reference | undefined => remembered.get(keyOf(tenant, subject));
  const remember = (tenant: string, subject: string, reference: Reference): void =>
    remembered.set(keyOf(tenant, subject), reference, now().getTime() + REMEMBERED_MS);

  const find = async (sql: Sql, tenant: string, subjects: readonly string[]): Promise<Map<string, Reference>> => {
    const rows = await sql.run(FIND, [tenant, subjects]);
    return new Map(rows.map((row) => [row.subject_id, { ref: row.ref, wrappedKey: row.wrapped_key }]));
  };

  /**
   * References of these subjects of one tenant, made where there are none yet, and remembered for 30 s. Inside a
   * transaction pass `remember: false` and the transaction's own `sql`, the same one each time: what it made may be rolled
   * back, so only what it found of others is remembered.
   */
  const resolve = async (
    sql: Sql,
    tenant: string,
    subjects: ReadonlySet<string>,
    options: { readonly remember: boolean },
  ): Promise<ReadonlyMap<string, Reference>> => {
    const resolved = new Map<string, Reference>();
    const unknown: string[] = [];
    for (const subject of subjects) {
      const reference = recall(tenant, subject);
      if (reference === undefined) unknown.push(subject);
      else resolved.set(subject, reference);
    }
    if (unknown.length === 0) return resolved;
    // In one order, so that two who make several cannot wait for one another.
    unknown.sort();
    let found = await find(sql, tenant, unknown);
    const missing = unknown.filter((subject) => !found.has(subject));
    const made = madeBy.get(sql) ?? new Set();
    if (missing.length > 0 && !options.remember) madeBy.set(sql, made);
    for (const subject of missing) {
      const { ref, wrappedKey } = makeReference(kek, tenant, subject);
      made.add(keyOf(tenant, subject));
      await sql.run(MAKE, [tenant, subject, ref, wrappedKey]);
    }
    // Read again: somebody else may have made it first.
    if (missing.length > 0) found = await find(sql, tenant, unknown);
    for (const [subject, reference] of found) {
      resolved.set(subject, reference);
      if (options.remember || !made.has(keyOf(tenant, subject))) remember(tenant, subject, reference);
    }
    return resolved;
  };

  return {
    resolve,
    /** The reference of one subject, made where there is none yet; not inside a transaction. */
    refOf: async (sql: Sql, tenant: string, subject: string): Promise<string> =>
      (await resolve(sql, tenant, new Set([subject]), { remember: true })).get(subject)?.ref ?? "",
    /** The reference of a subject if it has one; makes none. */
    find: async (sql: Sql, tenant: string, subject: string): Promise<string | undefined> =>
      recall(tenant, subject)?.ref ?? (await find(sql, tenant, [subject])).get(subject)?.ref,
    /** Who stands behind references of one tenant; erased ones are missing. */
    subjectsOf: async (sql: Sql, tenant: string, refs: readonly string[]): Promise<ReadonlyMap<string, string>> => {
      if (refs.length === 0) return new Map();
      return new Map((await sql.run(SUBJECTS, [tenant, refs])).map((row) => [row.ref, row.subject_id]));
    },
    /** Sealed for whoever holds the subject's key; bound to one entry. base64url of nonce, ciphertext, tag. */
    seal: (tenant: string, subject: string, reference: Reference, entryId: string, value: unknown): string => {
      const key = decrypt(kek, reference.wrappedKey, boundTo(tenant, subject));
      return encrypt(sealKey(key), Buffer.from(JSON.stringify(value), "utf8"), entryId).toString("base64url");
    },
    /** What was sealed. Throws if any of these do not belong together. */
    unseal: (tenant: string, subject: string, reference: Reference, entryId: string, sealed: string): unknown => {
      const key = decrypt(kek, reference.wrappedKey, boundTo(tenant, subject));
      return JSON.parse(decrypt(sealKey(key), Buffer.from(sealed, "base64url"), entryId).toString("utf8")) as unknown;
    },
  };
};
