import { once } from "node:events";
import { createServer, type IncomingMessage, type Server, type ServerResponse } from "node:http";
import { createServer as createTlsServer } from "node:https";
import type { AddressInfo } from "node:net";
import { exportJWK, generateKeyPair, SignJWT } from "jose";
import { loadProviderLibrary } from "#issuer/provider-library.ts";

/** Somebody else's OpenID provider: the stock library on a port of its own, with a hand on its token endpoint. */
export interface ForeignProvider {
  readonly issuer: string;
  readonly clientId: string;
  readonly clientSecret: string;
  /** Who signs in next, and what the ID token then says of them besides. */
  person: { readonly sub: string; readonly claims: Readonly<Record<string, unknown>> };
  /** Seconds that the next access tokens live. */
  life: number;
  /** Milliseconds that a token request waits before the provider looks at it; set to 0 it goes on at once. */
  delay: number;
  /** Token requests that wait now. */
  readonly waiting: number;
  /** Refresh tokens redeemed. */
  redeemed: number;
  /** Refresh tokens revoked. */
  revoked: number;
  /** Logout tokens that it sent, in order. */
  readonly logoutTokens: string[];
  /** Every token that it gave out, of whatever kind. */
  readonly issued: readonly string[];
  /** Where its logout tokens go; they pass through here so that a test may see them. */
  logoutTarget: string;
  /** An access token of this issuer for `ben`, or another subject, and that audience, as its other clients have them. */
  accessToken(audience: string, more?: { readonly sub: string; readonly scope: string }): Promise<string>;
  /** Stops listening; `start` listens on the same port again. What it knows it keeps. */
  stop(): Promise<void>;
  start(): Promise<void>;
}

const readText = async (request: IncomingMessage): Promise<string> => {
  let text = "";
  for await (const chunk of request) text += String(chunk);
  return text;
};

export interface ForeignProviderOptions {
  /** `127.0.0.1` is another site than `localhost`: people then come from there and go back across sites. */
  readonly host?: "localhost" | "127.0.0.1";
  /** Something that is put before it; answers the port under which it is known from then on. */
  readonly front?: (port: number) => Promise<number>;
  /** It then speaks TLS alone; `send` trusts it. */
  readonly tls?: { readonly cert: Buffer; readonly key: Buffer; readonly send: (url: string, init?: RequestInit) => Promise<Response> };
}

/**
 * `origins` of the gateways. Everybody who comes is signed in as `ben`, or whoever is named as `person`, with a password and a one-time code. Its refresh
 * tokens end with its session, and its session with one that is revoked.
 */
export const startForeignProvider = async (
  origins: readonly string[],
  { host = "localhost", front = async (port) => port, tls }: ForeignProviderOptions = {},
): Promise<ForeignProvider> => {
  const { Provider } = await loadProviderLibrary();
  const { privateKey } = await generateKeyPair("RS256", { extractable: true });
  const clientId = "sallyport-client";
  const clientSecret = "foreign-client-secret-of-sallyport-client";
  const server: Server = tls === undefined ? createServer() : createTlsServer({ cert: tls.cert, key: tls.key });
  const send = tls?.send ?? ((url: string, init?: RequestInit) => fetch(url, init));
  await once(server.listen(0, "127.0.0.1"), "listening");
  const { port } = server.address() as AddressInfo;
  const issuer = `${tls === undefined ? "http" : "https"}://${host}:${await front(port)}`;
  const issued: string[] = [];
  let waiting = 0;
  const state: ForeignProvider = {
    issuer,
    clientId,
    clientSecret,
    person: { sub: "ben", claims: {} },
    life: 600,
    delay: 0,
    get waiting() {
      return waiting;
    },
    redeemed: 0,
    revoked: 0,
    logoutTokens: [],
    issued,
    logoutTarget: "",
    accessToken: (audience, { sub, scope } = { sub: "ben", scope: "openid" }) =>
      new SignJWT({ scope })
        .setProtectedHeader({ alg: "RS256", kid: "k1", typ: "at+jwt" })
        .setIssuer(issuer)
        .setSubject(sub)
        .setAudience(audience)
        .setIssuedAt()
        .setExpirationTime("1h")
        .sign(privateKey),
    stop: async () => {
      server.closeAllConnections();
      server.close();
      await once(server, "close");
    },
    start: async () => void (await once(server.listen(port, "127.0.0.1"), "listening")),
  };
  const provider = new Provider(issuer, {
    jwks: { keys: [{ ...(await exportJWK(privateKey)), alg: "RS256", use: "sig", kid: "k1" }] as never },
    clients: [
      {
        client_id: clientId,
        client_secret: clientSecret,
        grant_types: ["authorization_code", "refresh_token"],
        redirect_uris: origins.map((origin) => `${origin}/auth/callback`),
        post_logout_redirect_uris: origins.map((origin) => `${origin}/`),
        backchannel_logout_uri: `${issuer}/passed-on`,
        backchannel_logout_session_required: true,
      },
    ],
    cookies: { keys: ["foreign cookie key"], names: { session: "op", interaction: "op_i", resume: "op_r" } },
    claims: { openid: ["sub", "sid", "amr", "acr", "auth_time", "email", "email_verified", "groups"], profile: ["name", "tenant"] },
    conformIdTokenClaims: false,
    acrValues: ["gold"],
    scopes: ["openid", "profile", "offline_access"],
    issueRefreshToken: async () => true,
    rotateRefreshToken: true,
    ttl: { AccessToken: () => state.life, RefreshToken: 86_400, Grant: 86_400, Session: 86_400, Interaction: 600, IdToken: 600 },
    findAccount: (_context, sub) => ({ accountId: sub, claims: () => ({ sub, name: "Ben of Elsewhere", ...state.person.claims }) }),
    interactions: { url: (_context, interaction) => `/sign-in/${interaction.uid}` },
    // One grant a session, which no refresh token outlives.
    expiresWithSession: () => true,
    loadExistingGrant: async (context) => {
      const { session, client } = context.oidc;
      if (session?.accountId === undefined || client === undefined) return undefined;
      const { Grant } = context.oidc.provider;
      const held = session.grantIdFor(client.clientId);
      const existing = held === undefined ? undefined : await Grant.find(held);
      const grant = existing ?? new Grant({ accountId: session.accountId, clientId: client.clientId });
      grant.addOIDCScope("openid profile offline_access");
      for (const resource of Object.keys(context.oidc.resourceServers ?? {})) grant.addResourceScope(resource, "openid");
      await grant.save();
      return grant;
    },
    // It would not call loopback addresses by itself; here there are no others.
    fetch: (url, { dispatcher: _guarded, ...options }: RequestInit & { dispatcher?: unknown } = {}) =>
      send(url instanceof URL ? url.href : typeof url === "string" ? url : url.url, options),
    features: {
      devInteractions: { enabled: false },
      revocation: {
        enabled: true,
        // With one refresh token goes the whole session that it came from, as at other providers: nobody is told.
        allowedPolicy: async (context, _client, token) => {
          const uid = token.kind === "RefreshToken" ? token.sessionUid : undefined;
          const session = uid === undefined ? undefined : await context.oidc.provider.Session.findByUid(uid);
          await session?.destroy();
          return true;
        },
      },
      backchannelLogout: { enabled: true },
      // Without a resource its access tokens are for nobody else to read.
      resourceIndicators: {
        enabled: true,
        useGrantedResource: () => true,
        getResourceServerInfo: () => ({ scope: "openid", accessTokenFormat: "jwt", jwt: { sign: { alg: "RS256" } } }),
      },
      rpInitiatedLogout: {
        enabled: true,
        logoutSource: (context, form) => {
          context.body = `<html>${form}</html>`;
        },
      },
    },
  });
  provider.on("grant.success", (context) => {
    if (context.oidc.params?.["grant_type"] === "refresh_token") state.redeemed += 1;
  });
  provider.use(async (context, next) => {
    await next();
    if (context.path !== "/token") return;
    const { access_token: access, refresh_token: refresh, id_token: id } = context.body as Readonly<Record<string, unknown>>;
    issued.push(...[access, refresh, id].filter((token) => typeof token === "string"));
  });
  const callback = provider.callback();

  const serve = async (request: IncomingMessage, response: ServerResponse): Promise<void> => {
    const { pathname } = new URL(request.url ?? "/", issuer);
    if (pathname.startsWith("/sign-in/")) {
      const login = { accountId: state.person.sub, amr: ["pwd", "otp"], acr: "gold" };
      await provider.interactionFinished(request, response, { login }, { mergeWithLastSubmission: false });
      return;
    }
    if (pathname === "/passed-on") {
      const body = await readText(request);
      state.logoutTokens.push(new URLSearchParams(body).get("logout_token") ?? "");
      const answer = await fetch(state.logoutTarget, {
        method: "POST",
        headers: { "content-type": "application/x-www-form-urlencoded" },
        body,
      });
      response.writeHead(answer.status).end();
      return;
    }
    if (pathname === "/token/revocation") state.revoked += 1;
    if (pathname === "/token" && state.delay > 0) {
      waiting += 1;
      const since = performance.now();
      let isGone = false;
      response.once("close", () => (isGone = true));
      while (!isGone && performance.now() - since < state.delay) await new Promise((resolve) => setTimeout(resolve, 20));
      waiting -= 1;
      // Whoever hung up gets nothing, and spends nothing.
      if (isGone) return;
    }
    await callback(request, response);
  };
  server.on("request", (request, response) => {
    serve(request, response).catch(() => response.destroy());
  });
  return state;
};
