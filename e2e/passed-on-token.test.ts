import assert from "node:assert/strict";
import { once } from "node:events";
import { mkdtemp, rm, writeFile } from "node:fs/promises";
import { createServer } from "node:http";
import type { AddressInfo } from "node:net";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { test, type TestContext } from "node:test";
import { decodeJwt } from "jose";
import { cleanUp } from "#testing/clean-up.ts";
import { findFreePorts } from "#testing/free-port.ts";
import { formBrowser } from "#testing/form-browser.ts";
import { startForeignProvider } from "./foreign-provider.ts";
import { signInPerson } from "./sign-in.ts";
import { startTestInstance } from "./test-instance.ts";

const AUDIENCE = "https://reports.example";

interface World {
  readonly environment: Readonly<Record<string, string>>;
  /** The cookie of ben, signed in at Sallyport. */
  readonly signIn: (origin: string) => Promise<string>;
}

const worlds: Readonly<Record<string, (t: TestContext, origin: string) => Promise<World>>> = {
  "the embedded issuer": async () => ({ environment: {}, signIn: async (origin) => (await signInPerson(origin, "ben")).cookie }),
  "a provider of somebody else": async (t, origin) => {
    const provider = await startForeignProvider([origin]);
    cleanUp(t, () => provider.stop());
    return {
      environment: {
        OIDC_ISSUER: provider.issuer,
        OIDC_CLIENT_ID: provider.clientId,
        OIDC_CLIENT_SECRET: provider.clientSecret,
        OIDC_SUBJECT_PREFIX: "person:",
        OIDC_DEFAULT_TENANT: "tenant:acme",
        OIDC_RESOURCE_INDICATORS: "true",
      },
      signIn: async (instance) => {
        const browser = formBrowser();
        await browser.open(`${instance}/auth/login`, (url) => url.origin === instance && url.pathname === "/");
        return [...browser.cookies].map(([name, value]) => `${name}=${value}`).join("; ");
      },
    };
  },
};

for (const [name, open] of Object.entries(worlds))
  test(`a session that began at ${name} hands its token on to the service that a row names, and opens nothing else with it`, async (t) => {
    const seen: (string | undefined)[] = [];
    const upstream = createServer((request, response) => {
      seen.push(request.headers.authorization);
      response.writeHead(200, { "content-type": "application/json" }).end('{"reports":[]}');
    });
    await once(upstream.listen(0, "127.0.0.1"), "listening");
    const folder = await mkdtemp(join(tmpdir(), "passed-on-"));
    cleanUp(t, async () => {
      upstream.closeAllConnections();
      upstream.close();
      await rm(folder, { recursive: true, force: true });
    });
    const routes = join(folder, "routes.yaml");
    await writeFile(
      routes,
      `version: 1
services:
  reports: { base_urls: ["http://127.0.0.1:${(upstream.address() as AddressInfo).port}"], audience: "${AUDIENCE}" }
routes:
  - { id: reports, path: /api/reports, target_service: reports, preserve_path: true, methods: [GET], auth: session, authz: none, token_policy: { mode: session_passthrough } }
`,
    );
    const port = await findFreePorts();
    const origin = `http://localhost:${port}`;
    const world = await open(t, origin);
    const instance = await startTestInstance({ port, environment: { ...world.environment, ROUTES_FILE: routes } });
    cleanUp(t, () => instance.stop());
    const cookie = await world.signIn(origin);
    const answer = await fetch(`${origin}/api/reports`, { headers: { cookie } });
    assert.deepEqual([answer.status, await answer.text()], [200, '{"reports":[]}']);
    const token = (seen[0] ?? "").replace(/^Bearer /, "");
    assert.ok([decodeJwt(token).aud].flat().includes(AUDIENCE));
    for (const [place, path] of [
      [3, "/mcp/tools/list"],
      [4, "/api/v1/identity_nodes/search?q=ben"],
      [5, "/api/secrets?uri=yaml://secret/x"],
    ] as const) {
      const turned = await fetch(`http://localhost:${port + place}${path}`, { headers: { authorization: `Bearer ${token}` } });
      assert.equal(turned.status, 401, path);
    }
  });
