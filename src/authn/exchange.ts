import { createLocalJWKSet, decodeJwt, jwtVerify, type JWTPayload } from "jose";
import type { Log } from "#telemetry/log.ts";
import type { Metrics } from "#telemetry/metrics.ts";
import type { AgentClient } from "./agent-clients.ts";
import type { Caller } from "./caller.ts";
import { isSecret, parseBasic } from "./client-secret.ts";
import { ACCESS_TOKEN_TYPE, delegate, EXCHANGE_GRANT, parseExchange, parseSubjectToken } from "./delegated-token.ts";
import type { HouseKeys } from "./house-keys.ts";
import { OAuthError } from "./oauth-error.ts";
import { agentScopes } from "./scopes.ts";

const MAX_FORM_BYTES = 32_768;
const ASSERTION_TYPE = "urn:ietf:params:oauth:client-assertion-type:jwt-bearer";
const ASSERTION_ALGORITHMS = ["ES256", "EdDSA", "PS256", "RS256"];
const ASSERTION_LIFE_SECONDS = 300;

export interface TokenExchangeParts {
  readonly clients: readonly AgentClient[];
  /** Of accepted issuers, for the public origin: `createTokenChecker`. */
  readonly check: (token: string) => Promise<Caller>;
  readonly houseKeys: HouseKeys;
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
  const chunks: Uint8Array[] = [];
  let size = 0;
  for await (const chunk of request.body ?? []) {
    size += chunk.byteLength;
    if (size > MAX_FORM_BYTES) throw new OAuthError("invalid_request", "the form is too large");
    chunks.push(chunk);
  }
  return new URLSearchParams(Buffer.concat(chunks).toString("utf8"));
};

const one = (form: URLSearchParams, name: string): string | undefined => {
  const values = form.getAll(name);
  if (values.length > 1) throw new OAuthError("invalid_request", `${name} is given twice`);
  return values[0];
};

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

const refused = (): OAuthError => new OAuthError("invalid_client", "the client is unknown or its proof is wrong");

/**
 * `POST /oauth/token` of the gateway: RFC 8693 for registered agents, in production too. It takes a person's access token
 * and answers one that says which agent acts, signed by the gateway's own key and of at most 15 minutes. Refusals are the
 * OAuth error bodies of RFC 6749; a client learns the same of an unknown id and of a wrong secret.
 */
export const createTokenExchange = (parts: TokenExchangeParts): ((request: Request) => Promise<Response>) => {
  const clients = new Map(parts.clients.map((client) => [client.clientId, client]));
  const decoy = "0".repeat(64);

  const bySecret = (header: string): AgentClient => {
    const given = parseBasic(header);
    if (given === undefined)
      throw new OAuthError("invalid_client", "send client id and secret form-encoded as HTTP Basic (RFC 6749 2.3.1)");
    const client = clients.get(given.clientId);
    const right = isSecret(client?.secretSha256 ?? decoy, given.secret);
    if (client?.secretSha256 === undefined || !right) throw refused();
    return client;
  };

  const byAssertion = async (assertion: string): Promise<AgentClient> => {
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
      algorithms: ASSERTION_ALGORITHMS,
      issuer: client.clientId,
      subject: client.clientId,
      audience: [parts.endpoint, parts.houseKeys.issuer],
      currentDate: parts.now(),
      requiredClaims: ["exp", "jti"],
    }).catch(() => {
      throw refused();
    });
    const left = (payload.exp ?? 0) - parts.now().getTime() / 1000;
    if (left > ASSERTION_LIFE_SECONDS) throw new OAuthError("invalid_client", "an assertion lives at most 5 minutes");
    if (!(await parts.isFirstUse(`${client.clientId} ${payload.jti ?? ""}`, new Date((payload.exp ?? 0) * 1000)))) throw refused();
    return client;
  };

  const authenticateClient = (request: Request, form: URLSearchParams): Promise<AgentClient> | AgentClient => {
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

  const exchange = async (request: Request): Promise<Response> => {
    const form = await readForm(request);
    if (one(form, "grant_type") !== EXCHANGE_GRANT) throw new OAuthError("unsupported_grant_type", `grant_type must be ${EXCHANGE_GRANT}`);
    const client = await authenticateClient(request, form);
    if ((one(form, "client_id") ?? client.clientId) !== client.clientId)
      throw new OAuthError("invalid_request", "client_id is another client's");
    const ask = parseExchange((name) => form.getAll(name));
    const subject = await parseSubjectToken(parts.check, ask.subjectToken);
    const token = delegate(subject, ask, {
      agent: client.agent,
      clientId: client.clientId,
      agentScopes: client.scopes ?? agentScopes,
      audiences: parts.audiences,
      now: parts.now(),
    });
    const scope = token.scopes.join(" ");
    const claims = { ...token.claims, aud: [...token.audiences], client_id: client.clientId, scope };
    return answer(200, {
      access_token: await parts.houseKeys.sign("gateway", claims, token.lifeSeconds),
      issued_token_type: ACCESS_TOKEN_TYPE,
      token_type: "Bearer",
      expires_in: token.lifeSeconds,
      scope,
    });
  };

  return async (request) => {
    const count = (status: string) => parts.metrics.count("bff_token_exchange_total", { grant_type: "token_exchange", status });
    try {
      const response = await exchange(request);
      count("ok");
      return response;
    } catch (error) {
      const known = error instanceof OAuthError ? error : new OAuthError("server_error", "something went wrong", error);
      count(known.code);
      if (known.status >= 500) parts.log.error("token_exchange_failed", { code: known.code, cause: known.cause });
      return answer(known.status, { error: known.code, error_description: known.message }, known.code === "invalid_client");
    }
  };
};
