import assert from "node:assert/strict";
import { demoPassword } from "#demo/sign-ins.ts";
import { formBrowser } from "#testing/form-browser.ts";

/** A person signed in at the gateway, as a browser would be, without one. */
export interface Person {
  /** Of every request. */
  readonly cookie: string;
  /** Of an unsafe request by our own page. */
  readonly headers: Readonly<Record<string, string>>;
}

/** Signs in at the embedded issuer's own page. */
export const signInPerson = async (origin: string, login: string): Promise<Person> => {
  const browser = formBrowser();
  const page = await browser.open(`${origin}/auth/login`);
  const signedIn = await browser.submit(page, { login, password: demoPassword }, (url) => url.pathname === "/");
  assert.equal(signedIn.url.origin, origin, signedIn.html.slice(0, 500));
  const [name, value] = [...browser.cookies].find(([cookie]) => cookie.includes("_sid_")) ?? [];
  const cookie = `${name}=${value}`;
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
