import assert from "node:assert/strict";
import { after, before, test, type TestContext } from "node:test";
import type { Browser, BrowserContext, Page } from "playwright-core";
import { openIssuerFetch } from "#authn/provider/issuer-fetch.ts";
import { testCertificates } from "#testing/certificates.ts";
import { cleanUp } from "#testing/clean-up.ts";
import { findFreePorts } from "#testing/free-port.ts";
import { launchBrowser, openPage } from "./browser.ts";
import { startForeignProvider, type ForeignProvider } from "./foreign-provider.ts";
import { signIn } from "./sign-in.ts";
import { startTestInstance } from "./test-instance.ts";

let browser: Browser;
before(async () => {
  browser = await launchBrowser();
});
after(() => browser?.close());

interface World {
  readonly origin: string;
  readonly provider?: ForeignProvider;
  readonly cookie: { readonly name: string; readonly secure: boolean };
  /** From the signed-out home page to the signed-in one, as a person does. */
  signIn(page: Page): Promise<void>;
}

const openInstance = async (t: TestContext, port: number, environment: Readonly<Record<string, string>> = {}): Promise<void> => {
  const instance = await startTestInstance({ port, environment });
  cleanUp(t, () => instance.stop());
};

const settingsOf = (provider: ForeignProvider): Readonly<Record<string, string>> => ({
  OIDC_ISSUER: provider.issuer,
  OIDC_CLIENT_ID: provider.clientId,
  OIDC_CLIENT_SECRET: provider.clientSecret,
  OIDC_SUBJECT_PREFIX: "person:",
  OIDC_DEFAULT_TENANT: "tenant:acme",
});

/** The provider knows who comes: it sends the browser back without a page of its own. */
const goAndComeBack = async (page: Page, origin: string): Promise<void> => {
  await page.goto(`${origin}/`);
  await page
    .getByRole("link", { name: "Sign in" })
    .or(page.getByRole("button", { name: "Sign in" }))
    .first()
    .click();
  await page.waitForURL((url) => url.origin === origin && !url.pathname.startsWith("/auth/"));
};

const worlds: Readonly<Record<string, (t: TestContext) => Promise<World>>> = {
  "the embedded issuer": async (t) => {
    const port = await findFreePorts();
    const origin = `http://localhost:${port}`;
    await openInstance(t, port);
    return { origin, cookie: { name: `sallyport_dev_sid_${port}`, secure: false }, signIn: (page) => signIn(page, origin, "ben") };
  },
  "oidc-provider on another site": async (t) => {
    const port = await findFreePorts();
    const origin = `http://localhost:${port}`;
    const provider = await startForeignProvider([origin], { host: "127.0.0.1" });
    cleanUp(t, () => provider.stop());
    await openInstance(t, port, settingsOf(provider));
    const cookie = { name: `sallyport_dev_sid_${port}`, secure: false };
    return { origin, provider, cookie, signIn: (page) => goAndComeBack(page, origin) };
  },
  "oidc-provider under a private authority, the gate itself over TLS": async (t) => {
    const port = await findFreePorts();
    const origin = `https://localhost:${port}`;
    const { caFile, good } = await testCertificates(t);
    const trusting = await openIssuerFetch(caFile);
    cleanUp(t, () => trusting[Symbol.asyncDispose]());
    const provider = await startForeignProvider([origin], { tls: { ...good, send: trusting.send } });
    cleanUp(t, () => provider.stop());
    await openInstance(t, port, {
      ...settingsOf(provider),
      OIDC_CA_FILE: caFile,
      PUBLIC_ORIGINS: origin,
      TLS_CERT_FILE: good.certFile,
      TLS_KEY_FILE: good.keyFile,
    });
    return { origin, provider, cookie: { name: "__Host-Http-sid", secure: true }, signIn: (page) => goAndComeBack(page, origin) };
  },
};

/** All that the browser is told, sends and logs, and can be asked for later. */
const listenIn = (page: Page) => {
  const said: { readonly where: string; readonly text: string }[] = [];
  const pending: Promise<unknown>[] = [];
  const note = (where: string, text: string | null): void => void said.push({ where, text: text ?? "" });
  page.context().on("request", (request) => {
    note(`request to ${request.url()}`, `${request.url()} ${request.postData() ?? ""}`);
    pending.push(
      request.allHeaders().then(
        (headers) => note(`request to ${request.url()}`, JSON.stringify(headers)),
        () => undefined,
      ),
    );
  });
  page.context().on("response", (response) => {
    const where = `answer of ${response.url()}`;
    pending.push(
      response.allHeaders().then(
        async (headers) => {
          note(where, JSON.stringify(headers));
          // A stream has no end to wait for, a redirect no body.
          const hasBody = response.status() < 300 && !(headers["content-type"] ?? "").startsWith("text/event-stream");
          if (hasBody) note(where, await response.text().catch(() => ""));
        },
        () => undefined,
      ),
    );
  });
  page.on("console", (message) => note("console", message.text()));
  return { said, settled: () => Promise.all(pending) };
};

/** What scripts of the page could read, and what the browser keeps of it. */
const kept = async (page: Page, context: BrowserContext): Promise<string> => {
  const inPage = await page.evaluate(`(async () => JSON.stringify({
    local: { ...localStorage }, session: { ...sessionStorage }, cookie: document.cookie, name: globalThis.name, state: history.state,
    html: document.documentElement.outerHTML,
    databases: (await indexedDB.databases()).map(({ name }) => name),
    caches: "caches" in globalThis ? await Promise.all((await caches.keys()).map(async (name) => [name, (await (await caches.open(name)).keys()).map(({ url }) => url)])) : [],
  }))()`);
  const { origins } = await context.storageState({ indexedDB: true });
  return `${String(inPage)} ${JSON.stringify(origins)}`;
};

/** A signed token in three parts; a sealed one has five, and says nothing to who has no key. */
const SIGNED_TOKEN = /(?<![\w.-])eyJ[\w-]+\.[\w-]+\.[\w-]+(?![\w.-])/;
const TOKEN_MEMBER = /"(?:access|refresh|id)_token"/;

for (const [what, open] of Object.entries(worlds))
  test(`ben signs in at ${what}: the cookie is out of reach of scripts, and no token reaches the browser`, async (t) => {
    const world = await open(t);
    const { page, issues, close } = await openPage(browser, { ignoreHTTPSErrors: true });
    cleanUp(t, close);
    const context = page.context();
    const { said, settled } = listenIn(page);
    await world.signIn(page);
    await page.getByRole("heading", { name: /Hello, Ben/ }).waitFor();
    const session = (await page.evaluate(`fetch("/auth/session").then((answer) => answer.json())`)) as {
      readonly authenticated: boolean;
      readonly subject: { readonly id: string };
      readonly tenant: string;
    };
    assert.deepEqual([session.authenticated, session.subject.id, session.tenant], [true, "person:ben", "tenant:acme"]);

    const cookies = await context.cookies(world.origin);
    const { name, secure } = world.cookie;
    const sid = cookies.find((cookie) => cookie.name === name);
    assert.ok(sid, JSON.stringify(cookies.map((cookie) => cookie.name)));
    assert.deepEqual(
      { domain: sid.domain, path: sid.path, httpOnly: sid.httpOnly, secure: sid.secure, sameSite: sid.sameSite, expires: sid.expires },
      { domain: "localhost", path: "/", httpOnly: true, secure, sameSite: "Strict", expires: -1 },
    );
    assert.match(sid.value, /^[A-Za-z0-9_-]{43}$/);
    assert.ok(!cookies.some((cookie) => cookie.name.includes("txn")), "the sign-in's own cookie is gone");
    const setters = said.filter(({ text }) => text.includes(`${name}=`) && text.includes("set-cookie")).map(({ text }) => text);
    assert.ok(setters.length > 0);
    for (const text of setters) {
      const lines = (JSON.parse(text) as { "set-cookie": string })["set-cookie"].split("\n");
      const given = lines.filter((line) => line.startsWith(`${name}=`) && !/max-age=0/i.test(line));
      for (const line of given)
        assert.match(line, secure ? /; Path=\/; HttpOnly; Secure; SameSite=Strict$/ : /; Path=\/; HttpOnly; SameSite=Strict$/);
    }

    // A load from the start as well: what the page keeps is what it finds there.
    await page.reload();
    await page.getByRole("heading", { name: /Hello, Ben/ }).waitFor();
    await settled();
    const storage = await kept(page, context);
    const issued = world.provider?.issued ?? [];
    if (world.provider !== undefined) assert.equal(issued.length, 3, "an access, a refresh and an ID token were given out");
    const places = [...said, { where: "storage and HTML", text: storage }, { where: "address", text: page.url() }];
    assert.ok(places.some(({ where }) => where === `answer of ${world.origin}/auth/session`));
    for (const { where, text } of places) {
      assert.doesNotMatch(text, SIGNED_TOKEN, where);
      assert.doesNotMatch(text, TOKEN_MEMBER, where);
      for (const [index, token] of issued.entries()) assert.ok(!text.includes(token), `token ${index} is in: ${where}`);
    }
    for (const { where, text } of places.filter(({ where: place }) => place === "console" || place === "storage and HTML"))
      assert.ok(!text.includes(sid.value), `the session's id is in: ${where}`);
    assert.deepEqual(issues, []);
  });
