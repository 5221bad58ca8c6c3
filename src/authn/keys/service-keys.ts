import { setTimeout as sleep } from "node:timers/promises";
import { randomUUID } from "node:crypto";
import {
  calculateJwkThumbprint,
  exportJWK,
  generateKeyPair,
  importJWK,
  SignJWT,
  type CryptoKey,
  type JSONWebKeySet,
  type JWTPayload,
} from "jose";
import type { ServiceName } from "#contract/endpoint.ts";
import { claimsOfCall } from "./service-call.ts";
import type { ServiceIdentity } from "./service-identity.ts";
import { createKeySealer, type ServiceKeyRow, type ServiceKeyStore } from "./service-key-store.ts";
import { createTtlCache } from "#http/ttl-cache.ts";
import type { InstanceSecrets } from "#authn/sealing/seal.ts";

/** Services whose keys may say who somebody else is; a token of any other key speaks for that service alone. */
const speakers: ReadonlySet<string> = new Set(["service:gateway", "service:crud"]);

export const internalServiceIds: ReadonlySet<string> = new Set([
  "service:gateway",
  "service:pdp",
  "service:crud",
  "service:membership",
  "service:secrets",
]);

export const maySpeakForOthers = (service: string): boolean => speakers.has(service);

const DAY_MS = 86_400_000;
const SIGN_DAYS = 30;
/** Longer than any verifier keeps our key set, and than any token we sign lives. */
const OVERLAP_DAYS = 1;
const KEPT_MS = 600_000;
const COOL_DOWN_MS = 1000;
const CALL_SECONDS = 60;
/** A service's own token says nothing of the single call, so it serves for a third of its life. */
const REUSE_MS = 20_000;

export interface ServiceKey {
  /** Whose key it is, e.g. `service:crud`. */
  readonly service: string;
  readonly key: CryptoKey;
}

export interface ServiceKeys {
  readonly issuer: string;
  identityFor(service: ServiceName): ServiceIdentity;
  /** Makes the service's key where it has none: by what is sealed there a database knows its instance, also one that was never asked anything. */
  prepare(service: ServiceName): Promise<void>;
  /** Signs an access token (`at+jwt`, EdDSA) with the key of a service; adds `iss`, `iat`, `exp`, `jti`. */
  sign(service: ServiceName, claims: JWTPayload, lifeSeconds: number): Promise<string>;
  /** The key of a `kid`, if it is one of ours and not retired. Cost: memory; the database at most once a second. */
  find(kid: string): Promise<ServiceKey | undefined>;
  /** The public key set, for `/.well-known/sallyport-jwks.json`. */
  jwks(): Promise<JSONWebKeySet>;
}

/**
 * The keys by which the services of Sallyport know one another. Each service signs with its own Ed25519 key; keys lie in
 * the database (private part sealed), so services in other processes verify without asking anybody. A key signs for 30
 * days and is verified for one more; the next is made by whoever signs first after that.
 */
export const createServiceKeys = (parts: {
  readonly store: ServiceKeyStore;
  readonly secrets: InstanceSecrets;
  /** `iss` of every token of Sallyport: the first public origin. */
  readonly issuer: string;
  readonly now: () => Date;
}): ServiceKeys => {
  const sealer = createKeySealer(parts.secrets);
  const privateKeys = new Map<string, Promise<CryptoKey>>();
  const publicKeys = new Map<string, Promise<CryptoKey>>();
  const making = new Map<string, Promise<ServiceKeyRow>>();
  let known: readonly ServiceKeyRow[] | undefined;
  let reading: Promise<readonly ServiceKeyRow[]> | undefined;
  let readAt = Number.NEGATIVE_INFINITY;
  let rereading: Promise<readonly ServiceKeyRow[]> | undefined;

  const load = (): Promise<readonly ServiceKeyRow[]> => {
    readAt = parts.now().getTime();
    const begun: Promise<readonly ServiceKeyRow[]> = parts.store
      .list(parts.now())
      .then((found) => {
        // A later look knows more.
        if (reading === begun) known = found;
        return found;
      })
      .finally(() => {
        if (reading === begun) reading = undefined;
      });
    reading = begun;
    return begun;
  };
  /** Keys are never changed and retire by the clock alone: when the database does not answer, those we know are still right. */
  const loadOrKnown = (): Promise<readonly ServiceKeyRow[]> =>
    load().catch((cause: unknown) => {
      if (known === undefined) throw cause;
      return known;
    });
  const current = async (): Promise<readonly ServiceKeyRow[]> => {
    if (known === undefined) return reading ?? load();
    return parts.now().getTime() - readAt > KEPT_MS ? loadOrKnown() : known;
  };

  /**
   * Another process may have made its key a moment after our last look: who brings an unknown one waits for the next look
   * instead of being refused. However many wait, the database is asked once a cool-down.
   */
  const reread = (): Promise<readonly ServiceKeyRow[]> => {
    const restMs = Math.min(COOL_DOWN_MS, Math.max(0, COOL_DOWN_MS - (parts.now().getTime() - readAt)));
    rereading ??= sleep(restMs)
      .then(load)
      .finally(() => (rereading = undefined));
    return rereading;
  };

  const isSigning = (row: ServiceKeyRow, service: string): boolean =>
    row.service === service && parts.now().getTime() - row.createdAt.getTime() < SIGN_DAYS * DAY_MS && sealer.open(row) !== undefined;

  const make = async (service: string): Promise<ServiceKeyRow> => {
    const pair = await generateKeyPair("EdDSA", { extractable: true });
    const publicJwk = await exportJWK(pair.publicKey);
    const kid = await calculateJwkThumbprint(publicJwk);
    const createdAt = parts.now();
    const row: ServiceKeyRow = {
      kid,
      service,
      publicJwk: { ...publicJwk, kid, alg: "EdDSA", use: "sig" },
      sealedPrivate: sealer.seal(JSON.stringify(await exportJWK(pair.privateKey)), { kid, service }),
      createdAt,
      retireAt: new Date(createdAt.getTime() + (SIGN_DAYS + OVERLAP_DAYS) * DAY_MS),
    };
    await parts.store.add(row);
    await load();
    return row;
  };

  const signingRow = async (service: string): Promise<ServiceKeyRow> => {
    const found = (await current()).find((row) => isSigning(row, service));
    if (found !== undefined) return found;
    const running = making.get(service) ?? make(service).finally(() => making.delete(service));
    making.set(service, running);
    return running;
  };

  const privateKey = (row: ServiceKeyRow): Promise<CryptoKey> => {
    const held = privateKeys.get(row.kid);
    if (held !== undefined) return held;
    const jwk = JSON.parse(sealer.open(row) ?? "null") as object;
    const made = importJWK({ ...jwk, kty: "OKP" }, "EdDSA") as Promise<CryptoKey>;
    privateKeys.set(row.kid, made);
    return made;
  };

  const sign: ServiceKeys["sign"] = async (service, claims, lifeSeconds) => {
    const row = await signingRow(`service:${service}`);
    const issuedAt = Math.floor(parts.now().getTime() / 1000);
    return new SignJWT({ ...claims, iss: parts.issuer, jti: randomUUID(), iat: issuedAt, exp: issuedAt + lifeSeconds })
      .setProtectedHeader({ alg: "EdDSA", typ: "at+jwt", kid: row.kid })
      .sign(await privateKey(row));
  };

  const find: ServiceKeys["find"] = async (kid) => {
    const among = (rows: readonly ServiceKeyRow[]) => rows.find((row) => row.kid === kid && row.retireAt > parts.now());
    const row = among(await current()) ?? among(await reread());
    if (row === undefined) return undefined;
    const key = publicKeys.get(kid) ?? (importJWK(row.publicJwk, "EdDSA") as Promise<CryptoKey>);
    publicKeys.set(kid, key);
    return { service: row.service, key: await key };
  };

  const recent = createTtlCache<Promise<string>>(256, parts.now);
  const asService = (service: ServiceName, audience: string, scopes: readonly string[]): Promise<string> => {
    const key = [service, audience, ...scopes].join(" ");
    const held = recent.get(key);
    if (held !== undefined) return held;
    const clientId = `service:${service}`;
    const signed = sign(service, claimsOfCall(audience, { sub: clientId, tenant: "*", scopes, clientId }), CALL_SECONDS);
    recent.set(key, signed, parts.now().getTime() + REUSE_MS);
    signed.catch(() => recent.set(key, signed, 0));
    return signed;
  };

  return {
    issuer: parts.issuer,
    sign,
    find,
    prepare: async (service) => void (await signingRow(`service:${service}`)),
    identityFor: (service) => {
      const clientId = `service:${service}`;
      return {
        clientId,
        asService: (audience, scopes) => asService(service, audience, scopes),
        onBehalfOf: async (audience, subject) => {
          if (!maySpeakForOthers(clientId)) throw new TypeError(`${clientId} speaks for itself alone`);
          return sign(service, claimsOfCall(audience, subject), CALL_SECONDS);
        },
      };
    },
    jwks: async () => {
      const published = await (parts.now().getTime() - readAt >= COOL_DOWN_MS ? loadOrKnown() : current());
      return { keys: published.filter((row) => row.retireAt > parts.now()).map((row) => row.publicJwk) };
    },
  };
};
