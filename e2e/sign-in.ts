import assert from "node:assert/strict";
import type { Page } from "playwright-core";
import { demoPassword } from "#demo/sign-ins.ts";
import { formBrowser, type FormBrowser, type Visited } from "#testing/form-browser.ts";

/** Signs in at the issuer's own page in a real browser, as a person does; ends where the page wanted to go. */
export const signIn = async (page: Page, origin: string, name: string, path = "/"): Promise<void> => {
  await page.goto(`${origin}${path}`);
  await page
    .getByRole("link", { name: "Sign in" })
    .or(page.getByRole("button", { name: "Sign in" }))
    .first()
    .click();
  await page.getByLabel("Name").fill(name);
  await page.getByLabel("Password").fill(demoPassword);
  await page.getByRole("button", { name: "Sign in" }).click();
  await page.waitForURL((url) => url.origin === origin && !url.pathname.startsWith("/auth/"));
};

/** A person signed in at the gateway, as a browser would be, without one. */
export interface Person {
  /** Of every request. */
  readonly cookie: string;
  /** Of an unsafe request by our own page. */
  readonly headers: Readonly<Record<string, string>>;
}

/** Signs in at the embedded issuer's own page; `before` may do on it what people do before they type the right words. */
export const signInPerson = async (
  origin: string,
  login: string,
  before: (browser: FormBrowser, page: Visited) => Promise<Visited> = async (_browser, page) => page,
): Promise<Person> => {
  const browser = formBrowser();
  const page = await before(browser, await browser.open(`${origin}/auth/login`));
  const signedIn = await browser.submit(page, { login, password: demoPassword }, (url) => url.pathname === "/");
  assert.equal(signedIn.url.origin, origin, signedIn.html.slice(0, 500));
  const [name, value] = [...browser.cookies].find(([cookie]) => cookie.includes("_sid_")) ?? [];
  return sessionOf(origin, `${name}=${value}`);
};

/** A session's cookie, and what a page of ours sends beside it. */
export const sessionOf = async (origin: string, cookie: string): Promise<Person> => {
  const { csrf_token: csrf } = (await (await fetch(`${origin}/auth/csrf`, { headers: { cookie } })).json()) as { csrf_token: string };
  return {
    cookie,
    headers: {
      cookie,
      origin,
      "content-type": "application/json",
      "x-csrf-token": csrf,
      "x-csrftoken": csrf,
      "x-requested-with": "XMLHttpRequest",
      "sec-fetch-site": "same-origin",
    },
  };
};
