import assert from "node:assert/strict";
import { test, type TestContext } from "node:test";
import * as openid from "openid-client";
import { EXCHANGE_GRANT } from "#authn/exchange/delegated-token.ts";
import { deriveClientSecret } from "#authn/sealing/client-secret.ts";
import { demoPassword } from "#demo/sign-ins.ts";
import { testDatabase } from "#testing/database.ts";
import { formBrowser } from "#testing/form-browser.ts";
import { testIssuer } from "#testing/issuer.ts";

const setUp = async (t: TestContext) => {
  const op = await testIssuer(t, await testDatabase(t, ["authn"]));
  const configOf = (clientId: string, secret: string) =>
    openid.discovery(new URL(op.url), clientId, undefined, openid.ClientSecretBasic(secret), { execute: [openid.allowInsecureRequests] });
  const config = await configOf(op.clientId, op.clientSecret);
  const asClient = (clientId: string) => configOf(clientId, deriveClientSecret(op.secrets, clientId));
  /** A stock client through code, PKCE and the sign-in page. */
  const signIn = async (scope: string) => {
    const verifier = openid.randomPKCECodeVerifier();
    const url = openid.buildAuthorizationUrl(config, {
      redirect_uri: `${op.publicOrigin}/auth/callback`,
      scope,
      code_challenge: await openid.calculatePKCECodeChallenge(verifier),
      code_challenge_method: "S256",
    });
    const browser = formBrowser();
    const atClient = (at: URL): boolean => at.origin === op.publicOrigin;
    const back = await browser.submit(await browser.open(url.href), { login: "ben", password: demoPassword }, atClient);
    return openid.authorizationCodeGrant(config, back.url, { pkceCodeVerifier: verifier, idTokenExpected: true });
  };
  return { op, config, asClient, signIn };
};

test("a stock client finds the algorithm that every provider must have, and keys for all that are announced", async (t) => {
  const { op, config } = await setUp(t);
  const algorithms = config.serverMetadata().id_token_signing_alg_values_supported ?? [];
  assert.ok(algorithms.includes("RS256"), "OpenID Connect Discovery 3");
  const { keys } = (await (await fetch(`${op.url}/jwks`)).json()) as { keys: readonly { alg: string; kid: string }[] };
  assert.deepEqual(new Set(keys.map(({ alg }) => alg)), new Set(algorithms));
});

test("an answer says which scopes it has where they are fewer than were asked", async (t) => {
  const { config, asClient, signIn } = await setUp(t);
  const asked = "openid profile offline_access mcp.tools.discovery mcp.tools.invoke no.such.scope";
  const tokens = await signIn(asked);
  const granted = new Set(tokens.scope?.split(" "));
  assert.ok(granted.has("mcp.tools.invoke") && !granted.has("no.such.scope"));
  const refreshed = await openid.refreshTokenGrant(config, tokens.refresh_token ?? "");
  assert.ok(refreshed.scope?.split(" ").includes("mcp.tools.invoke"));
  const narrowed = await openid.refreshTokenGrant(config, refreshed.refresh_token ?? "", { scope: "openid mcp.tools.invoke" });
  assert.equal(narrowed.scope, "mcp.tools.invoke");
  assert.equal((await openid.refreshTokenGrant(config, narrowed.refresh_token ?? "", { scope: "openid" })).scope, "openid");
  const service = await asClient("service:pep");
  const own = await openid.clientCredentialsGrant(service, { scope: "authzen.pep metrics.read secrets.write" });
  assert.equal(own.scope, "authzen.pep metrics.read");
  await assert.rejects(openid.clientCredentialsGrant(service, { scope: "secrets.write" }), { error: "invalid_scope" });
  assert.equal((await signIn("openid profile no.such.scope")).scope, "openid profile");
});

for (const [client, grant, fields] of [
  ["agent:hr-assistant", "client_credentials", {}],
  ["agent:hr-assistant", "refresh_token", { refresh_token: "x" }],
  ["service:pep", EXCHANGE_GRANT, { subject_token: "x" }],
  ["service:pep", "authorization_code", { code: "x", redirect_uri: "http://x" }],
] as const)
  test(`${client} may not use ${grant}: unauthorized_client`, async (t) => {
    const { asClient } = await setUp(t);
    await assert.rejects(openid.genericGrantRequest(await asClient(client), grant, fields), { error: "unauthorized_client", status: 400 });
  });

test("a grant that there is not, and one that is malformed, keep their own words", async (t) => {
  const { asClient } = await setUp(t);
  const agent = await asClient("agent:hr-assistant");
  await assert.rejects(openid.genericGrantRequest(agent, "no-such-grant", {}), { error: "unsupported_grant_type" });
  await assert.rejects(openid.genericGrantRequest(agent, EXCHANGE_GRANT, {}), { error: "invalid_request" });
});

test("every answer names the request that it is of: the caller's name for it, or one made here", async (t) => {
  const { op } = await setUp(t);
  const paths = ["/.well-known/openid-configuration", "/token", "/auth?client_id=nobody", "/nowhere", "/sign-in/x", "/jwks"];
  for (const path of paths)
    for (const method of ["GET", "POST"]) {
      const own = await fetch(op.url + path, { method, redirect: "manual", headers: { "x-correlation-id": "mine-7" } });
      assert.equal(own.headers.get("x-correlation-id"), "mine-7", `${method} ${path} ${own.status}`);
      const made = await fetch(op.url + path, { method, redirect: "manual", headers: { "x-correlation-id": "not one" } });
      assert.match(made.headers.get("x-correlation-id") ?? "", /^[0-9a-f-]{36}$/, `${method} ${path}`);
    }
});
