import assert from "node:assert/strict";
import { Secret, TOTP } from "otpauth";
import type { BeginSignIn, FinishSignIn, OidcClient, SignedIn, SignInChecks } from "#authn/provider/oidc-client.ts";
import { demoPassword, demoTotpSecret } from "#demo/sign-ins.ts";
import { formBrowser, type FormBrowser, type Visited } from "./form-browser.ts";
import type { TestIssuer } from "./issuer.ts";
import { testOidcClient } from "./oidc-client.ts";

/** The one-time code that the demo persons' app shows now, or some steps of 30 s from now. */
export const demoCode = (steps = 0): string =>
  new TOTP({ secret: Secret.fromBase32(demoTotpSecret) }).generate({ timestamp: Date.now() + steps * 30_000 });

export const issueOf = (page: Visited): string => /role="alert">([^<]*)/.exec(page.html)?.[1] ?? "";
export const titleOf = (page: Visited): string => /<h1>([^<]*)/.exec(page.html)?.[1] ?? "";

export interface Visitor {
  readonly client: OidcClient;
  readonly browser: FormBrowser;
  readonly redirectUri: string;
  start(more?: Partial<BeginSignIn>): Promise<{ readonly page: Visited; readonly checks: SignInChecks }>;
  submit(page: Visited, fields: Readonly<Record<string, string>>, form?: number): Promise<Visited>;
  finish(page: Visited, checks: SignInChecks, more?: Partial<FinishSignIn>): Promise<SignedIn>;
}

/** A browser, a client, and the way between them; it stops where the browser would come to the client. */
export const visitor = (op: TestIssuer, browser: FormBrowser = formBrowser()): Visitor => {
  const client = testOidcClient(op, { scopes: ["openid", "profile", "offline_access", "mcp.tools.invoke"] });
  const redirectUri = `${op.publicOrigin}/auth/callback`;
  const atClient = (url: URL): boolean => url.origin === op.publicOrigin;
  return {
    client,
    browser,
    redirectUri,
    start: async (more = {}) => {
      const { url, ...checks } = await client.begin({ redirectUri, ...more });
      return { page: await browser.open(url, atClient), checks };
    },
    submit: (page, fields, form = 0) => browser.submit(page, fields, atClient, form),
    finish: (page, checks, more = {}) => client.finish({ currentUrl: page.url, ...checks, ...more }),
  };
};

/** Through all pages that are shown, to the signed-in person. */
export const signIn = async (who: Visitor, login: string, more: Partial<BeginSignIn> = {}, codeSteps = 0): Promise<SignedIn> => {
  const { page, checks } = await who.start(more);
  let at = page;
  if (!at.stopped && titleOf(at) === "Sign in") at = await who.submit(at, { login, password: demoPassword });
  if (!at.stopped && titleOf(at) === "One-time code") at = await who.submit(at, { code: demoCode(codeSteps) });
  assert.ok(at.stopped, `${at.status} ${titleOf(at)} ${issueOf(at)}`);
  return who.finish(at, checks);
};
