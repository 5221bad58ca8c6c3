import { calculateJwkThumbprint, exportJWK, generateKeyPair, type JWK } from "jose";
import { statement, type Database } from "#store/database.ts";
import type { Sealer } from "#authn/sealing/seal.ts";

interface Stored {
  readonly kid: string;
  readonly sealed_private: Uint8Array;
}

const list = statement<Stored>("authn.issuer_key.list", `select kid, sealed_private from authn.issuer_key order by created_at desc, kid`);
const add = statement<never>("authn.issuer_key.add", `insert into authn.issuer_key (kid, sealed_private, created_at) values ($1, $2, $3)`);

/** ES256 is what this issuer signs with; RS256 is what OpenID Connect asks every provider to have for clients that know no other. */
export const signingAlgorithms = ["ES256", "RS256"] as const;

/** The issuer's signing keys, kept so that a restart invalidates no token. The first of an algorithm signs. */
export const readSigningKeys = async (parts: {
  readonly database: Database;
  readonly sealer: Sealer;
  readonly now: () => Date;
}): Promise<readonly JWK[]> => {
  const kept = (await parts.database.run(list)).flatMap((row) => {
    const text = parts.sealer.open(row.sealed_private, row.kid);
    return text === undefined ? [] : [JSON.parse(text) as JWK];
  });
  const missing = signingAlgorithms.filter((alg) => !kept.some((key) => key.alg === alg));
  const made = await Promise.all(
    missing.map(async (alg) => {
      const pair = await generateKeyPair(alg, { extractable: true });
      const kid = await calculateJwkThumbprint(await exportJWK(pair.publicKey));
      const key: JWK = { ...(await exportJWK(pair.privateKey)), kid, alg, use: "sig" };
      await parts.database.run(add, [kid, parts.sealer.seal(JSON.stringify(key), kid), parts.now()]);
      return key;
    }),
  );
  return [...kept, ...made];
};
