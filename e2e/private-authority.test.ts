import assert from "node:assert/strict";
import { test } from "node:test";
import { openIssuerFetch } from "#authn/provider/issuer-fetch.ts";
import { testCertificates } from "#testing/certificates.ts";
import { cleanUp } from "#testing/clean-up.ts";
import { formBrowser } from "#testing/form-browser.ts";
import { findFreePorts } from "#testing/free-port.ts";
import { until } from "#testing/until.ts";
import { startForeignProvider } from "./foreign-provider.ts";
import { startTestInstance } from "./test-instance.ts";

test("a provider under a certificate that only we know: without OIDC_CA_FILE 503, with it people sign in and out", async (t) => {
  const { selfSigned } = await testCertificates(t);
  const trusting = await openIssuerFetch(selfSigned.certFile);
  cleanUp(t, () => trusting[Symbol.asyncDispose]());
  const port = await findFreePorts();
  const origin = `http://localhost:${port}`;
  const provider = await startForeignProvider([origin], { tls: { ...selfSigned, send: trusting.send } });
  cleanUp(t, () => provider.stop());
  provider.logoutTarget = `${origin}/auth/backchannel-logout`;
  const settings = {
    OIDC_ISSUER: provider.issuer,
    OIDC_CLIENT_ID: provider.clientId,
    OIDC_CLIENT_SECRET: provider.clientSecret,
    OIDC_SUBJECT_PREFIX: "person:",
    OIDC_DEFAULT_TENANT: "tenant:acme",
  };
  const start = async (more: Readonly<Record<string, string>>) => {
    const instance = await startTestInstance({ port, environment: { ...settings, ...more }, arguments: ["--no-demo"] });
    cleanUp(t, () => instance.stop());
    return instance;
  };

  const stranger = await start({});
  const refused = await fetch(`${origin}/auth/login`, { redirect: "manual" });
  assert.deepEqual(
    [refused.status, ((await refused.json()) as { code: string }).code, refused.headers.get("retry-after")],
    [503, "identity_provider_unavailable", "5"],
  );
  await stranger.stop();

  await start({ OIDC_CA_FILE: selfSigned.certFile });
  const forms = formBrowser(trusting.send);
  await forms.open(`${origin}/auth/login?return_to=/auth-done`, (at) => at.pathname === "/auth-done");
  const name = `sallyport_dev_sid_${port}`;
  const cookie = `${name}=${forms.cookies.get(name) ?? ""}`;
  const session = async () => {
    const answer = await fetch(`${origin}/auth/session`, { headers: { cookie } });
    return (await answer.json()) as { readonly authenticated: boolean; readonly subject?: { readonly id: string } };
  };
  assert.deepEqual([(await session()).authenticated, (await session()).subject?.id], [true, "person:ben"]);
  // The keys of its logout tokens come over the same wire.
  const page = await forms.open(`${provider.issuer}/session/end?client_id=${provider.clientId}`);
  await forms.submit(page, { logout: "yes" }, (at) => at.origin !== provider.issuer);
  await until(async () => !(await session()).authenticated);
  assert.equal(provider.logoutTokens.length, 1);
});
