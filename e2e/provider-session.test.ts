import assert from "node:assert/strict";
import { after, before, test } from "node:test";
import { decodeJwt } from "jose";
import { findFreePorts } from "#testing/free-port.ts";
import { formBrowser, type FormBrowser } from "#testing/form-browser.ts";
import { until } from "#testing/until.ts";
import { startForeignProvider, type ForeignProvider } from "./foreign-provider.ts";
import { startTestInstance, type TestInstance } from "./test-instance.ts";

let instance: TestInstance;
let provider: ForeignProvider;
before(async () => {
  const port = await findFreePorts();
  provider = await startForeignProvider([`http://localhost:${port}`, `http://127.0.0.1:${port}`]);
  provider.logoutTarget = `http://localhost:${port}/auth/backchannel-logout`;
  instance = await startTestInstance({
    port,
    environment: {
      OIDC_ISSUER: provider.issuer,
      OIDC_CLIENT_ID: provider.clientId,
      OIDC_CLIENT_SECRET: provider.clientSecret,
      OIDC_SUBJECT_PREFIX: "person:",
      OIDC_DEFAULT_TENANT: "tenant:acme",
      OIDC_ACR_MAP: '{"strong":{"acr":["gold"],"amr":[]},"phishing_resistant":{"acr":[],"amr":[]}}',
      REFRESH_AHEAD_S: "1",
    },
  });
});
after(async () => {
  await instance?.stop();
  await provider?.stop();
});

/** Name of the provider's session in the ID token that it gave out last. */
const lastProviderSession = (): unknown =>
  decodeJwt(provider.issued.findLast((token) => token.split(".").length === 3 && isIdToken(token)) ?? "")["sid"];
const isIdToken = (token: string): boolean => decodeJwt(token)["nonce"] !== undefined;

/** Comes back signed in anew; in the same browser the provider knows who it is. */
const signIn = async (browser: FormBrowser, query = ""): Promise<void> => {
  const landed = await browser.open(
    `${instance.origin}/auth/login${query}`,
    (url) => url.origin === instance.origin && url.pathname === "/",
  );
  assert.ok(landed.stopped, landed.html.slice(0, 500));
};
const cookieOf = (browser: FormBrowser): string => [...browser.cookies].map(([name, value]) => `${name}=${value}`).join("; ");
const sessionStatus = async (cookie: string): Promise<number> =>
  (await fetch(`${instance.origin}/api/v1/sessions`, { headers: { cookie } })).status;
const sessionOf = async (browser: FormBrowser) =>
  (await (await fetch(`${instance.origin}/auth/session`, { headers: { cookie: cookieOf(browser) } })).json()) as {
    authenticated: boolean;
    acr?: string;
    csrf_token?: string;
  };
const signOut = async (browser: FormBrowser, query = ""): Promise<number> => {
  const token = (await sessionOf(browser)).csrf_token ?? "";
  const proofs = { "x-csrf-token": token, "x-csrftoken": token, "x-requested-with": "XMLHttpRequest" };
  const answer = await fetch(`${instance.origin}/auth/logout${query}`, {
    method: "POST",
    headers: { cookie: cookieOf(browser), ...proofs },
  });
  return ((await answer.json()) as { sessions_ended: number }).sessions_ended;
};

/** The session's tokens run out and are had anew at the provider: so it lives there too. */
const isRefreshed = async (ask: () => Promise<number>): Promise<void> => {
  const before = provider.redeemed;
  await until(async () => {
    assert.equal(await ask(), 200);
    return provider.redeemed > before;
  });
};

for (const [what, query] of [
  ["a second sign-in", ""],
  ["a sign-in with the password asked again", "?prompt=login"],
  ["a step-up", "?acr_values=strong&max_age=300"],
] as const)
  test(`${what} leaves the provider's session whole: tokens are had anew, and its administrator's sign-out arrives`, async (t) => {
    provider.life = 1;
    t.after(() => (provider.life = 600));
    const browser = formBrowser();
    await signIn(browser);
    const [old, named] = [cookieOf(browser), lastProviderSession()];
    const revoked = provider.revoked;
    await signIn(browser, query);
    assert.equal(lastProviderSession(), named, "the provider's session is the same");
    assert.equal(await sessionStatus(old), 401, "the old session has ended");
    await isRefreshed(() => sessionStatus(cookieOf(browser)));
    await isRefreshed(() => sessionStatus(cookieOf(browser)));
    assert.equal(provider.revoked, revoked);
    assert.equal((await sessionOf(browser)).acr, "strong");

    const reported = provider.logoutTokens.length;
    const page = await browser.open(`${provider.issuer}/session/end?client_id=${provider.clientId}`);
    await browser.submit(page, { logout: "yes" }, (url) => url.origin === instance.origin);
    await until(() => provider.logoutTokens.length > reported);
    await until(async () => (await sessionStatus(cookieOf(browser))) === 401);
    await until(() => provider.revoked >= revoked + 2);
  });

test("signing out after a second sign-in revokes what both brought, and ends the session at the provider", async () => {
  const browser = formBrowser();
  await signIn(browser);
  const named = lastProviderSession();
  await signIn(browser);
  const revoked = provider.revoked;
  assert.equal(await signOut(browser), 1);
  await until(() => provider.revoked === revoked + 2);
  await signIn(browser);
  assert.notEqual(lastProviderSession(), named);
});

test("signing out in one browser leaves the other's session at the provider alone; everywhere ends both", async (t) => {
  const [one, other] = [formBrowser(), formBrowser()];
  t.after(() => (provider.life = 600));
  await signIn(one);
  provider.life = 1;
  for (const browser of [other, other]) await signIn(browser);
  const revoked = provider.revoked;
  assert.equal(await signOut(one), 1);
  await until(() => provider.revoked === revoked + 1);
  await isRefreshed(() => sessionStatus(cookieOf(other)));
  await signIn(one);
  assert.ok((await signOut(other, "?everywhere=true")) >= 2);
  await until(() => provider.revoked >= revoked + 4);
  for (const browser of [one, other]) assert.equal(await sessionStatus(cookieOf(browser)), 401);
});

test("signing out at one host leaves the session that the same browser has at another, though both came from one of the provider's", async (t) => {
  provider.life = 1;
  t.after(() => (provider.life = 600));
  const browser = formBrowser();
  const other = instance.origin.replace("localhost", "127.0.0.1");
  await signIn(browser);
  const named = lastProviderSession();
  const landed = await browser.open(`${other}/auth/login`, (url) => url.origin === other && url.pathname === "/");
  assert.ok(landed.stopped);
  assert.equal(lastProviderSession(), named);
  const at = async (path: string) => browser.open(`${other}${path}`, (url) => url.origin === provider.issuer);
  const { csrf_token: csrf } = JSON.parse((await at("/auth/session")).html) as { csrf_token: string };
  const revoked = provider.revoked;
  assert.ok((await at(`/auth/logout?csrf=${csrf}`)).stopped);
  assert.equal((await at("/api/v1/sessions")).status, 401);
  await isRefreshed(async () => (await browser.open(`${instance.origin}/api/v1/sessions`)).status);
  assert.equal(provider.revoked, revoked);
});
