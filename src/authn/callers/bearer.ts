import { errors, jwtVerify, type JWTPayload, type JWTVerifyGetKey } from "jose";
import { Problem } from "#contract/problem.ts";
import type { Metrics } from "#telemetry/metrics.ts";
import { ALGORITHMS, invalidToken, parseBearer, parseTokenHead, requireAccessToken, type TokenHead } from "#authn/model/access-token.ts";
import { agentsAmong } from "#authn/model/actor-kind.ts";
import type { Caller } from "#authn/model/caller.ts";
import {
  identityOfService,
  identityOfProvider,
  linkTenantOf,
  parseActors,
  readScopes,
  requireNoService,
  subjectOfProvider,
  type Identity,
  type HasEnded,
  type IdentityMapping,
  type PersonOf,
} from "#authn/model/claims.ts";
import { countEnd } from "#authn/model/count-end.ts";
import type { VerifyBearer } from "#authn/keys/service-identity.ts";
import { SERVICE_CALL } from "#authn/keys/service-call.ts";
import { internalServiceIds, maySpeakForOthers, type ServiceKeys } from "#authn/keys/service-keys.ts";
import type { Introspector } from "#authn/provider/introspection.ts";
import type { TrustedIssuer } from "#authn/provider/issuer-keys.ts";
import { createOpaqueCheck, isOpaque } from "#authn/provider/opaque-token.ts";
import { createTtlCache } from "#http/ttl-cache.ts";

const AHEAD_SECONDS = 60;
/** How long a signature once found good is not computed again, for how many tokens. */
const KEPT_MS = 30_000;
const MAX_KEPT = 2000;

export interface BearerVerifierParts {
  /** This service's own address, and whatever else a token for it may name; one of them must stand in `aud`. */
  readonly audience: string | readonly string[];
  /** Issuers besides Sallyport itself. */
  readonly issuers: readonly TrustedIssuer[];
  /** Says what tokens are that are no JWT; without it they are not accepted. Its issuer must be one of the accepted. */
  readonly introspector?: Introspector | undefined;
  readonly mapping: IdentityMapping;
  readonly serviceKeys: ServiceKeys;
  /** Who a provider's subject is here; without it subjects are node ids alone. Asked for each token of a provider. */
  readonly personOf?: PersonOf;
  /** Whether a person may be here no more; nobody has ended unless given. Asked for each token but those of calls between services. */
  readonly hasEnded?: HasEnded;
  /** The AIAgent node with this client id, if there is one. Asked only for a provider's tokens without an `act` of an agent. */
  readonly agentOfClient?: (clientId: string) => Promise<string | undefined>;
  readonly now: () => Date;
  /** Where checks are counted: for the service that is sent tokens from outside. What Sallyport's services send one another counts nowhere. */
  readonly metrics?: Metrics;
}

interface Verified {
  readonly payload: JWTPayload;
  /** Whose key of ours signed it. */
  readonly service: string | undefined;
}

/** A key of a service says who that service is; those of the gateway and of crud also say for whom they call. */
const requireServiceSubject = (service: string, who: Identity): boolean => {
  if (who.sub === service) {
    if (who.tenant !== "*") throw invalidToken("A service of Sallyport has no tenant.");
    return true;
  }
  if (internalServiceIds.has(who.sub) || !maySpeakForOthers(service)) throw invalidToken("This key does not speak for this subject.");
  return false;
};

/**
 * Checks access tokens for one service: a signed JWT of an accepted issuer, or what such an issuer says of a token that is
 * none, for this audience, in its time.
 * Throws `invalid_token` (401), `identity_rejected`, `tenant_required` (403), `identity_provider_unavailable` (503).
 * Cost: one signature check, a provider's keys are kept in memory; or one question to the provider each 30 s.
 */
export const createTokenChecker = (parts: BearerVerifierParts): ((token: string) => Promise<Caller>) => {
  const audience = typeof parts.audience === "string" ? [parts.audience] : [...parts.audience];
  if (parts.issuers.some((row) => row.issuer === parts.serviceKeys.issuer)) throw new TypeError("Sallyport's own issuer is not a provider");
  const issuers = new Map(parts.issuers.map((row) => [row.issuer, row]));
  const { introspector } = parts;
  if (introspector !== undefined && !issuers.has(introspector.issuer)) throw new TypeError("only an accepted issuer is asked about tokens");
  const checkOpaque = introspector === undefined ? undefined : createOpaqueCheck({ introspector, audience, now: parts.now });

  /** The key that must have signed it, and for our own keys whose it is. */
  const sourceOf = async ({ header, issuer }: TokenHead): Promise<{ service?: string; key: JWTVerifyGetKey }> => {
    if (issuer === parts.serviceKeys.issuer) {
      const found = typeof header.kid === "string" && header.alg === "EdDSA" ? await parts.serviceKeys.find(header.kid) : undefined;
      if (found === undefined) throw invalidToken("Its key is unknown.");
      return { service: found.service, key: async () => found.key };
    }
    const trusted = typeof issuer === "string" ? issuers.get(issuer) : undefined;
    if (trusted === undefined) throw invalidToken("Its issuer is not accepted.");
    return { key: (protectedHeader, input) => trusted.keys(protectedHeader, input) };
  };

  const recent = createTtlCache<Verified>(MAX_KEPT, parts.now);

  /** Signature, issuer, audience, times, type. Of a token seen lately it is known; who it names is read anew each time. */
  const verify = async (token: string): Promise<Verified> => {
    const held = recent.get(token);
    if (held !== undefined) return held;
    if (checkOpaque !== undefined && isOpaque(token)) return { payload: await checkOpaque(token), service: undefined };
    const head = parseTokenHead(token);
    const source = await sourceOf(head);
    const now = parts.now();
    const { payload } = await jwtVerify(token, source.key, {
      algorithms: [...ALGORITHMS],
      audience,
      issuer: String(head.issuer),
      currentDate: now,
      clockTolerance: 0,
      requiredClaims: ["exp", "iat", "aud"],
    }).catch((cause: unknown) => {
      if (cause instanceof Problem) throw cause;
      if (cause instanceof errors.JWTExpired) throw invalidToken("It has expired.");
      throw invalidToken("It does not verify here.", cause);
    });
    requireAccessToken(head.header, payload);
    const seconds = Math.floor(now.getTime() / 1000);
    if ((payload.iat ?? 0) > seconds + AHEAD_SECONDS) throw invalidToken("It was issued in the future.");
    const verified = { payload, service: source.service };
    recent.set(token, verified, Math.min(now.getTime() + KEPT_MS, (payload.exp ?? 0) * 1000));
    return verified;
  };

  const identityAtProvider = async (payload: JWTPayload): Promise<Identity> =>
    identityOfProvider(
      payload,
      parts.mapping,
      await parts.personOf?.(payload.iss ?? "", subjectOfProvider(payload, parts.mapping), linkTenantOf(payload, parts.mapping)),
    );

  const callerOf = async (token: string, payload: JWTPayload, service: string | undefined): Promise<Caller> => {
    const given = payload["client_id"] ?? payload["azp"];
    const clientId = typeof given === "string" && given !== "" ? given : undefined;
    const who = service === undefined ? await identityAtProvider(payload) : identityOfService(payload);
    if (service === undefined && internalServiceIds.has(who.sub)) throw invalidToken("Only Sallyport names its services.");
    if (service === undefined) requireNoService(who.sub, clientId);
    const isInternalService = service !== undefined && requireServiceSubject(service, who);
    const isCall = service !== undefined && payload["use"] === SERVICE_CALL;
    if (!isCall && (await parts.hasEnded?.(who.sub, who.tenant)) === true) throw invalidToken("Its person is suspended or was removed.");
    const actors = parseActors(payload);
    const [named] = agentsAmong(actors);
    // In a token of Sallyport the service that took the first one in has named the agent already.
    const isAsked = named === undefined && clientId !== undefined && service === undefined;
    const known = isAsked ? await parts.agentOfClient?.(clientId) : undefined;
    const agent = named ?? known;
    return {
      ...who,
      scopes: readScopes(payload),
      actors: known === undefined ? actors : [known, ...actors],
      issuer: payload.iss ?? "",
      isInternalService,
      ...(isCall ? { isServiceCall: true, calledBy: service } : {}),
      token,
      expiresAt: payload.exp ?? 0,
      agent,
      clientId,
    };
  };

  return (token) => {
    const kindOf = () => (recent.get(token) === undefined && isOpaque(token) ? "opaque" : "jwt");
    const count = (status: string) => parts.metrics?.count("bff_token_validation_total", { token_type: kindOf(), status });
    return countEnd(count, async () => {
      const { payload, service } = await verify(token);
      return await callerOf(token, payload, service);
    });
  };
};

/** As the checker, of a request's `Authorization` header; also throws `unauthenticated` when there is none. */
export const createBearerVerifier = (parts: BearerVerifierParts): VerifyBearer => {
  const check = createTokenChecker(parts);
  return async (request) => check(parseBearer(request));
};
