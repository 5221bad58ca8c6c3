import { calculateJwkThumbprint, exportJWK, generateKeyPair, importJWK, SignJWT, type CryptoKey, type JSONWebKeySet, type JWK } from "jose";
import type { Sealer } from "#authn/sealing/seal.ts";
import { statement, type Database } from "#store/database.ts";

/** The decision point's own signature under its metadata. */
export interface MetadataKey {
  /** Public keys that verify it. */
  readonly jwks: JSONWebKeySet;
  /** ES256 JWT of these claims. */
  sign(claims: Readonly<Record<string, unknown>>, issuer: string): Promise<string>;
}

interface Stored {
  readonly kid: string;
  readonly sealed_private: Uint8Array;
}

const readKey = statement<Stored>("pdp.metadata_key.read", "select kid, sealed_private from pdp.metadata_key where id = 1");
// Two processes that start together agree on the first one's; one that cannot be opened any more is replaced.
const addKey = statement<never>(
  "pdp.metadata_key.add",
  `insert into pdp.metadata_key as held (id, kid, sealed_private) values (1, $1, $2)
   on conflict (id) do update set kid = excluded.kid, sealed_private = excluded.sealed_private, created_at = clock_timestamp()
   where held.kid = $3`,
);

const openKey = (row: Stored | undefined, sealer: Sealer): JWK | undefined => {
  const text = row === undefined ? undefined : sealer.open(row.sealed_private, row.kid);
  return text === undefined ? undefined : (JSON.parse(text) as JWK);
};

const makeKey = async (): Promise<JWK & { readonly kid: string }> => {
  const pair = await generateKeyPair("ES256", { extractable: true });
  return { ...(await exportJWK(pair.privateKey)), kid: await calculateJwkThumbprint(await exportJWK(pair.publicKey)) };
};

/** Reads the key, or makes it at the first start. The private part never leaves this function unsealed. */
export const readMetadataKey = async (database: Database, sealer: Sealer): Promise<MetadataKey> => {
  const [held] = await database.run(readKey);
  let jwk = openKey(held, sealer);
  if (jwk === undefined) {
    const made = await makeKey();
    await database.run(addKey, [made.kid, sealer.seal(JSON.stringify(made), made.kid), held?.kid ?? ""]);
    jwk = openKey((await database.run(readKey))[0], sealer);
    if (jwk === undefined) throw new Error("another process keeps the metadata key under another instance secret");
  }
  const key = (await importJWK(jwk, "ES256")) as CryptoKey;
  const { d: _private, ...open } = jwk;
  const kid = jwk.kid ?? "";
  return {
    jwks: { keys: [{ ...open, kid, alg: "ES256", use: "sig" }] },
    sign: (claims, issuer) =>
      new SignJWT({ ...claims }).setProtectedHeader({ alg: "ES256", kid, typ: "JWT" }).setIssuer(issuer).setIssuedAt().sign(key),
  };
};
