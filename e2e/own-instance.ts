import assert from "node:assert/strict";
import type { TestContext } from "node:test";
import { cleanUp } from "#testing/clean-up.ts";
import { formBrowser } from "#testing/form-browser.ts";
import type { startForeignProvider } from "./foreign-provider.ts";
import { sessionOf } from "./sign-in.ts";
import { startTestInstance } from "./test-instance.ts";

type Provider = Awaited<ReturnType<typeof startForeignProvider>>;
type Person = Awaited<ReturnType<typeof sessionOf>>;

/** An instance without the demo, whose persons come from a provider of its own. */
export const startOwnInstance = async (
  t: TestContext,
  {
    port,
    data,
    provider,
    environment = {},
    more = [],
  }: {
    readonly port: number;
    readonly data: string;
    readonly provider: Provider;
    readonly environment?: Readonly<Record<string, string>>;
    /** Further arguments of the program. */
    readonly more?: readonly string[];
  },
) => {
  const origin = `http://localhost:${port}`;
  const instance = await startTestInstance({
    port,
    data,
    arguments: ["--no-demo", ...more],
    environment: {
      OIDC_ISSUER: provider.issuer,
      OIDC_CLIENT_ID: provider.clientId,
      OIDC_CLIENT_SECRET: provider.clientSecret,
      OIDC_DEFAULT_TENANT: "tenant:acme",
      OIDC_PROVISION: "create",
      OIDC_GROUPS_CLAIM: "groups",
      OIDC_ACR_MAP: '{"strong":{"acr":["gold"],"amr":[]},"phishing_resistant":{"acr":[],"amr":[]}}',
      ...environment,
    },
  });
  cleanUp(t, () => instance.stop());

  /** Who comes from the provider under this name, with these claims; what the gateway then shows. */
  const come = async (sub: string, claims: Readonly<Record<string, unknown>> = {}) => {
    provider.person = { sub, claims };
    const browser = formBrowser();
    const landed = await browser.open(`${origin}/auth/login?return_to=/auth-done&acr_values=strong`, (at) => at.pathname === "/auth-done");
    return { landed, browser };
  };
  const signIn = async (sub: string, claims: Readonly<Record<string, unknown>> = {}): Promise<Person> => {
    const { landed, browser } = await come(sub, claims);
    assert.ok(landed.stopped, landed.html);
    const [name, value] = [...browser.cookies].find(([cookie]) => cookie.includes("_sid_")) ?? [];
    return sessionOf(origin, `${name}=${value}`);
  };
  /** A text is sent as it is. */
  const call = async (headers: Readonly<Record<string, string>>, method: string, path: string, body?: unknown) => {
    const sent = body === undefined ? {} : { body: typeof body === "string" ? body : JSON.stringify(body) };
    const response = await fetch(`${origin}${path}`, { method, headers, ...sent });
    const text = await response.text();
    // oxlint-disable-next-line typescript/no-explicit-any -- bodies of many shapes
    return { status: response.status, body: (text === "" ? undefined : JSON.parse(text)) as any };
  };
  /** What this person does at a service, behind `/api/<service>`; it has to be permitted. */
  const as =
    (person: Person, service = "membership") =>
    async (method: string, path: string, body?: unknown, more: Readonly<Record<string, string>> = {}) => {
      const reply = await call({ ...person.headers, ...more }, method, `/api/${service}${path}`, body);
      assert.ok(reply.status < 300, `${method} ${path} ${reply.status} ${JSON.stringify(reply.body)}`);
      return reply.body;
    };
  /** An agent's own token for what somebody delegated to it. */
  const exchange = async (clientId: string, secret: string, sub: string) => {
    const form = new URLSearchParams({
      grant_type: "urn:ietf:params:oauth:grant-type:token-exchange",
      subject_token: await provider.accessToken(origin, { sub, scope: "mcp.tools.discovery mcp.tools.invoke membership.read" }),
      subject_token_type: "urn:ietf:params:oauth:token-type:access_token",
    });
    const authorization = `Basic ${Buffer.from(`${encodeURIComponent(clientId)}:${encodeURIComponent(secret)}`).toString("base64")}`;
    return (await (await fetch(`${origin}/oauth/token`, { method: "POST", body: form, headers: { authorization } })).json()) as {
      access_token?: string;
      error?: string;
    };
  };
  return { instance, origin, come, signIn, call, as, exchange };
};
