import type { ClientMetadata } from "oidc-provider";
import { deriveClientSecret } from "#authn/client-secret.ts";
import { EXCHANGE_GRANT } from "#authn/delegated-token.ts";
import { agentScopes, personScopes } from "#authn/scopes.ts";
import type { HouseSecrets } from "#authn/seal.ts";
import type { AgentSignIn, ServiceSignIn, SignIns } from "./sign-ins.ts";

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

const common = { response_types: [], redirect_uris: [], token_endpoint_auth_method: "client_secret_basic" } as const;

const agentMetadata = (secrets: HouseSecrets, agent: AgentSignIn): ClientMetadata => ({
  ...common,
  response_types: [],
  redirect_uris: [],
  client_id: agent.clientId,
  client_name: agent.name,
  client_secret: deriveClientSecret(secrets, agent.clientId),
  grant_types: [EXCHANGE_GRANT],
});

const serviceMetadata = (secrets: HouseSecrets, service: ServiceSignIn): ClientMetadata => ({
  ...common,
  response_types: [],
  redirect_uris: [],
  client_id: service.clientId,
  client_name: service.name,
  client_secret: deriveClientSecret(secrets, service.clientId),
  grant_types: ["client_credentials"],
});

/** Every program the issuer knows. There is no registration: what is not here is nobody. */
export const clientsOf = (parts: {
  readonly web: WebClient;
  readonly signIns: SignIns;
  readonly secrets: HouseSecrets;
}): ClientMetadata[] => [
  {
    client_id: parts.web.clientId,
    client_name: "Sallyport",
    client_secret: parts.web.clientSecret,
    token_endpoint_auth_method: "client_secret_basic",
    grant_types: ["authorization_code", "refresh_token", "client_credentials", EXCHANGE_GRANT],
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
  ...parts.signIns.agents.map((agent) => agentMetadata(parts.secrets, agent)),
  ...parts.signIns.services.map((service) => serviceMetadata(parts.secrets, service)),
];

/** What tokens of a client may carry. */
export const scopesOfClient = (signIns: SignIns, clientId: string): readonly string[] => {
  if (signIns.agents.some((agent) => agent.clientId === clientId)) return agentScopes;
  return signIns.services.find((service) => service.clientId === clientId)?.scopes ?? personScopes;
};
