import { createServer } from "node:http";
import type { AddressInfo } from "node:net";
import type { TestContext } from "node:test";
import { exportJWK, generateKeyPair, jwtVerify } from "jose";
import type Provider from "oidc-provider";
import { EXCHANGE_GRANT, exchangeParameters } from "#authn/exchange/delegated-token.ts";
import { loadProviderLibrary } from "#issuer/provider-library.ts";
import { cleanUp } from "./clean-up.ts";

/** How a token that is exchanged may differ from what was asked. */
export interface Misbehaviour {
  readonly audience?: string | readonly string[];
  readonly scope?: string;
  readonly sub?: string;
  readonly act?: unknown;
  readonly isOpaque?: boolean;
  /** Seconds. */
  readonly life?: number;
}

/** An OpenID provider that is not ours: oidc-provider with RFC 8693 as a registered grant. */
export interface ForeignProvider {
  readonly url: string;
  readonly clientId: string;
  readonly clientSecret: string;
  /** Grants asked of the token endpoint, in order. */
  readonly asked: Readonly<Record<string, unknown>>[];
  misbehave: Misbehaviour;
  /** Held up until it resolves, before each answer of the exchange. */
  hold: Promise<void> | undefined;
  /** An access token of a person for the gateway's client, as sign-in would bring it. */
  tokenOf(sub: string, scope: string, act?: unknown): Promise<string>;
  stop(): Promise<void>;
  start(): Promise<void>;
}

const CLIENT = { id: "gateway", secret: "foreign-client-secret-of-the-test" } as const;
const HOME = "https://api.foreign.test";

export const foreignProvider = async (t: TestContext): Promise<ForeignProvider> => {
  const library = await loadProviderLibrary();
  const pair = await generateKeyPair("ES256", { extractable: true });
  const server = createServer();
  const listen = (port: number) => new Promise<void>((resolve) => server.listen(port, "127.0.0.1", resolve));
  await listen(0);
  const { port } = server.address() as AddressInfo;
  const url = `http://localhost:${port}`;
  const acts = new WeakMap<object, { act?: unknown; aud?: string | readonly string[] }>();
  const jwtServer = (audience: string, isOpaque = false) =>
    new provider.ResourceServer(audience, {
      scope: "",
      audience,
      accessTokenFormat: isOpaque ? "opaque" : "jwt",
      ...(isOpaque ? {} : { jwt: { sign: { alg: "ES256" as const } } }),
    });
  const provider: Provider = new library.Provider(url, {
    jwks: { keys: [{ ...(await exportJWK(pair.privateKey)), kid: "one", alg: "ES256" }] as never },
    clients: [
      {
        client_id: CLIENT.id,
        client_secret: CLIENT.secret,
        grant_types: ["client_credentials", EXCHANGE_GRANT],
        redirect_uris: [],
        response_types: [],
      },
    ],
    clientAuthMethods: ["client_secret_basic"],
    enabledJWA: { idTokenSigningAlgValues: ["ES256"] },
    clientDefaults: { id_token_signed_response_alg: "ES256" },
    extraTokenClaims: (_ctx, token) => {
      const noted = acts.get(token);
      return noted?.act === undefined ? undefined : { act: noted.act };
    },
    formats: {
      customizers: {
        jwt: (_ctx, token, jwt) => {
          const aud = acts.get(token)?.aud;
          if (aud !== undefined) jwt.payload["aud"] = aud;
        },
      },
    },
    features: {
      devInteractions: { enabled: false },
      clientCredentials: { enabled: true },
      resourceIndicators: {
        enabled: true,
        getResourceServerInfo: (ctx) => {
          made.asked.push({ ...ctx.oidc.params });
          const scope = ctx.oidc.params?.["scope"];
          return { scope: typeof scope === "string" ? scope : "", accessTokenFormat: "jwt", jwt: { sign: { alg: "ES256" } } };
        },
      },
    },
  });
  const handle = provider.callback();
  server.on("request", (request, response) => void handle(request, response));

  const issue = async (order: { sub: string; scope: string; audience: string; act: unknown } & Misbehaviour): Promise<string> => {
    const client = await provider.Client.find(CLIENT.id);
    if (client === undefined) throw new Error("no client");
    const token = new provider.AccessToken({
      client,
      accountId: order.sub,
      scope: order.scope,
      expiresIn: order.life ?? 300,
      gty: "x",
      grantId: "grant",
    });
    token.resourceServer = jwtServer(order.audience, order.isOpaque);
    acts.set(token, { act: order.act });
    return token.save();
  };

  const made: ForeignProvider = {
    url,
    clientId: CLIENT.id,
    clientSecret: CLIENT.secret,
    asked: [],
    misbehave: {},
    hold: undefined,
    tokenOf: (sub, scope, act) => issue({ sub, scope, audience: HOME, act }),
    stop: async () => {
      server.closeAllConnections();
      await new Promise((resolve) => server.close(resolve));
    },
    start: () => listen(port),
  };
  provider.registerGrantType(
    EXCHANGE_GRANT,
    async (ctx) => {
      const params = ctx.oidc.params as Record<string, string | undefined>;
      made.asked.push({ ...params });
      await made.hold;
      const { payload } = await jwtVerify(params["subject_token"] ?? "", pair.publicKey, { issuer: url }).catch(() => {
        throw new library.errors.InvalidGrant("subject_token");
      });
      const { audience: given, ...rest } = made.misbehave;
      const audience = typeof given === "string" ? given : (params["audience"] ?? "");
      const scope = params["scope"] ?? (typeof payload["scope"] === "string" ? payload["scope"] : "");
      const order = { sub: payload.sub ?? "", scope, audience, act: payload["act"], ...rest };
      const token = await issue(order);
      ctx.body = {
        access_token: token,
        issued_token_type: "urn:ietf:params:oauth:token-type:access_token",
        token_type: "Bearer",
        expires_in: order.life ?? 300,
        scope: order.scope,
      };
    },
    exchangeParameters,
  );
  cleanUp(t, async () => {
    server.closeAllConnections();
    if (server.listening) await new Promise((resolve) => server.close(resolve));
  });
  return made;
};
