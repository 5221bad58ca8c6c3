import assert from "node:assert/strict";
import { createServer } from "node:http";
import { test, type TestContext } from "node:test";
import { decodeJwt, decodeProtectedHeader } from "jose";
import { remoteIssuer } from "#authn/provider/issuer-keys.ts";
import { createLogoutTokenCheck } from "#authn/provider/logout-token.ts";
import type { ProviderTokens } from "#authn/provider/oidc-client.ts";
import { demoPassword } from "#demo/sign-ins.ts";
import { statement } from "#store/database.ts";
import { createMetrics } from "#telemetry/metrics.ts";
import { testDatabase } from "#testing/database.ts";
import { testIssuer } from "#testing/issuer.ts";
import { signIn, titleOf, visitor, type Visitor } from "#testing/sign-in.ts";

const setUp = async (t: TestContext) => {
  const database = await testDatabase(t, ["authn"]);
  const op = await testIssuer(t, database);
  return { database, op, who: visitor(op) };
};
const basic = (id: string, secret: string): string =>
  `Basic ${Buffer.from(`${encodeURIComponent(id)}:${encodeURIComponent(secret)}`).toString("base64")}`;

/** The next tokens; `undefined` when the issuer knows the token no more. */
const refreshed = async (who: Visitor, refreshToken: string | undefined): Promise<ProviderTokens | undefined> => {
  const outcome = await who.client.refresh(refreshToken ?? "");
  assert.ok(outcome.kind === "tokens" || outcome.kind === "denied", outcome.kind);
  return outcome.kind === "tokens" ? outcome.tokens : undefined;
};

test("a refresh gives a new access token with the same sign-in, and a new refresh token", async (t) => {
  const { who } = await setUp(t);
  const ben = await signIn(who, "ben", { acrValues: "strong" });
  const tokens = await refreshed(who, ben.tokens.refreshToken);
  assert.ok(tokens !== undefined);
  const [before, after] = [decodeJwt(ben.tokens.accessToken), decodeJwt(tokens.accessToken)];
  assert.notEqual(after.jti, before.jti);
  for (const claim of ["sub", "tenant", "acr", "amr", "auth_time", "scope", "aud"]) assert.deepEqual(after[claim], before[claim], claim);
  assert.notEqual(tokens.refreshToken, ben.tokens.refreshToken);
});

test("a refresh token used twice ends all that came from it", async (t) => {
  const { who } = await setUp(t);
  const ben = await signIn(who, "ben");
  const next = await refreshed(who, ben.tokens.refreshToken);
  assert.equal(await refreshed(who, ben.tokens.refreshToken), undefined);
  assert.equal(await refreshed(who, next?.refreshToken), undefined);
});

test("a revoked refresh token is over", async (t) => {
  const { who } = await setUp(t);
  const ben = await signIn(who, "ben");
  assert.equal(await who.client.revoke(ben.tokens.refreshToken ?? ""), true);
  assert.equal(await refreshed(who, ben.tokens.refreshToken), undefined);
});

test("a code is redeemed once; of many at once one wins", async (t) => {
  const { op, who } = await setUp(t);
  const { page, checks } = await who.start();
  const back = await who.submit(page, { login: "ben", password: demoPassword });
  const redeem = () =>
    fetch(`${op.url}/token`, {
      method: "POST",
      headers: { authorization: basic(op.clientId, op.clientSecret) },
      body: new URLSearchParams({
        grant_type: "authorization_code",
        code: back.url.searchParams.get("code") ?? "",
        redirect_uri: who.redirectUri,
        code_verifier: checks.verifier,
      }),
    });
  const answers = await Promise.all(Array.from({ length: 5 }, redeem));
  assert.deepEqual(answers.map((answer) => answer.status).toSorted(), [200, 400, 400, 400, 400]);
  assert.equal((await redeem()).status, 400);
});

test("without PKCE, with a wrong verifier, or to an unregistered address there is no token", async (t) => {
  const { op, who } = await setUp(t);
  const query = { client_id: op.clientId, response_type: "code", redirect_uri: who.redirectUri, scope: "openid", state: "s" };
  const noPkce = await who.browser.open(`${op.url}/auth?${new URLSearchParams(query).toString()}`, (url) => url.origin === op.publicOrigin);
  assert.equal(noPkce.url.searchParams.get("error"), "invalid_request");
  const elsewhere = await who.browser.open(
    `${op.url}/auth?${new URLSearchParams({ ...query, redirect_uri: "http://localhost:8080/elsewhere" }).toString()}`,
  );
  assert.deepEqual([elsewhere.status, titleOf(elsewhere), elsewhere.url.origin], [400, "That did not work", op.url]);
  const { page, checks } = await who.start();
  const back = await who.submit(page, { login: "ben", password: demoPassword });
  await assert.rejects(who.finish(back, { ...checks, verifier: "x".repeat(43) }), { code: "login_failed" });
});

test("the callback is refused without its state, with another's, with a wrong issuer, and with another nonce", async (t) => {
  const { who } = await setUp(t);
  const attempt = async (change: (url: URL) => void, checks: Record<string, string> = {}) => {
    const started = await who.start({ prompt: "login" });
    const back = await who.submit(started.page, { login: "ben", password: demoPassword });
    const url = new URL(back.url);
    change(url);
    await assert.rejects(who.client.finish({ currentUrl: url, ...started.checks, ...checks }), { code: "login_failed" });
  };
  await attempt((url) => url.searchParams.delete("state"));
  await attempt((url) => url.searchParams.set("state", "another"));
  await attempt((url) => url.searchParams.set("iss", "https://evil.example"));
  await attempt((url) => url.searchParams.delete("iss"));
  await attempt((url) => url.searchParams.delete("code"));
  await attempt(() => {}, { nonce: "another" });
});

test("another person may sign in over a session, and it is then theirs", async (t) => {
  const { who } = await setUp(t);
  await signIn(who, "ben");
  const { page, checks } = await who.start({ prompt: "login" });
  let at = await who.submit(page, { login: "cleo", password: demoPassword });
  assert.match(at.headers.get("content-security-policy") ?? "", /script-src 'none' 'sha256-/);
  while (!at.stopped) at = await who.submit(at, {});
  assert.equal((await who.finish(at, checks)).sub, "person:cleo");
});

test("signing out with one's ID token ends session and refresh token without a question", async (t) => {
  const { op, who } = await setUp(t);
  const ben = await signIn(who, "ben");
  const url = await who.client.endSessionUrl({ idToken: ben.tokens.idToken ?? "", postLogoutRedirectUri: `${op.publicOrigin}/` });
  const back = await who.browser.open(url ?? "", (at) => at.origin === op.publicOrigin);
  assert.equal(back.url.href, `${op.publicOrigin}/`);
  assert.equal(await refreshed(who, ben.tokens.refreshToken), undefined);
  assert.equal(titleOf((await who.start()).page), "Sign in");
});

test("a link that anybody can set only asks, and does as it is told", async (t) => {
  const { op, who } = await setUp(t);
  const ben = await signIn(who, "ben");
  const page = await who.browser.open(`${op.url}/session/end`);
  assert.equal(titleOf(page), "Sign out?");
  assert.doesNotMatch(page.html, /<script/);
  await who.submit(page, {});
  assert.ok((await refreshed(who, ben.tokens.refreshToken)) !== undefined, "stayed");
  const again = await who.browser.open(`${op.url}/session/end`);
  const done = await who.submit(again, { logout: "yes" });
  assert.equal(titleOf(done), "Signed out");
  assert.equal(titleOf((await who.start()).page), "Sign in");
});

test("another's ID token does not sign ben out", async (t) => {
  const { op, who } = await setUp(t);
  await signIn(who, "ben");
  const cleo = await signIn(visitor(op), "cleo");
  const page = await who.browser.open(`${op.url}/session/end?id_token_hint=${cleo.tokens.idToken ?? ""}`);
  assert.equal(titleOf(page), "Sign out?");
  assert.equal((await signIn(who, "ben")).sub, "person:ben");
});

test("an address that is not registered is not redirected to after signing out", async (t) => {
  const { who } = await setUp(t);
  const ben = await signIn(who, "ben");
  const url = await who.client.endSessionUrl({ idToken: ben.tokens.idToken ?? "", postLogoutRedirectUri: "https://evil.example/" });
  const page = await who.browser.open(url ?? "");
  assert.equal(page.status, 400);
});

test("a restart loses nothing: keys, sessions and refresh tokens are as they were", async (t) => {
  const database = await testDatabase(t, ["authn"]);
  const server = createServer();
  const first = await testIssuer(t, database, { server });
  const who = visitor(first);
  const ben = await signIn(who, "ben");
  const second = await testIssuer(t, database, { server, secrets: first.secrets });
  assert.equal(second.url, first.url);
  const again = visitor(second, who.browser);
  const { page } = await again.start();
  assert.equal(page.stopped, true, "the session is known");
  const tokens = await refreshed(again, ben.tokens.refreshToken);
  assert.equal(decodeProtectedHeader(tokens?.accessToken ?? "").kid, decodeProtectedHeader(ben.tokens.accessToken).kid);
});

test("the tables hold no code, token, session id, name or key that could be read", async (t) => {
  const { database, who } = await setUp(t);
  const ben = await signIn(who, "ben", { acrValues: "strong" });
  const rows = await database.run(
    statement<{ readonly text: string }>(
      "test.everything",
      `select coalesce(string_agg(kind || encode(id_hash, 'escape') || encode(sealed, 'escape'), ' '), '') as text from authn.oidc_artifact`,
    ),
  );
  const keys = await database.run(
    statement<{ readonly text: string }>("test.keys", `select encode(sealed_private, 'escape') as text from authn.issuer_key`),
  );
  const text = [...rows, ...keys].map((row) => row.text).join(" ");
  assert.ok(text.includes("RefreshToken") && text.includes("Session"));
  for (const secret of [
    ben.tokens.refreshToken ?? "",
    "person:ben",
    ...[...who.browser.cookies.values()].filter((value) => value.length > 20),
    '"d"',
  ])
    assert.ok(!text.includes(secret), secret.slice(0, 12));
});

test("who signs out here is signed out at the gateway too: it is sent a logout token, and nothing else is called", async (t) => {
  const { op, who } = await setUp(t);
  const ben = await signIn(who, "ben");
  const real = globalThis.fetch;
  const reported: { readonly url: string; readonly token: string }[] = [];
  t.mock.method(globalThis, "fetch", async (url: string, init?: RequestInit) => {
    if (!url.startsWith(op.publicOrigin)) return real(url, init);
    assert.ok(init?.body instanceof URLSearchParams);
    reported.push({ url, token: init.body.get("logout_token") ?? "" });
    return new Response(null, { status: 200 });
  });
  const url = await who.client.endSessionUrl({ idToken: ben.tokens.idToken ?? "", postLogoutRedirectUri: `${op.publicOrigin}/` });
  await who.browser.open(url ?? "", (at) => at.origin === op.publicOrigin);
  assert.deepEqual(
    reported.map((one) => one.url),
    [`${op.publicOrigin}/auth/backchannel-logout`],
  );
  const checked = await createLogoutTokenCheck({
    issuer: remoteIssuer({ issuer: op.url, metrics: createMetrics() }),
    clientId: op.clientId,
    now: () => new Date(),
    metrics: createMetrics(),
  })(reported[0]?.token ?? "");
  assert.deepEqual([checked.sid, checked.sub], [ben.idpSession, "person:ben"]);
});
