import { createHash } from "node:crypto";
import type { Adapter, AdapterFactory, AdapterPayload } from "oidc-provider";
import { statement, type Database } from "#store/database.ts";
import type { Sealer } from "#authn/sealing/seal.ts";

interface Stored {
  readonly id_hash: Uint8Array;
  readonly sealed: Uint8Array;
  readonly consumed_at: string | null;
}

const upsert = statement<never>(
  "authn.oidc_artifact.upsert",
  `insert into authn.oidc_artifact (kind, id_hash, uid_hash, grant_hash, sealed, expires_at) values ($1, $2, $3, $4, $5, $6)
   on conflict (kind, id_hash) do update
   set uid_hash = excluded.uid_hash, grant_hash = excluded.grant_hash, sealed = excluded.sealed, expires_at = excluded.expires_at`,
);
const findOne = statement<Stored>(
  "authn.oidc_artifact.find",
  `select id_hash, sealed, consumed_at from authn.oidc_artifact where kind = $1 and id_hash = $2`,
);
const findByUid = statement<Stored>(
  "authn.oidc_artifact.find_by_uid",
  `select id_hash, sealed, consumed_at from authn.oidc_artifact where kind = $1 and uid_hash = $2`,
);
const consume = statement<{ readonly kind: string }>(
  "authn.oidc_artifact.consume",
  `update authn.oidc_artifact set consumed_at = $3 where kind = $1 and id_hash = $2 and consumed_at is null returning kind`,
);
const destroy = statement<never>("authn.oidc_artifact.destroy", `delete from authn.oidc_artifact where kind = $1 and id_hash = $2`);
const revokeGrant = statement<never>("authn.oidc_artifact.revoke", `delete from authn.oidc_artifact where grant_hash = $1 and kind = $2`);
const sweepArtifacts = statement<never>("authn.oidc_artifact.sweep", `delete from authn.oidc_artifact where expires_at < $1`);
const sweepCodes = statement<never>("authn.used_code.sweep", `delete from authn.used_code where expires_at < $1`);

/** Ids are the codes and tokens themselves, so only their digest is kept: who reads the table holds none of them. */
const digest = (text: string): Buffer => createHash("sha256").update(text).digest();

/** What the provider keeps, in the database: found again after a restart, and by every process of one instance. */
export const createArtifacts = (parts: {
  readonly database: Database;
  readonly sealer: Sealer;
  readonly now: () => Date;
  /** What a second use of a code or token is answered with. */
  readonly alreadyUsed: () => Error;
}): AdapterFactory => {
  const { database, sealer } = parts;
  return (kind): Adapter => {
    const associated = (hash: Uint8Array): string => `${kind} ${Buffer.from(hash).toString("hex")}`;
    const read = ([row]: readonly Stored[]): AdapterPayload | undefined => {
      const text = row === undefined ? undefined : sealer.open(row.sealed, associated(row.id_hash));
      if (row === undefined || text === undefined) return undefined;
      const payload = JSON.parse(text) as AdapterPayload;
      return row.consumed_at === null ? payload : { ...payload, consumed: Math.floor(Date.parse(row.consumed_at) / 1000) };
    };
    return {
      upsert: async (id, payload, expiresIn) => {
        const hash = digest(id);
        await database.run(upsert, [
          kind,
          hash,
          payload.uid === undefined ? null : digest(payload.uid),
          payload.grantId === undefined ? null : digest(payload.grantId),
          sealer.seal(JSON.stringify(payload), associated(hash)),
          expiresIn === undefined ? null : new Date(parts.now().getTime() + expiresIn * 1000),
        ]);
      },
      find: async (id) => read(await database.run(findOne, [kind, digest(id)])),
      findByUid: async (uid) => read(await database.run(findByUid, [kind, digest(uid)])),
      // The device flow is off: nothing has a user code.
      findByUserCode: async () => undefined,
      consume: async (id) => {
        // Two requests with one code reach this together; the row lets only one of them through.
        const taken = await database.run(consume, [kind, digest(id), parts.now()]);
        if (taken.length === 0) throw parts.alreadyUsed();
      },
      destroy: async (id) => {
        await database.run(destroy, [kind, digest(id)]);
      },
      revokeByGrantId: async (grantId) => {
        await database.run(revokeGrant, [digest(grantId), kind]);
      },
    };
  };
};

/** Forgets what has expired an hour ago; until then an expired thing is told from an unknown one. */
export const sweepExpired = async (database: Database, now: Date): Promise<void> => {
  const horizon = new Date(now.getTime() - 3_600_000);
  await database.run(sweepArtifacts, [horizon]);
  await database.run(sweepCodes, [horizon]);
};
