import type { JWK } from "jose";
import { statement, type Database } from "#store/database.ts";

export interface HouseKeyRow {
  readonly kid: string;
  /** e.g. `service:crud`. */
  readonly service: string;
  readonly publicJwk: JWK;
  readonly sealedPrivate: Uint8Array;
  readonly createdAt: Date;
  /** From then on nothing is verified with it. */
  readonly retireAt: Date;
}

/** Where the keys of the house lie; every process of one house sees the same. */
export interface HouseKeyStore {
  /** Those not yet retired, newest first. */
  list(now: Date): Promise<readonly HouseKeyRow[]>;
  add(row: HouseKeyRow): Promise<void>;
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

/** Whether any key of the house is kept, and so something that only its secret opens. */
export const hasHouseKeys = async (database: Database): Promise<boolean> => (await database.run(anyKey)).length > 0;

export const createHouseKeyStore = (database: Database): HouseKeyStore => ({
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
