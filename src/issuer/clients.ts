import { randomBytes } from "node:crypto";
import type { ClientMetadata } from "oidc-provider";
import { deriveClientSecret } from "#authn/sealing/client-secret.ts";
import { EXCHANGE_GRANT } from "#authn/exchange/delegated-token.ts";
import { CLIENT_GRANT } from "#authn/exchange/own-token.ts";
import { agentScopes, personScopes } from "#authn/model/scopes.ts";
import type { FindClient, RegisteredClient } from "#authn/exchange/registered-clients.ts";
import type { InstanceSecrets } from "#authn/sealing/seal.ts";
import type { SignIns } from "./sign-ins.ts";

/** Only the development sign-in for the command line; see demo-grant.ts. */
export const CLI_CLIENT = "sallyport-cli";
export const DEMO_GRANT = "urn:sallyport:oauth:grant-type:demo-sign-in";

export interface WebClient {
  readonly clientId: string;
  readonly clientSecret: string;
  /** Origins at which browsers reach the gateway. */
  readonly publicOrigins: readonly string[];
}

const CALLBACK_PATH = "/auth/callback";

/** Where the gateway is told that a session here has ended. */
export const logoutUrlOf = (web: WebClient): string => new URL("/auth/backchannel-logout", web.publicOrigins[0]).href;

/** A program that only asks the token endpoint, by its secret. */
const program = (clientId: string, secret: string, grant: string, name?: string): ClientMetadata => ({
  response_types: [],
  redirect_uris: [],
  token_endpoint_auth_method: "client_secret_basic",
  client_id: clientId,
  ...(name === undefined ? {} : { client_name: name }),
  client_secret: secret,
  grant_types: [grant],
});

/** Every program the issuer knows. There is no registration: what is not here is nobody. */
export const clientsOf = (parts: {
  readonly web: WebClient;
  readonly signIns: SignIns;
  readonly secrets: InstanceSecrets;
}): ClientMetadata[] => [
  {
    client_id: parts.web.clientId,
    client_name: "Sallyport",
    client_secret: parts.web.clientSecret,
    token_endpoint_auth_method: "client_secret_basic",
    grant_types: ["authorization_code", "refresh_token", CLIENT_GRANT, EXCHANGE_GRANT],
    response_types: ["code"],
    redirect_uris: parts.web.publicOrigins.map((origin) => `${origin}${CALLBACK_PATH}`),
    // When a person signs out here, every gateway lets go of the sessions that came from it.
    backchannel_logout_uri: logoutUrlOf(parts.web),
    backchannel_logout_session_required: true,
    post_logout_redirect_uris: parts.web.publicOrigins.flatMap((origin) => [origin, `${origin}/`]),
  },
  {
    client_id: CLI_CLIENT,
    client_name: "Sallyport command line",
    token_endpoint_auth_method: "none",
    grant_types: [DEMO_GRANT],
    response_types: [],
    redirect_uris: [],
  },
  ...parts.signIns.agents.map(({ clientId, name }) => program(clientId, deriveClientSecret(parts.secrets, clientId), EXCHANGE_GRANT, name)),
  ...parts.signIns.services.map(({ clientId, name }) => program(clientId, deriveClientSecret(parts.secrets, clientId), CLIENT_GRANT, name)),
];

/** The library wants a secret of each client; of these only digests are there, so nobody knows the one that it is given. */
const NOBODYS_SECRET = randomBytes(32).toString("base64url");

/** An agent or a service whose credentials Sallyport keeps, as the provider's library knows its clients; its secret is looked at apart. */
export const registeredMetadata = ({ clientId, kind }: RegisteredClient): ClientMetadata =>
  program(clientId, NOBODYS_SECRET, kind === "agent" ? EXCHANGE_GRANT : CLIENT_GRANT);

/** What is known of clients besides how they prove themselves. */
export interface KnownClients {
  /** What tokens of a client may carry. */
  scopesOf(clientId: string): Promise<readonly string[]>;
  /** The agent that the client is, and the tenant that it acts in alone. */
  agentOf(clientId: string): Promise<{ readonly agent: string; readonly tenant?: string } | undefined>;
  /** The tenant of a service client; `*` of those that a file names. */
  tenantOf(clientId: string): Promise<string>;
}

export const knownClients = (signIns: SignIns, findClient: FindClient): KnownClients => ({
  scopesOf: async (clientId) => {
    if (signIns.agents.some((agent) => agent.clientId === clientId)) return agentScopes;
    const named = signIns.services.find((service) => service.clientId === clientId)?.scopes;
    return named ?? (await findClient(clientId))?.scopes ?? personScopes;
  },
  agentOf: async (clientId) => {
    const named = signIns.agents.find((agent) => agent.clientId === clientId);
    if (named !== undefined) return { agent: named.agent };
    const kept = await findClient(clientId);
    return kept?.kind === "agent" ? { agent: clientId, tenant: kept.tenant } : undefined;
  },
  tenantOf: async (clientId) =>
    signIns.services.some((service) => service.clientId === clientId) ? "*" : ((await findClient(clientId))?.tenant ?? "*"),
});
