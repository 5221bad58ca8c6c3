import assert from "node:assert/strict";
import { test } from "node:test";
import { decodeJwt } from "jose";
import type { SignedIn } from "#authn/provider/oidc-client.ts";
import { serverUpstream } from "#testing/http-upstream.ts";
import { absentProvider, recordingPeer, sharedDatabase, testGateway } from "#testing/gateway.ts";

const database = sharedDatabase();
const SID = "sallyport_dev_sid_8080";
const FAR = "https://far.example";

const routes = `version: 1
services:
  crud: { base_urls: ["\${CRUD_SERVICE_URL}"], audience: "\${CRUD_AUDIENCE}" }
routes:
  - { id: s, path: /api/s/*, target_service: crud, upstream_path: "/{path}", methods: [GET], auth: session, authz: none }
  - { id: limited, path: /api/l/*, target_service: crud, upstream_path: "/{path}", methods: [GET], auth: session, authz: none, token_policy: { mode: on_behalf_of, scopes: [tools.read, metrics.read] } }
  - { id: limited.bearer, path: /api/lb/*, target_service: crud, upstream_path: "/{path}", methods: [GET], auth: bearer, authz: none, token_policy: { mode: on_behalf_of, scopes: [tools.read, metrics.read] } }
  - { id: mcp, path: /mcp, target_service: crud, preserve_path: true, methods: [POST], auth: bearer, authz: none, streaming: true }
`;

const scopesSent = (crud: ReturnType<typeof recordingPeer>): unknown =>
  decodeJwt(crud.seen.at(-1)?.headers.get("authorization")?.replace("Bearer ", "") ?? "")["scope"];

test("SESSION_SCOPES is what a session may at Sallyport's services, and a row's scopes only narrow it", async (t) => {
  const crud = recordingPeer();
  const made = await testGateway(t, {
    database: await database(),
    routes,
    peers: { crud: crud.peer },
    settings: { SESSION_SCOPES: "tools.read,membership.read" },
  });
  const { cookie } = await made.signIn("person:ben");
  assert.equal((await made.fetch("/api/s/x", { headers: cookie })).status, 200);
  assert.equal(scopesSent(crud), "tools.read membership.read");
  assert.equal((await made.fetch("/api/l/x", { headers: cookie })).status, 200);
  assert.equal(scopesSent(crud), "tools.read", "metrics.read is the row's, and not the session's");
  const bearer = async (scopes: readonly string[]) => {
    const token = await made.identity.tokenFor({ sub: "person:ben", tenant: "tenant:acme", scopes });
    assert.equal((await made.fetch("/api/lb/x", { headers: { authorization: `Bearer ${token}` } })).status, 200);
    return scopesSent(crud);
  };
  assert.equal(await bearer(["metrics.read", "secrets.read"]), "metrics.read", "a token's own scopes count, narrowed by the row");
  assert.equal(await bearer(["secrets.read"]), "");
});

test("SESSION_ABSOLUTE_S ends a session that is used all the time, and is never extended", async (t) => {
  let now = Date.now();
  const who: SignedIn = {
    sub: "person:ben",
    tenant: "tenant:acme",
    amr: ["pwd"],
    name: "Ben",
    issuer: "http://localhost:8081",
    tokens: { accessToken: "a", accessExpiresAt: 4_000_000_000 },
  };
  const oidc = absentProvider({
    begin: async () => ({ url: "http://localhost:8081/authorize", state: "s", nonce: "n", verifier: "v" }),
    finish: async () => who,
  });
  const made = await testGateway(t, {
    database: await database(),
    routes,
    parts: { oidc },
    now: () => new Date(now),
    settings: { SESSION_ABSOLUTE_S: "600", SESSION_IDLE_S: "300" },
  });
  const [txn = ""] = (await made.fetch("/auth/login")).headers.getSetCookie();
  const landed = await made.fetch("/auth/callback?code=c&state=s", { headers: { cookie: txn.split(";", 1)[0] ?? "" } });
  const cookie =
    landed.headers
      .getSetCookie()
      .find((line) => line.startsWith(SID))
      ?.split(";", 1)[0] ?? "";
  const session = async () => (await (await made.fetch("/auth/session", { headers: { cookie } })).json()) as Record<string, unknown>;
  const begun = now;
  for (const seconds of [120, 240, 360, 480, 599]) {
    now = begun + seconds * 1000;
    const { authenticated, expires_at: expiresAt } = await session();
    assert.equal(authenticated, true, `after ${seconds} s`);
    assert.ok(Date.parse(String(expiresAt)) <= begun + 600_000);
  }
  now = begun + 600_000;
  assert.deepEqual(await session(), { authenticated: false });
  assert.equal(await made.counted("bff_sessions_destroyed_total", { reason: "absolute" }), 1);
});

test("OIDC_POST_LOGOUT_PATH is where sign-out ends, of the origin that was addressed", async (t) => {
  const asked: (string | undefined)[] = [];
  const oidc = absentProvider({
    endSessionUrl: async ({ postLogoutRedirectUri }) => {
      asked.push(postLogoutRedirectUri);
      return undefined;
    },
  });
  const made = await testGateway(t, {
    database: await database(),
    routes,
    parts: { oidc },
    settings: { OIDC_POST_LOGOUT_PATH: "/good-bye" },
  });
  const leave = async (headers: Readonly<Record<string, string>>) => {
    const response = await made.fetch("/auth/logout", { headers: { ...headers, "sec-fetch-site": "same-origin" } });
    return [response.status, response.headers.get("location")];
  };
  assert.deepEqual(await leave({}), [303, "/good-bye"], "nobody was signed in");
  assert.deepEqual(await leave((await made.signIn("person:ben")).cookie), [303, "/good-bye"], "the provider has no page of its own");
  assert.deepEqual(asked, [`${made.origin}/good-bye`, `${made.origin}/good-bye`]);
  const { headers } = await made.signIn("person:ben");
  assert.equal((await made.fetch("/auth/logout", { method: "POST", headers, body: "{}" })).status, 200);
  assert.deepEqual(asked.slice(2), [`${made.origin}/good-bye`]);
});

for (const [internalAudiences, credential] of [
  [[FAR], "internal"],
  [["https://another.example"], "none"],
  [undefined, "none"],
] as const)
  test(`with INTERNAL_AUDIENCES ${internalAudiences?.join() ?? "unset"} a service elsewhere gets ${credential === "internal" ? "our token" : "no token"}`, async (t) => {
    const far = await serverUpstream(t);
    const made = await testGateway(t, {
      database: await database(),
      routes: `version: 1
services:
  far: { base_urls: ["${far.url}"], audience: "${FAR}" }
routes:
  - { id: s, path: /api/s/*, target_service: far, upstream_path: "/{path}", methods: [GET], auth: session, authz: none }
`,
      parts: internalAudiences === undefined ? {} : { internalAudiences },
    });
    const { cookie } = await made.signIn("person:ben");
    assert.equal((await made.fetch("/api/s/x", { headers: cookie })).status, 200);
    const authorization = far.seen.at(-1)?.headers.authorization;
    if (credential === "none") assert.equal(authorization, undefined);
    else {
      const claims = decodeJwt(authorization?.replace("Bearer ", "") ?? "");
      assert.deepEqual([claims.iss, claims.aud, claims.sub, (claims.exp ?? 0) - (claims.iat ?? 0)], [made.origin, FAR, "person:ben", 60]);
    }
  });

test("FIRST_PARTY_CLIENTS are the only clients besides agents that enter the tool endpoints", async (t) => {
  const crud = recordingPeer();
  const made = await testGateway(t, {
    database: await database(),
    routes,
    peers: { crud: crud.peer },
    parts: { firstPartyClients: ["acme-desktop", "acme-cli"] },
  });
  const enter = async (more: { clientId?: string; agent?: string }) => {
    const token = await made.identity.tokenFor({ sub: "person:ben", tenant: "tenant:acme", scopes: [], ...more });
    const headers = { authorization: `Bearer ${token}`, "content-type": "application/json" };
    const response = await made.fetch("/mcp", { method: "POST", headers, body: "{}" });
    const body = (await response.json()) as { code?: string };
    return [response.status, body.code];
  };
  for (const clientId of ["acme-desktop", "acme-cli"]) assert.deepEqual(await enter({ clientId }), [200, undefined], clientId);
  for (const clientId of ["sallyport-web", "acme", "ACME-CLI"])
    assert.deepEqual(await enter({ clientId }), [403, "unknown_client"], clientId);
  assert.deepEqual(await enter({ clientId: "stranger", agent: "agent:hr-assistant" }), [200, undefined], "an agent is known by itself");
});
