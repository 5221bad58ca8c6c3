import { createLocalJWKSet, decodeJwt, jwtVerify, type JWTPayload } from "jose";
import { Problem } from "#contract/problem.ts";
import type { Log } from "#telemetry/log.ts";
import type { Metrics } from "#telemetry/metrics.ts";
import { ALGORITHMS } from "#authn/model/access-token.ts";
import type { AgentClient } from "./agent-clients.ts";
import type { Caller } from "#authn/model/caller.ts";
import { isSecret, parseBasic } from "#authn/sealing/client-secret.ts";
import { ACCESS_TOKEN_TYPE, delegate, EXCHANGE_GRANT, parseExchange, parseSubjectToken, type DelegatedToken } from "./delegated-token.ts";
import type { ServiceKeys } from "#authn/keys/service-keys.ts";
import { oneOf, OAuthError } from "#authn/model/oauth-error.ts";
import { provesClient, type FindClient, type RegisteredClient } from "./registered-clients.ts";
import { agentScopes } from "#authn/model/scopes.ts";
import { CLIENT_GRANT, ownToken } from "./own-token.ts";
import { gatherBytes } from "#http/read-bytes.ts";

const MAX_FORM_BYTES = 32_768;
const ASSERTION_TYPE = "urn:ietf:params:oauth:client-assertion-type:jwt-bearer";
const ASSERTION_LIFE_SECONDS = 300;

export interface TokenExchangeParts {
  readonly clients: readonly AgentClient[];
  /** Agents and services whose credentials Sallyport keeps. */
  readonly findClient?: FindClient;
  /** Of accepted issuers, for the public origin: `createTokenChecker`. */
  readonly check: (token: string) => Promise<Caller>;
  readonly serviceKeys: ServiceKeys;
  /** The public origin, `<origin>/mcp`, and the address of each service: what an access token names. */
  readonly audiences: readonly string[];
  /** This endpoint's own URL, which client assertions name; the issuer is accepted too. */
  readonly endpoint: string;
  /** True the first time it is told an assertion's id. Absent = assertions are refused. */
  readonly isFirstUse?: (id: string, expiresAt: Date) => Promise<boolean>;
  readonly now: () => Date;
  readonly metrics: Metrics;
  readonly log: Log;
}

const readForm = async (request: Request): Promise<URLSearchParams> => {
  if (!/^application\/x-www-form-urlencoded\s*(;|$)/i.test(request.headers.get("content-type") ?? ""))
    throw new OAuthError("invalid_request", "send a form: application/x-www-form-urlencoded");
  const tooLarge = () => new OAuthError("invalid_request", "the form is too large");
  const bytes = request.body === null ? undefined : await gatherBytes(request.body, MAX_FORM_BYTES, tooLarge);
  return new URLSearchParams(bytes?.toString("utf8"));
};

const one = (form: URLSearchParams, name: string): string | undefined => oneOf(form.getAll(name), name);

const answer = (status: number, body: Readonly<Record<string, unknown>>, challenge = false): Response =>
  new Response(JSON.stringify(body), {
    status,
    headers: {
      "content-type": "application/json",
      "cache-control": "no-store",
      pragma: "no-cache",
      "x-content-type-options": "nosniff",
      ...(challenge ? { "www-authenticate": 'Basic realm="sallyport", charset="UTF-8"' } : {}),
      ...(status === 503 ? { "retry-after": "5" } : {}),
    },
  });

/** Who proved itself: an agent that a file names, or a client whose credentials Sallyport keeps. */
type Proven =
  | (Pick<AgentClient, "clientId" | "agent" | "scopes"> & { readonly kind: "agent"; readonly tenant?: string })
  | (RegisteredClient & { readonly kind: "service" });

const registered = (client: RegisteredClient): Proven =>
  client.kind === "service" ? { ...client, kind: "service" } : { ...client, kind: "agent", agent: client.clientId };

const refused = (): OAuthError => new OAuthError("invalid_client", "the client is unknown or its proof is wrong");

const oauthErrorOf = (error: unknown): OAuthError => {
  if (error instanceof OAuthError) return error;
  return error instanceof Problem && error.status === 503
    ? new OAuthError("temporarily_unavailable", "The clients cannot be looked up now.", error)
    : new OAuthError("server_error", "something went wrong", error);
};

/**
 * `POST /oauth/token` of the gateway, in production too. RFC 8693 for registered agents: it takes a person's access token
 * and answers one that says which agent acts. Client credentials for registered services: a token in the service's own name. Both are
 * signed by the gateway's own key and of at most 15 minutes. Refusals are the
 * OAuth error bodies of RFC 6749; a client learns the same of an unknown id and of a wrong secret.
 */
export const createTokenExchange = (parts: TokenExchangeParts): ((request: Request) => Promise<Response>) => {
  const clients = new Map(parts.clients.map((client) => [client.clientId, client]));
  const decoy = "0".repeat(64);

  const bySecret = async (header: string): Promise<Proven> => {
    const given = parseBasic(header);
    if (given === undefined)
      throw new OAuthError("invalid_client", "send client id and secret form-encoded as HTTP Basic (RFC 6749 2.3.1)");
    const client = clients.get(given.clientId);
    const right = isSecret(client?.secretSha256 ?? decoy, given.secret);
    if (client?.secretSha256 !== undefined && right) return { ...client, kind: "agent" };
    const kept = await parts.findClient?.(given.clientId);
    if (kept === undefined || !provesClient(kept, given.secret)) throw refused();
    return registered(kept);
  };

  const byAssertion = async (assertion: string): Promise<Proven> => {
    if (parts.isFirstUse === undefined) throw new OAuthError("invalid_client", "client assertions are not taken here");
    let claims: JWTPayload;
    try {
      claims = decodeJwt(assertion);
    } catch {
      throw refused();
    }
    const client = clients.get(claims.iss ?? "");
    if (client?.jwks === undefined) throw refused();
    const { payload } = await jwtVerify(assertion, createLocalJWKSet(client.jwks), {
      algorithms: [...ALGORITHMS],
      issuer: client.clientId,
      subject: client.clientId,
      audience: [parts.endpoint, parts.serviceKeys.issuer],
      currentDate: parts.now(),
      requiredClaims: ["exp", "jti"],
    }).catch(() => {
      throw refused();
    });
    const left = (payload.exp ?? 0) - parts.now().getTime() / 1000;
    if (left > ASSERTION_LIFE_SECONDS) throw new OAuthError("invalid_client", "an assertion lives at most 5 minutes");
    if (!(await parts.isFirstUse(`${client.clientId} ${payload.jti ?? ""}`, new Date((payload.exp ?? 0) * 1000)))) throw refused();
    return { ...client, kind: "agent" };
  };

  const authenticateClient = async (request: Request, form: URLSearchParams): Promise<Proven> => {
    const header = request.headers.get("authorization");
    const assertion = one(form, "client_assertion");
    if (header !== null && assertion !== undefined) throw new OAuthError("invalid_request", "prove the client in one way");
    if (form.has("client_secret")) throw new OAuthError("invalid_client", "send the secret as HTTP Basic, not in the form");
    if (assertion !== undefined) {
      if (one(form, "client_assertion_type") !== ASSERTION_TYPE)
        throw new OAuthError("invalid_request", `client_assertion_type must be ${ASSERTION_TYPE}`);
      return byAssertion(assertion);
    }
    if (header === null) throw new OAuthError("invalid_client", "the client must prove itself");
    return bySecret(header);
  };

  const grants = [EXCHANGE_GRANT, CLIENT_GRANT];
  const issue = async (request: Request): Promise<Response> => {
    const form = await readForm(request);
    const grant = one(form, "grant_type") ?? "";
    if (!grants.includes(grant)) throw new OAuthError("unsupported_grant_type", `grant_type must be ${grants.join(" or ")}`);
    const client = await authenticateClient(request, form);
    if ((one(form, "client_id") ?? client.clientId) !== client.clientId)
      throw new OAuthError("invalid_request", "client_id is another client's");
    if ((grant === CLIENT_GRANT) !== (client.kind === "service"))
      throw new OAuthError("unauthorized_client", "agents exchange a person's token; services ask in their own name");
    const token = client.kind === "service" ? ownToken(form, client, parts.audiences) : await exchange(form, client);
    const scope = token.scopes.join(" ");
    const claims = { ...token.claims, aud: [...token.audiences], client_id: client.clientId, scope };
    return answer(200, {
      access_token: await parts.serviceKeys.sign("gateway", claims, token.lifeSeconds),
      issued_token_type: grant === EXCHANGE_GRANT ? ACCESS_TOKEN_TYPE : undefined,
      token_type: "Bearer",
      expires_in: token.lifeSeconds,
      scope,
    });
  };

  const exchange = async (form: URLSearchParams, client: Proven & { readonly kind: "agent" }): Promise<DelegatedToken> => {
    const ask = parseExchange((name) => form.getAll(name));
    const subject = await parseSubjectToken(parts.check, ask.subjectToken);
    return delegate(subject, ask, {
      agent: client.agent,
      tenant: client.tenant,
      agentScopes: client.scopes ?? agentScopes,
      audiences: parts.audiences,
      now: parts.now(),
    });
  };

  return async (request) => {
    const count = (status: string) => parts.metrics.count("bff_token_exchange_total", { grant_type: "token_exchange", status });
    try {
      const response = await issue(request);
      count("ok");
      return response;
    } catch (error) {
      const known = oauthErrorOf(error);
      count(known.code);
      if (known.status >= 500) parts.log.error("token_exchange_failed", { code: known.code, cause: known.cause });
      return answer(known.status, { error: known.code, error_description: known.message }, known.code === "invalid_client");
    }
  };
};
