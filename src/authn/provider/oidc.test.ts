import assert from "node:assert/strict";
import { test, type TestContext } from "node:test";
import { createMetrics } from "#telemetry/metrics.ts";
import { testDatabase } from "#testing/database.ts";
import { testIssuer, type TestIssuer } from "#testing/issuer.ts";
import { testOidcClient } from "#testing/oidc-client.ts";
import { signIn, visitor } from "#testing/sign-in.ts";
import type { OidcClientParts } from "./oidc.ts";

const clientOf = (op: TestIssuer, send: NonNullable<OidcClientParts["fetch"]>, metrics = createMetrics()) =>
  testOidcClient(op, { scopes: ["openid", "profile"], metrics, fetch: send });

const setUp = async (t: TestContext) => {
  const op = await testIssuer(t, await testDatabase(t, ["authn"]));
  const state = { fail: "" as "" | "network" | "500" | "html", only: "", asked: [] as string[] };
  const metrics = createMetrics();
  const send = async (url: string, init?: RequestInit): Promise<Response> => {
    state.asked.push(new URL(url).pathname);
    if (state.fail !== "" && new URL(url).pathname.includes(state.only)) {
      if (state.fail === "network") throw new TypeError("fetch failed");
      return new Response(state.fail === "html" ? "<html>" : '{"error":"server_error"}', { status: state.fail === "html" ? 200 : 500 });
    }
    return fetch(url, init);
  };
  const client = clientOf(op, send, metrics);
  return { op, state, client, metrics };
};
const redirectUri = "http://localhost:8080/auth/callback";

test("a provider that starts later is found when it is there", async (t) => {
  const { state, client } = await setUp(t);
  state.fail = "network";
  await assert.rejects(client.begin({ redirectUri }), { code: "identity_provider_unavailable" });
  await assert.rejects(client.ready(), { code: "identity_provider_unavailable" });
  assert.equal(await client.endSessionUrl({}), undefined);
  assert.equal(await client.revoke("x"), false);
  state.fail = "";
  await client.ready();
  assert.match((await client.begin({ redirectUri })).url, /^http:\/\/localhost:\d+\/auth\?/);
});

for (const fail of ["network", "500", "html"] as const) {
  test(`a token endpoint that fails (${fail}) never ends a session and never is a login failure of the person's`, async (t) => {
    const { op, state, client } = await setUp(t);
    const ben = await signIn(visitor(op), "ben");
    await client.ready();
    state.fail = fail;
    state.only = "/token";
    assert.equal((await client.refresh(ben.tokens.refreshToken ?? "")).kind, "unanswered");
    state.fail = "";
    assert.equal((await client.refresh(ben.tokens.refreshToken ?? "")).kind, "tokens", "the token was not spent");
  });
}

test("a refresh that a provider cannot have taken is told apart from one that it may have taken", async (t) => {
  const { op } = await setUp(t);
  const ben = await signIn(visitor(op), "ben");
  const refreshed = async (send: (url: string, init?: RequestInit) => Promise<Response>) =>
    (await clientOf(op, send).refresh(ben.tokens.refreshToken ?? "")).kind;
  const at = (path: string, answer: () => Promise<Response>) => (url: string, init?: RequestInit) =>
    url.endsWith(path) ? answer() : fetch(url, init);
  const refused = new TypeError("fetch failed", { cause: Object.assign(new Error("connect"), { code: "ECONNREFUSED" }) });
  assert.equal(await refreshed(at("/openid-configuration", () => Promise.reject(new TypeError("fetch failed")))), "unsent");
  assert.equal(await refreshed(at("/token", () => Promise.reject(refused))), "unsent");
  assert.equal(await refreshed(at("/token", async () => Response.json({ error: "invalid_client" }, { status: 401 }))), "unsent");
  assert.equal(await refreshed(at("/token", () => Promise.reject(new TypeError("fetch failed")))), "unanswered");
  assert.equal(await refreshed(at("/token", async () => Response.json({ error: "server_error" }, { status: 500 }))), "unanswered");
  assert.equal(await refreshed(at("/token", async () => Response.json({ error: "invalid_grant" }, { status: 400 }))), "denied");
  assert.equal(await refreshed(fetch), "tokens", "none of them was taken");
});

test("a token endpoint that failed twenty times is left alone for a while, and so says its breaker", async (t) => {
  const { op, state, client, metrics } = await setUp(t);
  const ben = await signIn(visitor(op), "ben");
  await client.ready();
  state.fail = "500";
  state.only = "/token";
  const refresh = async () => (await client.refresh(ben.tokens.refreshToken ?? "")).kind;
  for (let call = 0; call < 20; call++) assert.equal(await refresh(), "unanswered");
  const asked = () => state.asked.filter((path) => path === "/token").length;
  assert.equal(asked(), 20);
  assert.equal(await refresh(), "unsent", "nothing of it left Sallyport");
  await assert.rejects(client.clientCredentials({ audience: "https://x", scopes: undefined }), { code: "identity_provider_unavailable" });
  assert.equal(asked(), 20);
  assert.match(await metrics.text(), /circuit_breaker_status\{service="idp.token"\} 2\n/);
  assert.match(await metrics.text(), /circuit_breaks_total\{service="idp.token"\} 1\n/);
});

test("a callback while the token endpoint is away is 503, to be tried again", async (t) => {
  const { op, state, client } = await setUp(t);
  const who = visitor(op);
  const { url, ...checks } = await client.begin({ redirectUri });
  const page = await who.browser.open(url);
  const back = await who.submit(page, { login: "ben", password: "sallyport" });
  state.only = "/token";
  state.fail = "network";
  await assert.rejects(client.finish({ currentUrl: back.url, ...checks }), { code: "identity_provider_unavailable" });
  state.fail = "";
  assert.equal((await client.finish({ currentUrl: back.url, ...checks })).sub, "person:ben");
});

test("what the browser is sent holds no secret of the sign-in: the request was pushed", async (t) => {
  const { client } = await setUp(t);
  const { url, state, nonce, verifier } = await client.begin({ redirectUri, acrValues: "strong", maxAge: 300 });
  const query = new URL(url).searchParams;
  assert.deepEqual([...query.keys()].toSorted(), ["client_id", "request_uri"]);
  for (const secret of [state, nonce, verifier]) assert.ok(secret.length >= 32 && !url.includes(secret));
});

test("every begin has its own state, nonce and verifier", async (t) => {
  const { client } = await setUp(t);
  const begun = await Promise.all(Array.from({ length: 5 }, () => client.begin({ redirectUri })));
  for (const name of ["state", "nonce", "verifier"] as const) assert.equal(new Set(begun.map((one) => one[name])).size, 5);
});

test("the provider is asked for its metadata once, and requests to it are counted by endpoint", async (t) => {
  const { state, client, metrics } = await setUp(t);
  await Promise.all([client.begin({ redirectUri }), client.begin({ redirectUri }), client.begin({ redirectUri })]);
  assert.equal(state.asked.filter((path) => path.includes("well-known")).length, 1);
  const text = await metrics.text();
  assert.match(text, /bff_idp_requests_total\{endpoint="discovery",status="ok"\} 1/);
  assert.match(text, /bff_idp_requests_total\{endpoint="par",status="ok"\} 3/);
});

test("signing out sends the browser to the provider with what it needs", async (t) => {
  const { op, client } = await setUp(t);
  const url = new URL((await client.endSessionUrl({ idToken: "abc", postLogoutRedirectUri: "http://localhost:8080/" })) ?? "");
  assert.equal(url.origin + url.pathname, `${op.url}/session/end`);
  assert.deepEqual(Object.fromEntries(url.searchParams), {
    client_id: op.clientId,
    id_token_hint: "abc",
    post_logout_redirect_uri: "http://localhost:8080/",
  });
});
