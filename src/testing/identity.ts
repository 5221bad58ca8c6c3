import { randomBytes, randomUUID } from "node:crypto";
import { createLocalJWKSet, exportJWK, generateKeyPair, SignJWT, type CryptoKey, type JWK } from "jose";
import type { ServiceName } from "#contract/endpoint.ts";
import { createMetrics, type Metrics } from "#telemetry/metrics.ts";
import type { LivingDelegations } from "#authn/model/agent-rule.ts";
import { createAuthenticate, type Authenticate } from "#authn/callers/authenticate.ts";
import { defaultAssuranceMap, type Assurance } from "#authn/model/assurance.ts";
import { createBearerVerifier } from "#authn/callers/bearer.ts";
import type { ServiceIdentity, VerifyBearer } from "#authn/keys/service-identity.ts";
import type { ServiceKeyRow, ServiceKeyStore } from "#authn/keys/service-key-store.ts";
import { createServiceKeys, type ServiceKeys } from "#authn/keys/service-keys.ts";
import type { InstanceSecrets } from "#authn/sealing/seal.ts";

/** Audience of each service as in the all-in-one instance. */
export const testAudiences = {
  gateway: "http://localhost:8080",
  pdp: "http://localhost:8082",
  crud: "http://localhost:8083",
  membership: "http://localhost:8084",
  secrets: "http://localhost:8085",
} as const satisfies Record<ServiceName, string>;

const ISSUER = "http://localhost:8081";

export interface TestTokenOf {
  readonly sub: string;
  /** `undefined`: the token names none. */
  readonly tenant: string | undefined;
  readonly scopes: readonly string[];
  readonly agent?: string;
  readonly acr?: Assurance;
  /** Seconds since 1970. */
  readonly authTime?: number;
  readonly clientId?: string;
  /** Seconds; 300 unless given. */
  readonly life?: number;
}

export interface TestIdentity {
  /** Accepts tokens for any service of Sallyport, as tests of one service need. */
  readonly authenticate: Authenticate;
  readonly verify: VerifyBearer;
  /** Accepts tokens for this audience alone. */
  authenticateFor(audience: string): Authenticate;
  verifierFor(audience: string | readonly string[]): VerifyBearer;
  identityOf(service: ServiceName): ServiceIdentity;
  /** An access token as the issuer signs it (ES256, `at+jwt`); the audience is all of Sallyport unless given. */
  tokenFor(who: TestTokenOf, audience?: string | readonly string[]): Promise<string>;
  /** Any claims and header, rightly signed by the issuer: for tokens that a good issuer would not write. */
  sign(claims: Readonly<Record<string, unknown>>, header: Readonly<Record<string, unknown>>): Promise<string>;
  /** The issuer's key, as everybody may read it. */
  publicJwk(): Promise<JWK>;
  readonly serviceKeys: ServiceKeys;
  readonly issuer: string;
  readonly secrets: InstanceSecrets;
}

/** A key store that lives as long as the test. */
export const memoryKeyStore = (): ServiceKeyStore => {
  const rows: ServiceKeyRow[] = [];
  return {
    list: async (now) => rows.filter((row) => row.retireAt > now).toSorted((a, b) => b.createdAt.getTime() - a.createdAt.getTime()),
    add: async (row) => {
      rows.push(row);
    },
  };
};

/**
 * Real signing keys and the real verifier, in memory: no sockets, no database. The issuer's key signs persons' tokens, the
 * service keys sign those of services; both are checked exactly as in Sallyport.
 */
export const testIdentity = (
  options: {
    readonly now?: () => Date;
    readonly metrics?: Metrics;
    readonly agentOfClient?: (clientId: string) => Promise<string | undefined>;
    /** Whether delegations live; they do unless it says otherwise. */
    readonly lives?: LivingDelegations;
  } = {},
): TestIdentity => {
  const now = options.now ?? (() => new Date());
  const metrics = options.metrics ?? createMetrics();
  const secrets: InstanceSecrets = [randomBytes(32)];
  const serviceKeys = createServiceKeys({ store: memoryKeyStore(), secrets, issuer: testAudiences.gateway, now });
  let made: Promise<{ key: CryptoKey; jwk: JWK; keys: ReturnType<typeof createLocalJWKSet> }> | undefined;
  const issuerKey = () => {
    made ??= generateKeyPair("ES256").then(async (pair) => {
      const jwk = { ...(await exportJWK(pair.publicKey)), kid: "test", alg: "ES256" };
      return { key: pair.privateKey, jwk, keys: createLocalJWKSet({ keys: [jwk] }) };
    });
    return made;
  };
  const verifierFor = (audience: string | readonly string[]): VerifyBearer =>
    createBearerVerifier({
      audience,
      issuers: [{ issuer: ISSUER, keys: async (header, token) => (await issuerKey()).keys(header, token) }],
      mapping: { subjectPrefix: "", subjectClaim: "sub", tenantClaim: "tenant", assurance: defaultAssuranceMap },
      serviceKeys,
      now,
      metrics,
      ...(options.agentOfClient === undefined ? {} : { agentOfClient: options.agentOfClient }),
    });
  const signToken = async (who: TestTokenOf, audience: string | readonly string[], seconds: number): Promise<string> =>
    new SignJWT({
      iss: ISSUER,
      aud: typeof audience === "string" ? audience : [...audience],
      sub: who.sub,
      scope: who.scopes.join(" "),
      client_id: who.clientId ?? who.agent ?? (who.sub.startsWith("service:") ? who.sub : "sallyport-web"),
      jti: randomUUID(),
      iat: seconds,
      exp: seconds + (who.life ?? 300),
      ...(who.tenant === undefined ? {} : { tenant: who.tenant }),
      ...(who.agent === undefined ? {} : { act: { sub: who.agent } }),
      ...(who.acr === undefined ? {} : { acr: who.acr === "phishing_resistant" ? "phr" : who.acr, amr: ["pwd", "otp"] }),
      ...(who.authTime === undefined && who.acr === undefined ? {} : { auth_time: who.authTime ?? seconds }),
    })
      .setProtectedHeader({ alg: "ES256", typ: "at+jwt", kid: "test" })
      .sign((await issuerKey()).key);
  let tokens: { readonly seconds: number; readonly of: Map<string, Promise<string>> } = { seconds: 0, of: new Map() };
  const { lives = async () => true } = options;
  const verify = verifierFor(Object.values(testAudiences));
  return {
    authenticate: createAuthenticate({ verify, lives }),
    verify,
    authenticateFor: (audience) => createAuthenticate({ verify: verifierFor(audience), lives }),
    verifierFor,
    identityOf: (service) => serviceKeys.identityFor(service),
    serviceKeys,
    issuer: ISSUER,
    secrets,
    sign: async (claims, header) => new SignJWT(claims).setProtectedHeader({ ...header, alg: "ES256" }).sign((await issuerKey()).key),
    publicJwk: async () => (await issuerKey()).jwk,
    tokenFor: (who, audience = Object.values(testAudiences)) => {
      const seconds = Math.floor(now().getTime() / 1000);
      // Whoever asks a hundred times in one second asks with one token, as clients do.
      if (seconds !== tokens.seconds) tokens = { seconds, of: new Map() };
      const key = JSON.stringify([who, audience]);
      const known = tokens.of.get(key) ?? signToken(who, audience, seconds);
      tokens.of.set(key, known);
      return known;
    },
  };
};
