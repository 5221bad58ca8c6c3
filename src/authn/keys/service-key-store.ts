import type { JWK } from "jose";
import { statement, type Database, type Sql } from "#store/database.ts";
import { createSealer, type InstanceSecrets } from "#authn/sealing/seal.ts";

export interface ServiceKeyRow {
  readonly kid: string;
  /** e.g. `service:crud`. */
  readonly service: string;
  readonly publicJwk: JWK;
  readonly sealedPrivate: Uint8Array;
  readonly createdAt: Date;
  /** From then on nothing is verified with it. */
  readonly retireAt: Date;
}

/** Where the keys of Sallyport lie; every process of one instance sees the same. */
export interface ServiceKeyStore {
  /** Those not yet retired, newest first. */
  list(now: Date): Promise<readonly ServiceKeyRow[]>;
  add(row: ServiceKeyRow): Promise<void>;
}

interface Stored {
  readonly kid: string;
  readonly service: string;
  readonly public_jwk: JWK;
  readonly sealed_private: Uint8Array;
  readonly created_at: string;
  readonly retire_at: string;
}

const listKeys = statement<Stored>(
  "authn.house_key.list",
  `select kid, service, public_jwk, sealed_private, created_at, retire_at
   from authn.house_key where retire_at > $1 order by created_at desc, kid`,
);
const anyKey = statement("authn.house_key.any", "select kid from authn.house_key limit 1");
const addKey = statement<never>(
  "authn.house_key.add",
  `insert into authn.house_key (kid, service, public_jwk, sealed_private, created_at, retire_at)
   values ($1, $2, $3::jsonb, $4, $5, $6)`,
);

const sealedKeys = statement<Pick<Stored, "kid" | "service" | "sealed_private">>(
  "authn.house_key.sealed",
  "select kid, service, sealed_private from authn.house_key order by created_at desc, kid",
);
const resealKey = statement("authn.house_key.reseal", "update authn.house_key set sealed_private = $2 where kid = $1");

/** Seals the private part of each key, tied to its row. */
export const createKeySealer = (secrets: InstanceSecrets) => {
  const sealer = createSealer(secrets, "authn.house-key");
  const associated = ({ kid, service }: Pick<ServiceKeyRow, "kid" | "service">): string => `${kid} ${service}`;
  return {
    seal: (text: string, row: Pick<ServiceKeyRow, "kid" | "service">): Uint8Array => sealer.seal(text, associated(row)),
    open: (row: Pick<ServiceKeyRow, "kid" | "service" | "sealedPrivate">): string | undefined =>
      sealer.open(row.sealedPrivate, associated(row)),
  };
};

/** Whether these secrets are those of the database: they open one of its keys, or it has none. */
export const openServiceKeys = async (database: Sql, secrets: InstanceSecrets): Promise<boolean> => {
  const sealer = createKeySealer(secrets);
  const rows = await database.run(sealedKeys);
  return rows.length === 0 || rows.some((row) => sealer.open({ ...row, sealedPrivate: row.sealed_private }) !== undefined);
};

/** Seals under the first secret what an older one sealed, so that the database still knows its instance when the older one is taken away. */
export const resealServiceKeys = async (database: Sql, secrets: InstanceSecrets): Promise<void> => {
  const [any, newest] = [createKeySealer(secrets), createKeySealer([secrets[0]])];
  for (const row of await database.run(sealedKeys)) {
    const kept = { ...row, sealedPrivate: row.sealed_private };
    const text = newest.open(kept) === undefined ? any.open(kept) : undefined;
    if (text !== undefined) await database.run(resealKey, [row.kid, newest.seal(text, row)]);
  }
};

/** Whether any key of Sallyport is kept, and so something that only its secret opens. */
export const hasServiceKeys = async (database: Sql): Promise<boolean> => (await database.run(anyKey)).length > 0;

export const createServiceKeyStore = (database: Database): ServiceKeyStore => ({
  list: async (now) =>
    (await database.run(listKeys, [now])).map((row) => ({
      kid: row.kid,
      service: row.service,
      publicJwk: row.public_jwk,
      sealedPrivate: row.sealed_private,
      createdAt: new Date(row.created_at),
      retireAt: new Date(row.retire_at),
    })),
  add: async (row) => {
    await database.run(addKey, [row.kid, row.service, JSON.stringify(row.publicJwk), row.sealedPrivate, row.createdAt, row.retireAt]);
  },
});
