import assert from "node:assert/strict";
import { once } from "node:events";
import { createServer } from "node:http";
import type { AddressInfo } from "node:net";
import { after, before, describe, test } from "node:test";
import type { Browser, BrowserContext, Page } from "playwright-core";
import { cleanUp } from "#testing/clean-up.ts";
import { until } from "#testing/until.ts";
import { launchBrowser, openPage } from "./browser.ts";
import { sharedInstance } from "./shared-instance.ts";
import { signIn, signInPerson, type Person } from "./sign-in.ts";
import type { TestInstance } from "./test-instance.ts";

/** Of Sallyport, each with the row or part of the gateway that its requests are counted under. */
const readable = {
  "/api/v1/sessions": "sessions.list",
  "/auth/session": "auth.session",
  "/auth/csrf": "auth.csrf",
  "/api/membership/delegations": "membership.rest",
  "/api/configs/ui": "crud.ui",
} as const;
const STREAM = "/api/v1/events/config";

/** Every way in which a page can try to read what is at a URL; each tells what it got, or that it got nothing. */
const READING = `async (url) => {
  const nothing = () => "nothing";
  const element = (name, way) => new Promise((resolve) => {
    const made = document.createElement(name);
    made.onload = () => resolve(name + " loaded");
    made.onerror = () => resolve("nothing");
    made[way] = url;
    document.head.append(made);
  });
  return {
    fetch: await fetch(url, { credentials: "include" }).then((answer) => answer.text()).catch(nothing),
    "fetch with a header": await fetch(url, { credentials: "include", headers: { "x-requested-with": "XMLHttpRequest" } })
      .then((answer) => answer.text()).catch(nothing),
    "fetch without CORS": await fetch(url, { credentials: "include", mode: "no-cors" })
      .then(async (answer) => (answer.status === 0 && (await answer.text()) === "" ? "nothing" : answer.status)).catch(nothing),
    image: await element("img", "src"),
    script: await element("script", "src"),
    style: await new Promise((resolve) => {
      const link = Object.assign(document.createElement("link"), { rel: "stylesheet", href: url });
      link.onload = () => resolve("style loaded");
      link.onerror = () => resolve("nothing");
      document.head.append(link);
    }),
    frame: await new Promise((resolve) => {
      const frame = document.createElement("iframe");
      frame.onload = () => {
        try {
          resolve(frame.contentWindow.document.body.innerText);
        } catch {
          resolve("nothing");
        }
      };
      frame.src = url;
      document.body.append(frame);
    }),
  };
}`;

/** Tells "open", an event's name, or "nothing". */
const LISTENING = `(url) => new Promise((resolve) => {
  const source = new EventSource(url, { withCredentials: true });
  const end = (said) => (source.close(), resolve(said));
  source.onopen = () => end("open");
  source.onmessage = () => end("message");
  source.onerror = () => end("nothing");
})`;

/** Every way in which a page can try to change something without leaving; whatever comes of them is looked at elsewhere. */
const CHANGING = `async (origin) => {
  const send = (path, init) => fetch(origin + path, { credentials: "include", ...init }).catch(() => undefined);
  const json = JSON.stringify({ everywhere: true });
  const plain = { "content-type": "text/plain" };
  await send("/auth/logout?everywhere=true", { method: "POST", mode: "no-cors" });
  await send("/auth/logout", { method: "POST", mode: "no-cors", headers: plain, body: json });
  await send("/auth/logout", { method: "POST", headers: { "content-type": "application/json", "x-requested-with": "XMLHttpRequest" }, body: json });
  await send("/api/v1/sessions?subject=person:ben", { method: "DELETE" });
  await send("/api/membership/delegations/delegation:ben-hr/revoke", { method: "POST", mode: "no-cors", headers: plain, body: "{}" });
  await send("/api/membership/delegations/delegation:ben-hr", { method: "DELETE" });
  navigator.sendBeacon(origin + "/auth/logout?everywhere=true", new Blob([json], { type: "text/plain" }));
  await new Promise((resolve) => {
    const image = new Image();
    image.onload = image.onerror = resolve;
    image.src = origin + "/auth/logout?everywhere=true";
  });
}`;

/** Fills a form and sends it as a person's click would: the whole page goes there. */
const submit = (action: string, method: string, fields: Readonly<Record<string, string>>, type: string): string => `(() => {
  const form = Object.assign(document.createElement("form"), { action: ${JSON.stringify(action)}, method: "${method}", enctype: "${type}" });
  for (const [name, value] of Object.entries(${JSON.stringify(fields)}))
    form.append(Object.assign(document.createElement("input"), { type: "hidden", name, value }));
  document.body.append(form);
  form.submit();
})()`;

/** A site of somebody else's: an empty page, without any policy of its own, at whatever host it is asked for. */
const openSite = async (t: { after: (close: () => unknown) => void }): Promise<number> => {
  const server = createServer((_request, response) => {
    response.writeHead(200, { "content-type": "text/html" }).end("<!doctype html><title>Elsewhere</title><body><p>Elsewhere</p></body>");
  });
  await once(server.listen(0, "127.0.0.1"), "listening");
  cleanUp(t as never, () => {
    server.closeAllConnections();
    server.close();
  });
  return (server.address() as AddressInfo).port;
};

describe("a page of another site, in a browser that is signed in at Sallyport", () => {
  const closing: (() => unknown)[] = [];
  let instance: TestInstance;
  let browser: Browser;
  let context: BrowserContext;
  /** Ben's own page, signed in. */
  let own: Page;
  /** Ben once more, without that browser: sees what became of his sessions and delegations. */
  let witness: Person;
  let site: number;
  before(async () => {
    const t = { after: (close: () => unknown) => void closing.push(close) };
    [instance, browser, site] = await Promise.all([sharedInstance(), launchBrowser(), openSite(t)]);
    const opened = await openPage(browser);
    own = opened.page;
    context = own.context();
    await signIn(own, instance.origin, "ben");
    witness = await signInPerson(instance.origin, "ben");
  });
  after(async () => {
    await browser?.close();
    for (const close of closing) await close();
  });

  const json = async (path: string): Promise<Record<string, unknown>> => {
    const response = await fetch(`${instance.origin}${path}`, { headers: { cookie: witness.cookie } });
    assert.equal(response.status, 200, path);
    return (await response.json()) as Record<string, unknown>;
  };
  /** What the attacks would change: ben's sessions and his delegations. */
  const state = async (): Promise<unknown> => {
    const { sessions } = (await json("/api/v1/sessions")) as { sessions: { id: string }[] };
    return { sessions: sessions.map(({ id }) => id).sort(), delegations: await json("/api/membership/delegations") };
  };
  /** Requests that the gateway counted under this row or part, by their status. */
  const counted = async (endpoint: string): Promise<Readonly<Record<string, number>>> => {
    const text = await (await fetch(`http://127.0.0.1:${instance.port}/metrics`)).text();
    const found: Record<string, number> = {};
    for (const [, labels = "", value] of text.matchAll(/^http_requests_total\{([^}]*)\} (\d+)$/gm)) {
      const status = /status="(\d+)"/.exec(labels)?.[1] ?? "";
      if (labels.includes(`endpoint="${endpoint}"`)) found[status] = (found[status] ?? 0) + Number(value);
    }
    return found;
  };
  const isSignedIn = async (): Promise<unknown> =>
    await own.evaluate(`fetch("/auth/session").then((answer) => answer.json()).then((body) => body.authenticated)`);
  const visit = async (host: string): Promise<Page> => {
    const page = await context.newPage();
    await page.goto(`http://${host}:${site}/`);
    return page;
  };

  test("the same words of Sallyport's own page read and listen: the tries below are real ones", async () => {
    for (const path of Object.keys(readable)) {
      const said = await own.evaluate(
        `fetch(${JSON.stringify(path)}).then(async (answer) => [answer.status, (await answer.text()).length > 2])`,
      );
      assert.deepEqual(said, [200, true], path);
    }
    assert.equal(await own.evaluate(`(${LISTENING})(${JSON.stringify(STREAM)})`), "open");
  });

  // `localhost` with another port is another origin of the same site: there the strict cookie comes along, and only the gateway's own checks are left.
  for (const [host, what, refused] of [
    ["127.0.0.1", "another site", "401"],
    ["localhost", "another origin of the same site", "403"],
  ] as const)
    test(`${what} reads nothing, by fetch, image, script, frame or event stream`, async () => {
      const page = await visit(host);
      for (const [path, endpoint] of Object.entries(readable)) {
        const before = await counted(endpoint);
        const read = (await page.evaluate(`(${READING})(${JSON.stringify(`${instance.origin}${path}`)})`)) as Record<string, string>;
        assert.deepEqual([...new Set(Object.values(read))], ["nothing"], `${path}: ${JSON.stringify(read)}`);
        const now = await counted(endpoint);
        // They did arrive, and it was the gateway that refused them; only the question who is signed in has an answer for everybody.
        if (endpoint !== "auth.session")
          assert.ok((now[refused] ?? 0) > (before[refused] ?? 0), `${path}: ${JSON.stringify({ before, now })}`);
      }
      const before = await counted("streams.config");
      assert.equal(await page.evaluate(`(${LISTENING})(${JSON.stringify(`${instance.origin}${STREAM}`)})`), "nothing");
      assert.ok(((await counted("streams.config"))[refused] ?? 0) > (before[refused] ?? 0));
      await page.close();
    });

  for (const [host, what] of [
    ["127.0.0.1", "another site"],
    ["localhost", "another origin of the same site"],
  ] as const)
    test(`${what} changes nothing, by form, fetch, beacon or image`, async () => {
      const before = await state();
      const page = await visit(host);
      const logouts = await counted("auth.logout");
      await page.evaluate(`(${CHANGING})(${JSON.stringify(instance.origin)})`);
      const forms = [
        ["/auth/logout", "post", { everywhere: "true" }, "application/x-www-form-urlencoded"],
        ["/auth/logout?everywhere=true", "post", { '{"everywhere": true, "a': '": 1}' }, "text/plain"],
        ["/auth/logout", "get", { everywhere: "true" }, "application/x-www-form-urlencoded"],
        ["/api/membership/delegations/delegation:ben-hr/revoke", "post", { "{}": "" }, "text/plain"],
        ["/api/v1/routes/reload", "post", {}, "application/x-www-form-urlencoded"],
      ] as const;
      for (const [path, method, fields, type] of forms) {
        const form = await visit(host);
        await form.evaluate(submit(`${instance.origin}${path}`, method, fields, type));
        // Until the answer's page stands: Chromium forgets to close a page that is asked to while it is on its way to another.
        await form.waitForURL((url) => url.origin === instance.origin);
        assert.equal(await isSignedIn(), true, `${method} ${path}`);
        await form.close();
      }
      const total = (counts: Readonly<Record<string, number>>) => Object.values(counts).reduce((sum, count) => sum + count, 0);
      await until(
        async () => total(await counted("auth.logout")) - total(logouts),
        (arrived) => arrived >= 6,
      );
      assert.deepEqual(await state(), before);
      assert.equal(await isSignedIn(), true);
      await page.close();
    });

  test("a plain link from another site lands signed in", async () => {
    for (const [path, lands] of [
      ["/delegations", (page: Page) => page.getByRole("link", { name: "Delegate to an agent" }).first().waitFor()],
      ["/api/v1/sessions", (page: Page) => page.getByText(`"current":true`).waitFor()],
    ] as const) {
      const page = await visit("127.0.0.1");
      await page.evaluate(
        `document.body.insertAdjacentHTML("beforeend", ${JSON.stringify(`<a href="${instance.origin}${path}">To Sallyport</a>`)})`,
      );
      await page.getByRole("link", { name: "To Sallyport" }).click();
      await lands(page);
      assert.equal(page.url(), `${instance.origin}${path}`);
      await page.close();
    }
  });
});
