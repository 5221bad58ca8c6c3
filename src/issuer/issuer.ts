import type { ServiceParts } from "#authn/callers/service-parts.ts";
import type { IncomingMessage, RequestListener, ServerResponse } from "node:http";
import { createLocalJWKSet } from "jose";
import { listenOn, loopbackHosts, type Listening, type ListenOptions } from "#http/listen.ts";
import { correlationIdOf } from "#http/correlation-id.ts";
import { Problem } from "#contract/problem.ts";
import { startInterval } from "#http/interval.ts";
import type { OwnPages } from "#http/ops-endpoints.ts";
import { defaultAssuranceMap } from "#authn/model/assurance.ts";
import { createTokenChecker } from "#authn/callers/bearer.ts";
import { provesClient, type FindClient } from "#authn/exchange/registered-clients.ts";
import type { ServiceKeys } from "#authn/keys/service-keys.ts";
import { audienceOfResource, isInternalAudience } from "#authn/model/resource-indicator.ts";
import { createSealer, deriveKey } from "#authn/sealing/seal.ts";
import { createArtifacts, sweepExpired } from "./artifacts.ts";
import { clientsOf, knownClients, registeredMetadata, type WebClient } from "./clients.ts";
import { configurationOf } from "./configuration.ts";
import { createFactors } from "./factors.ts";
import { registerGrants } from "./grants.ts";
import { cspSources, messagePage, sendPage } from "./page.ts";
import { loadProviderLibrary } from "./provider-library.ts";
import { createSignIn } from "./sign-in.ts";
import { signOutPages } from "./sign-out.ts";
import type { SignIns } from "./sign-ins.ts";
import { readSigningKeys } from "./signing-keys.ts";
import { completeTokenAnswer } from "./token-answer.ts";
import { createTokenClaims } from "./token-claims.ts";

const SWEEP_MS = 600_000;
const CORRELATION = "x-correlation-id";

export interface IssuerParts extends Pick<
  ServiceParts,
  "database" | "secrets" | "metrics" | "isScraperListed" | "log" | "now" | "environment"
> {
  /** e.g. `http://localhost:8081`. */
  readonly issuerUrl: string;
  readonly web: WebClient;
  readonly signIns: SignIns;
  /** What access tokens name in `aud`: the public origin, `<origin>/mcp`, the address of each service; the first stands for all. */
  readonly audiences: readonly [string, ...string[]];
  readonly serviceKeys: ServiceKeys;
  /** Agents and services whose credentials Sallyport stores; none unless given. */
  readonly findClient?: FindClient | undefined;
}

export interface Issuer {
  readonly issuer: string;
  readonly handler: RequestListener;
  /** Binds loopback unless told otherwise. */
  listen(options: Pick<ListenOptions, "port" | "tls"> & { readonly hosts?: ListenOptions["hosts"] }): Promise<Listening>;
  [Symbol.asyncDispose](): Promise<void>;
}

/**
 * The embedded OpenID provider, for dev and test: sign-in with password and one-time code, code + PKCE, client
 * credentials, RFC 8693. It keeps all in the database. In production any OpenID provider stands in its place, so there
 * this throws.
 */
export const createIssuer = async (parts: IssuerParts): Promise<Issuer> => {
  if (parts.environment === "production")
    throw new Error("The embedded issuer is for dev and test; set OIDC_ISSUER to your OpenID provider.");
  const { issuerUrl, database, secrets, now, log, signIns } = parts;
  const library = await loadProviderLibrary();
  const url = new URL(issuerUrl);
  const sealer = (purpose: string) => createSealer(secrets, `authn.issuer.${purpose}`);
  const jwks = await readSigningKeys({ database, sealer: sealer("signing-key"), now });
  const factors = createFactors({ database, signIns, now });
  const { findClient = async () => undefined } = parts;
  const clients = knownClients(signIns, findClient);
  const claims = createTokenClaims(factors.find, clients.tenantOf);

  const isOwn = (resource: string): boolean => isInternalAudience(parts.audiences, resource);
  const audienceOf = (token: object, resource: string, granted: readonly string[]): string | readonly string[] => {
    const noted = claims.audienceOf(token);
    if (noted !== undefined) return noted;
    if (isOwn(resource)) return resource === parts.audiences[0] ? parts.audiences : resource;
    if (granted.length === 0) return resource;
    // What a session hands to services outside opens nothing in Sallyport; this issuer itself takes it for an exchange.
    return [...granted.filter((one) => !isOwn(one)).map(audienceOfResource), issuerUrl];
  };

  const artifacts = createArtifacts({
    database,
    sealer: sealer("artifact"),
    now,
    alreadyUsed: () => new library.errors.InvalidGrant("it was used already"),
  });
  const provider = new library.Provider(
    issuerUrl,
    configurationOf({
      // The library asks for clients that it was not given with each request.
      adapter: (kind) => {
        const kept = artifacts(kind);
        if (kind !== "Client") return kept;
        const find = async (id: string) => {
          const client = await findClient(id);
          return client === undefined ? undefined : { ...registeredMetadata(client) };
        };
        return { ...kept, find };
      },
      jwks,
      cookieKeys: secrets.map((secret) => deriveKey(secret, "authn.issuer.cookie.v1").toString("base64url")),
      cookieSuffix: url.port,
      clients: clientsOf({ web: parts.web, signIns, secrets }),
      library,
      factors,
      claims,
      audienceOf,
      audiences: parts.audiences,
      known: clients,
      web: parts.web,
      signOut: signOutPages({ provider: () => provider, publicOrigins: parts.web.publicOrigins }),
    }),
  );
  // Of what Sallyport keeps itself there is only a digest; a client of the demo may have both.
  const asGiven = provider.Client.prototype.compareClientSecret;
  provider.Client.prototype.compareClientSecret = async function (actual) {
    return provesClient(await findClient(this.clientId), actual) || asGiven.call(this, actual);
  };
  provider.use(completeTokenAnswer);
  provider.on("backchannel.error", (_ctx, error, client) =>
    log.warn("issuer_logout_not_told", { client_id: client.clientId, cause: error }),
  );
  provider.on("server_error", (ctx, error) => log.error("issuer_failed", { correlation_id: ctx.response.get(CORRELATION), cause: error }));

  const publicKeys = createLocalJWKSet({ keys: jwks.map(({ d: _private, ...key }) => key) });
  registerGrants({
    provider,
    errors: library.errors,
    webClientId: parts.web.clientId,
    signIns,
    factors,
    claims,
    audiences: parts.audiences,
    clients,
    now,
    checkFor: (audience) =>
      createTokenChecker({
        audience,
        issuers: [{ issuer: issuerUrl, keys: (header, token) => publicKeys(header, token) }],
        mapping: { subjectPrefix: "", subjectClaim: "sub", tenantClaim: "tenant", assurance: defaultAssuranceMap },
        serviceKeys: parts.serviceKeys,
        agentOfClient: async (clientId) => (await clients.agentOf(clientId))?.agent,
        now,
      }),
    issuerUrl,
  });

  const signIn = createSignIn({
    provider,
    factors,
    signIns,
    sealer: sealer("sign-in"),
    issuerOrigin: url.origin,
    publicOrigins: parts.web.publicOrigins,
    now,
    log,
  });
  const callback = provider.callback();
  // The library's own pages (a form that sends itself) add the digest of their one script to this policy.
  const defaultHeaders = {
    "content-security-policy": `default-src 'none'; script-src 'none'; form-action 'self' ${cspSources(parts.web.publicOrigins).join(" ")}; base-uri 'none'; frame-ancestors 'none'`,
    "x-content-type-options": "nosniff",
    "referrer-policy": "same-origin",
  };

  const serve = async (request: IncomingMessage, response: ServerResponse): Promise<void> => {
    response.setHeader(CORRELATION, correlationIdOf(request.headers[CORRELATION]?.toString()));
    // The provider builds its own addresses from the Host header, so only its own host is served.
    if (request.headers.host?.toLowerCase() !== url.host) {
      sendPage(response, messagePage("Not served here", `This is ${issuerUrl}.`, 421));
      return;
    }
    if (await signIn(request, response)) return;
    for (const [name, value] of Object.entries(defaultHeaders)) response.setHeader(name, value);
    await callback(request, response);
  };
  const handler: RequestListener = (request, response) => {
    serve(request, response).catch((cause: unknown) => {
      const status = cause instanceof Problem ? cause.status : 500;
      if (status >= 500) log.error("issuer_failed", { correlation_id: response.getHeader(CORRELATION), cause });
      if (response.headersSent) response.destroy();
      else
        sendPage(
          response.setHeader("connection", "close"),
          messagePage("That did not work", "Go back to Sallyport and start again.", status),
        );
    });
  };

  const pages: OwnPages = {
    ready: () =>
      database.ready().then(
        () => [],
        () => ["database"],
      ),
    metrics: parts.metrics,
    isListed: parts.isScraperListed ?? (() => false),
    requireReader: () => Promise.reject(new Problem("access_denied", { detail: "Metrics of this port are for this machine." })),
  };
  const sweep = startInterval({
    everyMs: SWEEP_MS,
    work: () => sweepExpired(database, now()),
    failed: (cause) => log.warn("issuer_sweep_failed", { cause }),
  });
  const listening: Listening[] = [];
  return {
    issuer: issuerUrl,
    handler,
    listen: async (options) => {
      const bound = await listenOn(handler, { hosts: loopbackHosts, ...options, pages });
      listening.push(bound);
      return bound;
    },
    [Symbol.asyncDispose]: async () => {
      await sweep[Symbol.asyncDispose]();
      await Promise.all(listening.map((bound) => bound.close()));
    },
  };
};
