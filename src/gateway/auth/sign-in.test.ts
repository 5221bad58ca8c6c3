import assert from "node:assert/strict";
import { randomUUID } from "node:crypto";
import { test, type TestContext } from "node:test";
import { TOTP, Secret } from "otpauth";
import { demoTotpSecret } from "#demo/sign-ins.ts";
import { pageStyle } from "#http/page-frame.ts";
import type { Database } from "#store/database.ts";
import { storeUnavailable } from "#store/sql-error.ts";
import { testDatabase } from "#testing/database.ts";
import { formBrowser, type FormBrowser } from "#testing/form-browser.ts";
import { absentProvider, gatewayModules, sharedDatabase, testGateway, type TestGateway } from "#testing/gateway.ts";
import { testIssuer } from "#testing/issuer.ts";
import { testOidcClient } from "#testing/oidc-client.ts";

const database = sharedDatabase();

/** The gateway in front of the embedded issuer, and a browser that knows both. */
const world = async (t: TestContext, lines?: string[]) => {
  const own = await testDatabase(t, ["events", "authn", "gateway"]);
  const provider = await testIssuer(t, own);
  const oidc = testOidcClient(provider);
  const made = await testGateway(t, { database: own, parts: { oidc }, ...(lines === undefined ? {} : { lines }) });
  const send = (url: string, init: RequestInit) =>
    url.startsWith(made.origin) ? made.gateway.fetch(new Request(url, init)) : fetch(url, init);
  return { made, provider, browser: formBrowser(send), newBrowser: () => formBrowser(send) };
};

const signIn = async (made: TestGateway, browser: FormBrowser, query = "", login = "ben") => {
  const page = await browser.open(`${made.origin}/auth/login${query}`);
  assert.equal(page.status, 200, page.html.slice(0, 300));
  const next = await browser.submit(page, { login, password: "sallyport" });
  if (!next.html.includes('name="code"')) return next;
  const code = new TOTP({ secret: Secret.fromBase32(demoTotpSecret) }).generate();
  return browser.submit(next, { code });
};

const sessionOf = async (made: TestGateway, browser: FormBrowser) => {
  const cookie = [...browser.cookies].map(([name, value]) => `${name}=${value}`).join("; ");
  return (await (await made.fetch("/auth/session", { headers: { cookie } })).json()) as Record<string, unknown> & { csrf_token?: string };
};
const SID = "sallyport_dev_sid_8080";
const TXN = "sallyport_dev_txn_8080";

test("Ben signs in at the embedded issuer and lands where he wanted to go", async (t) => {
  const { made, browser } = await world(t);
  const landed = await signIn(made, browser, "?return_to=/tools%3Fq%3Dx");
  assert.equal(landed.url.href, `${made.origin}/tools?q=x`);
  assert.ok(browser.cookies.get(SID));
  assert.equal(browser.cookies.get(TXN), undefined, "the transaction is over");
  const session = await sessionOf(made, browser);
  assert.deepEqual(session["subject"], { id: "person:ben", name: "Ben Baker" });
  assert.deepEqual([session["authenticated"], session["tenant"], session["acr"]], [true, "tenant:acme", undefined]);
  assert.ok(session.csrf_token);
  assert.ok(!JSON.stringify(session).includes(browser.cookies.get(SID) ?? "?"), "never the id of the session");
});

test("a step-up gives a new id, and the old one is refused at once", async (t) => {
  const { made, browser } = await world(t);
  await signIn(made, browser);
  const before = browser.cookies.get(SID) ?? "";
  await signIn(made, browser, "?acr_values=strong&max_age=300");
  const after = browser.cookies.get(SID) ?? "";
  assert.notEqual(after, before);
  const session = await sessionOf(made, browser);
  assert.equal(session["acr"], "strong");
  const old = await made.fetch("/api/v1/sessions", { headers: { cookie: `${SID}=${before}` } });
  assert.equal(old.status, 401);
  const list = (await (await made.fetch("/api/v1/sessions", { headers: { cookie: `${SID}=${after}` } })).json()) as { sessions: unknown[] };
  assert.equal(list.sessions.length, 1);
});

test("a refused sign-in is a page with a way on, and stands in the audit log", async (t) => {
  const { made, browser } = await world(t);
  await browser.open(`${made.origin}/auth/login?return_to=/tools`);
  const response = await made.fetch("/auth/callback?error=access_denied&state=x", {
    headers: { cookie: `${TXN}=${browser.cookies.get(TXN) ?? ""}`, accept: "text/html" },
  });
  assert.equal(response.status, 400);
  const html = await response.text();
  assert.match(html, /href="\/auth\/login\?return_to=%2Ftools"/);
  assert.match(html, /login_failed/);
  assert.match(response.headers.get("content-security-policy") ?? "", /default-src 'none'/);
  await made.events.integrator.integrate();
  const rows = await made.database.run<{ outcome: string; code: string }>(
    { name: "t.failed", text: "select outcome, code from events.audit_entry where category = 'sign_in'" },
    [],
  );
  assert.deepEqual(rows, [{ outcome: "refused", code: "login_failed" }]);
});

test("sign-out ends the session here and offers the provider's sign-out; everywhere ends all of the person's", async (t) => {
  const { made, browser, newBrowser } = await world(t);
  await signIn(made, browser);
  const other = newBrowser();
  await signIn(made, other);
  const cookie = `${SID}=${browser.cookies.get(SID) ?? ""}`;
  const session = await sessionOf(made, browser);
  const token = session.csrf_token ?? "";
  const headers = {
    cookie,
    "content-type": "application/json",
    "x-csrf-token": token,
    "x-csrftoken": token,
    "x-requested-with": "XMLHttpRequest",
  };
  const foreign = await made.fetch("/auth/logout", { method: "POST", headers: { origin: "https://evil.example" } });
  assert.equal(foreign.status, 403, "a foreign page's request does not even clear the cookie");
  assert.equal(foreign.headers.get("set-cookie"), null);
  for (const [row, at, sent, code] of [
    ["an unknown member", "", headers, "422 invalid_body"],
    ["an unknown member beside the query", "?everywhere=true", headers, "422 invalid_body"],
    ["an unknown member without a session", "", { "content-type": "application/json" }, "422 invalid_body"],
    ["an unknown parameter without a session", "?all=true", { "content-type": "application/json" }, "400 invalid_query"],
  ] as const) {
    const refused = await made.fetch(`/auth/logout${at}`, { method: "POST", headers: sent, body: '{"everywhere":true,"all":true}' });
    assert.equal(`${refused.status} ${((await refused.json()) as { code: string }).code}`, code, row);
  }
  const answer = await made.fetch("/auth/logout", { method: "POST", headers, body: '{"everywhere":true}' });
  const body = (await answer.json()) as { logged_out: boolean; sessions_ended: number; end_session_url: string };
  assert.deepEqual([answer.status, body.logged_out, body.sessions_ended], [200, true, 2]);
  assert.match(answer.headers.get("set-cookie") ?? "", /Max-Age=0/);
  assert.ok(!body.end_session_url.includes("eyJ"), "no token reaches the browser");
  const confirm = await browser.open(body.end_session_url);
  const landed = await browser.submit(confirm, { logout: "yes" });
  assert.equal(landed.url.href, `${made.origin}/`);
  const next = await newBrowser().open(`${made.origin}/auth/login`);
  assert.match(next.html, /name="password"/);
  assert.deepEqual(await sessionOf(made, other), { authenticated: false });
  for (const sent of [headers, {}]) {
    const again = await made.fetch("/auth/logout", { method: "POST", headers: sent, ...(sent === headers ? { body: "{}" } : {}) });
    assert.deepEqual(
      await again.json(),
      { logged_out: true, sessions_ended: 0, end_session_url: body.end_session_url },
      "nothing is left to end here; at the provider there may be",
    );
  }
});

test("the sign-out link works on our own page, or with the session's token, and nowhere else", async (t) => {
  const { made, browser } = await world(t);
  await signIn(made, browser);
  const cookie = `${SID}=${browser.cookies.get(SID) ?? ""}`;
  const { csrf_token: token } = await sessionOf(made, browser);
  const cases: readonly (readonly [sent: Readonly<Record<string, string>>, query: string, reason: string])[] = [
    [{ cookie }, "", "missing_token"],
    [{ cookie }, "?csrf=", "missing_token"],
    [{ cookie, "sec-fetch-site": "cross-site" }, "", "missing_token"],
    [{ "sec-fetch-site": "cross-site" }, "", "missing_token"],
    [{ cookie, "sec-fetch-site": "none" }, "", "missing_token"],
    [{ cookie }, "?csrf=zz", "invalid_token"],
    [{ cookie, "sec-fetch-site": "cross-site" }, "?csrf=zz", "invalid_token"],
    [{}, "?csrf=zz", "invalid_token"],
    [{}, `?csrf=${token ?? ""}`, "invalid_token"],
  ];
  for (const [sent, query, reason] of cases) {
    const before = await made.counted("bff_csrf_violations_total", { reason });
    const refused = await made.fetch(`/auth/logout${query}`, { headers: sent });
    const said = (await refused.json()) as { code: string; reason: string };
    assert.deepEqual([refused.status, said.code, said.reason], [403, "csrf_failed", reason], query);
    assert.equal(refused.headers.get("set-cookie"), null);
    assert.equal(await made.counted("bff_csrf_violations_total", { reason }), before + 1);
  }
  const left = await made.fetch(`/auth/logout?csrf=${token ?? ""}`, { headers: { cookie } });
  assert.equal(left.status, 303);
  assert.match(left.headers.get("location") ?? "", /\/session\/end|end_session|logout/);
  const own = await made.fetch("/auth/logout", { headers: { cookie, "sec-fetch-site": "same-origin" } });
  assert.deepEqual(
    [own.status, own.headers.get("location")],
    [303, left.headers.get("location")],
    "nothing is left to end here; at the provider there may be",
  );
});

test("one's own sessions are listed and ended; another's is not there", async (t) => {
  const made = await testGateway(t, { database: await database() });
  const [here, there, eve] = [await made.signIn("person:ben"), await made.signIn("person:ben"), await made.signIn("person:eve")];
  const list = (await (await made.fetch("/api/v1/sessions", { headers: here.cookie })).json()) as {
    sessions: { id: string; current: boolean; subject: string }[];
  };
  assert.deepEqual(new Set(list.sessions.map((one) => one.id)), new Set([here.record.ref, there.record.ref]));
  assert.deepEqual(
    list.sessions.filter((one) => one.current).map((one) => one.id),
    [here.record.ref],
  );
  const end = async (ref: string) => {
    const response = await made.fetch(`/api/v1/sessions/${ref}`, { method: "DELETE", headers: here.headers });
    return [response.status, response.headers.get("set-cookie")];
  };
  assert.deepEqual(await end(eve.record.ref), [404, null]);
  assert.deepEqual(await end("nothing"), [404, null]);
  assert.deepEqual(await end(there.record.ref), [200, null]);
  assert.equal((await made.fetch("/api/v1/sessions", { headers: there.cookie })).status, 401);
  assert.equal((await made.fetch("/api/v1/sessions", { headers: eve.cookie })).status, 200);
  assert.match(String((await end(here.record.ref))[1]), /Max-Age=0/);
});

/** A database whose statements fail, all or those with such a name, once told so. */
const failingDatabase = (real: Database) => {
  const state: { down: ((name: string) => boolean) | undefined } = { down: undefined };
  const gone = (): Promise<never> => Promise.reject(storeUnavailable(new Error("gone")));
  const database: Database = {
    ...real,
    run: (wanted, values) => (state.down?.(wanted.name) === true ? gone() : real.run(wanted, values)),
    transaction: (work, options) =>
      state.down?.("transaction") === true
        ? gone()
        : real.transaction(
            (sql) =>
              work({
                ...sql,
                run: (wanted, values) => (state.down?.(wanted.name) === true ? gone() : sql.run(wanted, values)),
                post: (wanted, values) => {
                  if (state.down?.(wanted.name) === true) throw storeUnavailable(new Error("gone"));
                  sql.post(wanted, values);
                },
              }),
            options,
          ),
    ready: () => (state.down?.("ready") === true ? gone() : real.ready()),
  };
  return { state, database };
};

/** Sign-in at a provider that says yes, the database behind it ours to stop. */
const stoppable = async (t: TestContext) => {
  // Its own: what a sign-in seals in the audit log is sealed with the keys of its world.
  const { state, database: flaky } = failingDatabase(await testDatabase(t, gatewayModules));
  let finished = 0;
  const oidc = absentProvider({
    begin: async () => ({ url: "http://localhost:8081/authorize", state: "s", nonce: "n", verifier: "v" }),
    finish: async () => {
      finished++;
      const tokens = { accessToken: "a", accessExpiresAt: 4_000_000_000 };
      return { sub: "person:ben", tenant: "tenant:acme", amr: ["pwd"], name: "Ben", issuer: "http://localhost:8081", tokens };
    },
  });
  const checkLogoutToken = async () => ({
    issuer: "http://localhost:8081",
    jti: randomUUID(),
    sid: "s1",
    tooOldAt: new Date(Date.now() + 60_000),
  });
  const made = await testGateway(t, { database: flaky, parts: { oidc, checkLogoutToken } });
  const begin = async (): Promise<{ readonly cookie: string }> => {
    const [txn = ""] = (await made.fetch("/auth/login?return_to=/tools")).headers.getSetCookie();
    assert.match(txn, new RegExp(`^${TXN}=`));
    return { cookie: txn.split(";", 1)[0] ?? "" };
  };
  return { state, made, begin, finished: () => finished };
};

const CALLBACK = "/auth/callback?code=c&state=s";

test("without the session store nobody is signed in or out: 503, and when to come again", async (t) => {
  const { state, made, begin, finished } = await stoppable(t);
  const { cookie, headers } = await made.signIn("person:ben", { idpSid: "s1" });
  const txn = await begin();
  state.down = () => true;
  const form = { method: "POST", body: new URLSearchParams({ logout_token: "t" }) };
  for (const [path, init] of [
    ["/auth/login", {}],
    ["/auth/login?acr_values=strong", { headers: cookie }],
    [CALLBACK, { headers: txn }],
    [CALLBACK, { headers: { cookie: `${txn.cookie}; ${cookie.cookie}` } }],
    ["/auth/session", { headers: cookie }],
    ["/api/auth/session", { headers: cookie }],
    ["/auth/csrf", { headers: cookie }],
    ["/api/v1/sessions", { headers: cookie }],
    ["/auth/logout", { method: "POST", headers, body: "{}" }],
    ["/auth/logout", { headers: { ...cookie, "sec-fetch-site": "same-origin" } }],
    ["/auth/verify", { headers: cookie }],
    ["/auth/backchannel-logout", form],
  ] as const) {
    const response = await made.fetch(path, init);
    assert.deepEqual([response.status, ((await response.json()) as { code: string }).code], [503, "session_store_unavailable"], path);
    assert.ok(Number(response.headers.get("retry-after")) > 0, path);
    assert.ok(!response.headers.getSetCookie().some((line) => line.startsWith(`${SID}=`)), `${path} neither gives nor takes a session`);
  }
  assert.equal(finished(), 0, "no code is redeemed for a session that could not begin");
  const page = await made.fetch(CALLBACK, { headers: { ...txn, accept: "text/html" } });
  assert.deepEqual([page.status, page.headers.get("retry-after")], [503, "5"]);
  assert.deepEqual(page.headers.getSetCookie(), [], "the browser keeps its sign-in under way");
  assert.match(await page.text(), /session_store_unavailable/);
  const begun = await made.fetch("/auth/login?return_to=/tools", { headers: { accept: "text/html" } });
  assert.deepEqual(
    ["content-type", "retry-after", "content-security-policy"].map((name) => begun.headers.get(name)),
    [
      "text/html; charset=utf-8",
      "5",
      `default-src 'none'; style-src ${pageStyle}; base-uri 'none'; form-action 'none'; frame-ancestors 'none'`,
    ],
  );
  assert.equal(begun.status, 503);
  assert.match(await begun.text(), /<a href="\/auth\/login\?return_to=\/tools">Try again<\/a>.*session_store_unavailable/);
  assert.deepEqual(
    await (await made.fetch("/auth/session")).json(),
    { authenticated: false },
    "without a cookie there is nothing to look up",
  );
  assert.equal((await made.fetch("/auth/login?return_to=//evil")).status, 400, "what is wrong in itself is told as such");
  assert.equal((await made.fetch("/api/v1/health/ready")).status, 503);
  assert.equal((await made.fetch("/api/v1/health/live")).status, 200);
  state.down = undefined;
  assert.equal((await made.fetch("/api/v1/sessions", { headers: cookie })).status, 200, "the session is still there");
  const landed = await made.fetch(CALLBACK, { headers: txn });
  assert.deepEqual([landed.status, landed.headers.get("location")], [303, "/tools"], "and the sign-in under way is unspent");
  assert.equal((await made.fetch("/auth/backchannel-logout", form)).status, 200);
  assert.equal((await made.fetch("/api/v1/sessions", { headers: cookie })).status, 401);
});

test("what a sign-in or a logout from the provider needs and cannot have is 503, and gives no session", async (t) => {
  const { state, made, begin } = await stoppable(t);
  for (const [what, failing, nth, code] of [
    ["used transactions cannot be told", "gateway.once_add", 1, "session_store_unavailable"],
    ["it cannot be recorded", "events.audit_append", 1, "audit_unavailable"],
    ["it is recorded and the session cannot be kept", "gateway.session_insert", 1, "session_store_unavailable"],
  ] as const) {
    const txn = await begin();
    let count = 0;
    state.down = (name) => name === failing && ++count === nth;
    const response = await made.fetch(CALLBACK, { headers: txn });
    state.down = undefined;
    assert.deepEqual([response.status, ((await response.json()) as { code: string }).code], [503, code], what);
    assert.equal(response.headers.get("retry-after"), "5");
    assert.ok(!response.headers.getSetCookie().some((line) => line.startsWith(`${SID}=`)));
  }
  await made.signIn("person:ben", { idpSid: "s1" });
  for (const failing of ["gateway.once_find", "gateway.once_add", "gateway.session_end"]) {
    state.down = (name) => name.startsWith(failing);
    const form = { method: "POST", body: new URLSearchParams({ logout_token: "t" }) };
    const response = await made.fetch("/auth/backchannel-logout", form);
    assert.deepEqual([response.status, ((await response.json()) as { code: string }).code], [503, "session_store_unavailable"], failing);
    assert.equal(response.headers.get("retry-after"), "5");
  }
});

test("no token, code, cookie or password stands in a log line", async (t) => {
  const lines: string[] = [];
  const { made, browser } = await world(t, lines);
  await signIn(made, browser);
  const sid = browser.cookies.get(SID) ?? "";
  await made.fetch("/auth/session?code=canary-code", { headers: { cookie: `${SID}=${sid}`, authorization: "Bearer canary-bearer-token" } });
  await made.fetch("/api/secrets?uri=yaml://secret/canary-uri", { headers: { cookie: `${SID}=${sid}` } });
  const all = lines.join("\n");
  assert.ok(lines.length > 3);
  for (const canary of [sid, "canary-code", "canary-bearer-token", "canary-uri", "person:ben", "eyJ"])
    assert.ok(!all.includes(canary), canary);
});
