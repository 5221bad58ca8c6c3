import assert from "node:assert/strict";
import { test, type TestContext } from "node:test";
import { identityOfProvider } from "#authn/model/claims.ts";
import { defaultAssuranceMap } from "#authn/model/assurance.ts";
import { answerTo, attackWorld, rawGet } from "#testing/attack-world.ts";
import { testDatabase } from "#testing/database.ts";
import { formBrowser, type FormBrowser } from "#testing/form-browser.ts";
import { absentProvider, sharedDatabase } from "#testing/gateway.ts";
import { testIssuer } from "#testing/issuer.ts";
import { testOidcClient } from "#testing/oidc-client.ts";
import type { SignedIn } from "#authn/provider/oidc-client.ts";

const database = sharedDatabase();
const SID = "sallyport_dev_sid_8080";
const TXN = "sallyport_dev_txn_8080";

/** The gateway in front of the embedded issuer, over sockets, and browsers that know both. */
const world = async (t: TestContext) => {
  const own = await testDatabase(t, ["events", "authn", "gateway"]);
  const provider = await testIssuer(t, own);
  const oidc = testOidcClient(provider);
  const opened = await attackWorld(t, own, { parts: { oidc } });
  const newBrowser = () =>
    formBrowser((url, init) => (url.startsWith(opened.made.origin) ? opened.made.gateway.fetch(new Request(url, init)) : fetch(url, init)));
  /** Ben signs in up to where the provider sends him back: the callback's target, which nobody has asked for yet. */
  const comeBack = async (browser: FormBrowser): Promise<URL> => {
    const page = await browser.open(`${opened.made.origin}/auth/login`);
    const back = await browser.submit(page, { login: "ben", password: "sallyport" }, (url) => url.pathname === "/auth/callback");
    assert.ok(back.stopped);
    return back.url;
  };
  return { opened, newBrowser, comeBack };
};

test("attack 34: a callback counts once, in the browser that began it, with what belongs to it", async (t) => {
  const { opened, newBrowser, comeBack } = await world(t);
  const call = async (url: URL, cookie: string) => {
    const answer = await answerTo(opened, rawGet(url.pathname + url.search, cookie === "" ? "" : `Cookie: ${cookie}\r\n`));
    if (answer.status >= 400) assert.ok(!(answer.headers.get("set-cookie") ?? "").includes(SID), "no session on a failure");
    return { code: answer.code, status: answer.status, cookie: answer.headers.get("set-cookie") ?? "" };
  };
  const txnOf = (browser: FormBrowser): string => browser.cookies.get(TXN) ?? "";
  const changed = (url: URL, change: (query: URLSearchParams) => void): URL => {
    const other = new URL(url);
    change(other.searchParams);
    return other;
  };
  const browser = newBrowser();
  const url = await comeBack(browser);
  const stranger = newBrowser();
  await stranger.open(`${opened.made.origin}/auth/login`);
  // None of these is this browser's own sign-in: they use nothing up.
  for (const [what, cookie] of [
    ["no transaction", ""],
    ["a foreign transaction", `${TXN}=${txnOf(stranger)}`],
    ["an altered transaction", `${TXN}=${txnOf(browser)}x`],
    ["two transactions", `${TXN}=${txnOf(browser)}; ${TXN}=${txnOf(browser)}`],
  ] as const)
    await t.test(`attack 34: ${what}`, async () => {
      const answer = await call(url, cookie);
      assert.deepEqual([answer.status, answer.code], [400, "login_failed"]);
    });
  for (const [what, change] of [
    ["no state", (query) => query.delete("state")],
    ["a foreign state", (query) => query.set("state", "foreign")],
    ["two states", (query) => query.append("state", "foreign")],
    ["a wrong iss", (query) => query.set("iss", "http://evil.example")],
    ["error=access_denied", (query) => (query.delete("code"), query.set("error", "access_denied"))],
    ["a foreign code", (query) => query.set("code", "foreign")],
  ] as readonly (readonly [string, (query: URLSearchParams) => unknown])[])
    await t.test(`attack 34: ${what}`, async () => {
      const fresh = newBrowser();
      const back = await comeBack(fresh);
      const answer = await call(
        changed(back, (query) => void change(query)),
        `${TXN}=${txnOf(fresh)}`,
      );
      assert.deepEqual([answer.status, answer.code], [400, "login_failed"]);
      const again = await call(back, `${TXN}=${txnOf(fresh)}`);
      assert.deepEqual([again.status, again.code], [400, "login_failed"], "the transaction is used up");
    });
  await t.test("attack 34: the right one is served once", async () => {
    const good = await call(url, `${TXN}=${txnOf(browser)}`);
    assert.equal(good.status, 303);
    assert.match(good.cookie, new RegExp(`${SID}=|${TXN}=;`));
    const replayed = await call(url, `${TXN}=${txnOf(browser)}`);
    assert.deepEqual([replayed.status, replayed.code], [400, "login_failed"], "replayed with its cookie");
  });
});

test("attack 31: a session id that was sent before sign-in is never the one that sign-in gives", async (t) => {
  const { opened, newBrowser, comeBack } = await world(t);
  const chosen = "A".repeat(43);
  const browser = newBrowser();
  const url = await comeBack(browser);
  const cookie = `${SID}=${chosen}; ${TXN}=${browser.cookies.get(TXN) ?? ""}`;
  const good = await opened.made.gateway.fetch(new Request(url, { headers: { cookie } }));
  assert.equal(good.status, 303);
  const given = good.headers.getSetCookie().find((line) => line.startsWith(SID)) ?? "";
  assert.match(given, new RegExp(`^${SID}=[A-Za-z0-9_-]{43}; Path=/; HttpOnly; SameSite=Strict$`));
  assert.ok(!given.includes(chosen));
  assert.equal((await answerTo(opened, rawGet("/api/t/x", `Cookie: ${SID}=${chosen}\r\n`))).status, 401);
  assert.equal((await answerTo(opened, rawGet("/api/t/x", `Cookie: ${given.split(";")[0] ?? ""}\r\n`))).status, 200);
});

/** As they stand in the query: encoded once where a line could not carry them. */
const badReturns: readonly (readonly [number: number, text: string])[] = [
  [21, "/%250d%250aX:1"],
  [21, "/x?a=%0d%0aX:1"],
  [21, "/x%3Fa=%250d%250aX:1"],
  [35, "//evil"],
  [35, "/%5Cevil"],
  [35, "%5C%5Cevil"],
  [35, "https://evil"],
  [35, "https:evil"],
  [35, "/%2509/evil"],
  [35, "/%09/evil"],
  [35, "javascript:x"],
  [35, "%2F%2Fevil"],
  [35, "%252F%252Fevil"],
  [35, "/a%252F%252Fb"],
  [35, "/a/../b"],
  [35, "/auth/logout"],
  [35, "/auth"],
  [35, "/%2561uth/logout"],
  [35, ""],
  [35, `/${"x".repeat(2048)}`],
];

test("attacks 21 and 35: sign-in leads back to a path of this site alone", async (t) => {
  const oidc = absentProvider({
    begin: async () => ({ url: "http://localhost:8081/authorize", state: "s", nonce: "n", verifier: "v" }),
  });
  const opened = await attackWorld(t, await database(), { parts: { oidc } });
  for (const [number, bad] of badReturns)
    await t.test(`attack ${number}: return_to=${bad.slice(0, 40)}`, async () => {
      const answer = await answerTo(opened, rawGet(`/auth/login?return_to=${bad}`));
      assert.deepEqual([answer.status, answer.code], [400, "bad_return_to"]);
      for (const name of ["set-cookie", "location", "x"]) assert.equal(answer.headers.get(name), undefined);
    });
  assert.equal((await answerTo(opened, rawGet("/auth/login?return_to=/tools%3Fq%3Dx"))).status, 302);
  const longest = await answerTo(opened, rawGet(`/auth/login?return_to=/${"x".repeat(2047)}&acr_values=strong&max_age=300`));
  const kept = (longest.headers.get("set-cookie") ?? "").split(";")[0] ?? "";
  assert.ok(longest.status === 302 && kept.length > 2048 && kept.length < 4096, "a browser keeps what comes back with the longest");
  const twice = await answerTo(opened, rawGet("/auth/login?return_to=/a&return_to=//evil"));
  assert.equal(twice.status, 400);
});

test("attack 39: a sign-in whose subject is not one plain name makes no session", async (t) => {
  const mapping = { subjectPrefix: "", subjectClaim: "sub", tenantClaim: "tenant", assurance: defaultAssuranceMap };
  let claims: Readonly<Record<string, unknown>> = {};
  const oidc = absentProvider({
    begin: async () => ({ url: "http://localhost:8081/authorize", state: "s", nonce: "n", verifier: "v" }),
    finish: async (): Promise<SignedIn> => {
      const who = identityOfProvider(claims, mapping);
      return { ...who, name: "Ben", issuer: "http://localhost:8081", tokens: { accessToken: "a", accessExpiresAt: 4_000_000_000 } };
    },
  });
  const opened = await attackWorld(t, await database(), { parts: { oidc } });
  const signIn = async (given: Readonly<Record<string, unknown>>) => {
    claims = { sub: "person:ben", tenant: "tenant:acme", ...given };
    const begun = await answerTo(opened, rawGet("/auth/login"));
    const txn = (begun.headers.get("set-cookie") ?? "").split(";")[0] ?? "";
    return answerTo(opened, rawGet("/auth/callback?code=c&state=s", `Cookie: ${txn}\r\n`));
  };
  for (const [what, given] of [
    ["an array", { sub: ["person:ben"] }],
    ["300 long", { sub: "b".repeat(300) }],
    ["with a Cyrillic look-alike", { sub: "person:b\u0435n" }],
    ["empty, with an e-mail address", { sub: "", email: "person:ben" }],
    ["of a tenant of another form", { tenant: "acme" }],
  ] as const)
    await t.test(`attack 39: ${what}`, async () => {
      const answer = await signIn(given);
      assert.deepEqual([answer.status, answer.code], [403, "identity_rejected"]);
      assert.ok(!(answer.headers.get("set-cookie") ?? "").includes(SID));
    });
  await t.test("attack 39: an e-mail address of another form decides nothing", async () => {
    assert.equal((await signIn({ email: "a@b@c", email_verified: true })).status, 303);
  });
});
