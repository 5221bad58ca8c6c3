import { calculateJwkThumbprint, exportJWK, generateKeyPair, type JWK } from "jose";
import { statement, type Database } from "#store/database.ts";
import type { Sealer } from "#authn/seal.ts";

interface Stored {
  readonly kid: string;
  readonly sealed_private: Uint8Array;
}

const list = statement<Stored>("authn.issuer_key.list", `select kid, sealed_private from authn.issuer_key order by created_at desc, kid`);
const add = statement<never>("authn.issuer_key.add", `insert into authn.issuer_key (kid, sealed_private, created_at) values ($1, $2, $3)`);

/** The issuer's signing keys (ES256), kept so that a restart invalidates no token. The first signs. */
export const readSigningKeys = async (parts: {
  readonly database: Database;
  readonly sealer: Sealer;
  readonly now: () => Date;
}): Promise<readonly JWK[]> => {
  const kept = (await parts.database.run(list)).flatMap((row) => {
    const text = parts.sealer.open(row.sealed_private, row.kid);
    return text === undefined ? [] : [JSON.parse(text) as JWK];
  });
  if (kept.length > 0) return kept;
  const pair = await generateKeyPair("ES256", { extractable: true });
  const kid = await calculateJwkThumbprint(await exportJWK(pair.publicKey));
  const key: JWK = { ...(await exportJWK(pair.privateKey)), kid, alg: "ES256", use: "sig" };
  await parts.database.run(add, [kid, parts.sealer.seal(JSON.stringify(key), kid), parts.now()]);
  return [key];
};
