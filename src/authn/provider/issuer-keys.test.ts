import assert from "node:assert/strict";
import { test } from "node:test";
import { exportJWK, generateKeyPair, jwtVerify, SignJWT, type JWK } from "jose";
import { createMetrics } from "#telemetry/metrics.ts";
import { remoteIssuer } from "./issuer-keys.ts";

const ISSUER = "https://login.example/realm";
const pair = await generateKeyPair("ES256", { extractable: true });
const other = await generateKeyPair("ES256", { extractable: true });
const jwk = async (key: CryptoKey, kid: string): Promise<JWK> => ({ ...(await exportJWK(key)), kid, alg: "ES256", use: "sig" });
const token = (kid: string, key = pair.privateKey): Promise<string> => new SignJWT({}).setProtectedHeader({ alg: "ES256", kid }).sign(key);

/** A provider whose state the test changes. */
const provider = async () => {
  const state = { up: true, keysUp: true, issuer: ISSUER, keys: [await jwk(pair.publicKey, "one")], asked: [] as string[] };
  const fetch = async (url: string): Promise<Response> => {
    state.asked.push(url);
    if (!state.up) throw new TypeError("fetch failed");
    if (url === `${ISSUER}/.well-known/openid-configuration`) return Response.json({ issuer: state.issuer, jwks_uri: `${ISSUER}/jwks` });
    return state.keysUp ? Response.json({ keys: state.keys }) : new Response("<html>", { status: 500 });
  };
  const metrics = createMetrics();
  return { state, metrics, trusted: remoteIssuer({ issuer: ISSUER, metrics, fetch }) };
};
const verify = async (trusted: Awaited<ReturnType<typeof provider>>["trusted"], text: string) =>
  jwtVerify(text, (header, input) => trusted.keys(header, input));

test("the provider is asked when the first token comes, and then not again", async () => {
  const { state, trusted } = await provider();
  assert.deepEqual(state.asked, []);
  for (let i = 0; i < 5; i++) await verify(trusted, await token("one"));
  assert.deepEqual(state.asked, [`${ISSUER}/.well-known/openid-configuration`, `${ISSUER}/jwks`]);
});

test("a flood of unknown keys makes it ask no more than once in 30 seconds", async () => {
  const { state, trusted } = await provider();
  await verify(trusted, await token("one"));
  for (let i = 0; i < 20; i++)
    await assert.rejects(verify(trusted, await token(`unknown-${i}`, other.privateKey)), { code: "ERR_JWKS_NO_MATCHING_KEY" });
  assert.equal(state.asked.filter((url) => url.endsWith("/jwks")).length, 1);
});

test("a new key is found after the cool-down", async (t) => {
  t.mock.timers.enable({ apis: ["Date"], now: Date.now() });
  const { state, trusted } = await provider();
  await verify(trusted, await token("one"));
  state.keys.push(await jwk(other.publicKey, "two"));
  await assert.rejects(verify(trusted, await token("two", other.privateKey)));
  t.mock.timers.tick(31_000);
  await verify(trusted, await token("two", other.privateKey));
});

test("a provider that is down is unavailable, and is found when it comes", async () => {
  const { state, trusted } = await provider();
  state.up = false;
  await assert.rejects(verify(trusted, await token("one")), { code: "identity_provider_unavailable" });
  state.up = true;
  state.keysUp = false;
  await assert.rejects(verify(trusted, await token("one")), { code: "identity_provider_unavailable" });
  state.keysUp = true;
  await verify(trusted, await token("one"));
});

test("keys that twenty times could not be had are left alone for a while, and so says their breaker", async () => {
  const { state, metrics, trusted } = await provider();
  state.keysUp = false;
  const refused = async () => assert.rejects(verify(trusted, await token("one")), { code: "identity_provider_unavailable" });
  for (let call = 0; call < 20; call++) await refused();
  const asked = () => state.asked.filter((url) => url.endsWith("/jwks")).length;
  assert.equal(asked(), 20);
  await refused();
  assert.equal(asked(), 20);
  assert.match(await metrics.text(), /circuit_breaker_status\{service="idp.jwks"\} 2\n/);
});

test("keys that are held serve on while the provider is down", async () => {
  const { state, trusted } = await provider();
  await verify(trusted, await token("one"));
  state.up = false;
  await verify(trusted, await token("one"));
});

test("a discovery document of another issuer is not believed", async () => {
  const { state, trusted } = await provider();
  state.issuer = "https://evil.example";
  await assert.rejects(verify(trusted, await token("one")), { code: "identity_provider_unavailable" });
  assert.deepEqual(state.asked, [`${ISSUER}/.well-known/openid-configuration`]);
});
