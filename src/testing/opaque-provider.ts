import { createServer } from "node:http";
import type { AddressInfo } from "node:net";
import type { TestContext } from "node:test";
import { exportJWK, generateKeyPair } from "jose";
import { loadProviderLibrary } from "#issuer/provider-library.ts";
import { cleanUp } from "./clean-up.ts";

export interface OpaqueTokenOf {
  readonly sub: string;
  readonly scope: string;
  readonly audience: string | undefined;
  readonly claims?: Readonly<Record<string, unknown>>;
  readonly clientId?: string;
  /** Seconds; 300 unless given. */
  readonly life?: number;
}

/** An OpenID provider whose access tokens are opaque: oidc-provider with introspection and revocation. */
export interface OpaqueProvider {
  readonly url: string;
  readonly clientId: string;
  readonly clientSecret: string;
  /** How often it was asked what a token is. */
  introspections(): number;
  tokenOf(who: OpaqueTokenOf): Promise<string>;
  /** A refresh token: active, and no access token. */
  refreshTokenOf(sub: string): Promise<string>;
  /** By RFC 7009, as its client may. */
  revoke(token: string): Promise<void>;
  stop(): Promise<void>;
  start(): Promise<void>;
}

const CLIENT = { id: "sallyport-web", secret: "client-secret-of-the-opaque-provider" } as const;
const AGENT = "hr-bot";

export const opaqueProvider = async (t: TestContext): Promise<OpaqueProvider> => {
  const library = await loadProviderLibrary();
  const pair = await generateKeyPair("ES256", { extractable: true });
  const server = createServer();
  const listen = (port: number) => new Promise<void>((resolve) => server.listen(port, "127.0.0.1", resolve));
  const close = async (): Promise<void> => {
    server.closeAllConnections();
    if (server.listening) await new Promise((resolve) => server.close(resolve));
  };
  await listen(0);
  const { port } = server.address() as AddressInfo;
  const url = `http://localhost:${port}`;
  const client = { grant_types: ["authorization_code", "refresh_token"], redirect_uris: ["http://localhost:8080/auth/callback"] };
  const extra = new WeakMap<object, Readonly<Record<string, unknown>>>();
  const provider = new library.Provider(url, {
    jwks: { keys: [{ ...(await exportJWK(pair.privateKey)), kid: "one", alg: "ES256" }] as never },
    clients: [
      { ...client, client_id: CLIENT.id, client_secret: CLIENT.secret },
      { ...client, client_id: AGENT, client_secret: "secret-of-the-agent" },
    ],
    clientAuthMethods: ["client_secret_basic"],
    enabledJWA: { idTokenSigningAlgValues: ["ES256"] },
    clientDefaults: { id_token_signed_response_alg: "ES256" },
    scopes: ["openid", "offline_access", "tools.read", "tools.call"],
    extraTokenClaims: (_ctx, token) => extra.get(token),
    features: {
      devInteractions: { enabled: false },
      // Not only of the client's own tokens: that is what a resource server asks for.
      introspection: { enabled: true, allowedPolicy: () => true },
      revocation: { enabled: true },
    },
  });
  const handle = provider.callback();
  let asked = 0;
  server.on("request", (request, response) => {
    if (request.url === "/token/introspection") asked++;
    void handle(request, response);
  });
  cleanUp(t, close);

  const granted = async (sub: string, clientId: string) => {
    const found = await provider.Client.find(clientId);
    if (found === undefined) throw new Error("no client");
    const grant = new provider.Grant({ accountId: sub, clientId });
    return { client: found, accountId: sub, grantId: await grant.save(), gty: "authorization_code" };
  };

  return {
    url,
    clientId: CLIENT.id,
    clientSecret: CLIENT.secret,
    introspections: () => asked,
    tokenOf: async ({ sub, scope, audience, claims = {}, clientId = CLIENT.id, life = 300 }) => {
      const token = new provider.AccessToken({ ...(await granted(sub, clientId)), scope, expiresIn: life });
      if (audience !== undefined)
        token.resourceServer = new provider.ResourceServer(audience, { scope, audience, accessTokenFormat: "opaque" });
      extra.set(token, claims);
      return token.save();
    },
    refreshTokenOf: async (sub) =>
      new provider.RefreshToken({ ...(await granted(sub, CLIENT.id)), scope: "tools.read", expiresIn: 300 }).save(),
    revoke: async (token) => {
      const authorization = `Basic ${Buffer.from(`${CLIENT.id}:${CLIENT.secret}`).toString("base64")}`;
      const body = new URLSearchParams({ token });
      const response = await fetch(`${url}/token/revocation`, { method: "POST", headers: { authorization }, body });
      if (response.status !== 200) throw new Error(`the revocation answered ${response.status}`);
    },
    stop: close,
    start: () => listen(port),
  };
};
