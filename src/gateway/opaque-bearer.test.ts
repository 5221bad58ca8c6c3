import assert from "node:assert/strict";
import { test } from "node:test";
import { defaultAssuranceMap } from "#authn/model/assurance.ts";
import { createBearerVerifier } from "#authn/callers/bearer.ts";
import { createIntrospector } from "#authn/provider/introspection.ts";
import { createMetrics } from "#telemetry/metrics.ts";
import { recordingPeer, sharedDatabase, testGateway } from "#testing/gateway.ts";
import { testIdentity } from "#testing/identity.ts";
import { opaqueProvider } from "#testing/opaque-provider.ts";

const database = sharedDatabase();

const routes = `version: 1
services:
  crud: { base_urls: ["\${CRUD_SERVICE_URL}"], audience: "\${CRUD_AUDIENCE}" }
routes:
  - { id: read, path: /api/read, target_service: crud, preserve_path: true, methods: [GET], auth: bearer, authz: none, bearer: { scopes: [tools.read] } }
  - { id: call, path: /api/call, target_service: crud, preserve_path: true, methods: [GET], auth: bearer, authz: none, bearer: { scopes: [tools.call] } }
`;

test("an opaque token of the provider is a bearer's: for its audience and scopes, until it is revoked, never without the provider", async (t) => {
  const provider = await opaqueProvider(t);
  let offset = 0;
  const now = () => new Date(Date.now() + offset);
  const identity = testIdentity({ now });
  const metrics = createMetrics();
  const introspector = createIntrospector({ issuer: provider.url, ...provider, now, metrics });
  const crud = recordingPeer();
  const made = await testGateway(t, {
    database: await database(),
    routes,
    identity,
    now,
    peers: { crud: crud.peer },
    parts: {
      verifierFor: (audience) =>
        createBearerVerifier({
          audience,
          issuers: [{ issuer: provider.url, keys: () => Promise.reject(new Error("no key is asked for")) }],
          introspector,
          mapping: { subjectPrefix: "", subjectClaim: "sub", tenantClaim: "tenant", assurance: defaultAssuranceMap },
          serviceKeys: identity.serviceKeys,
          now,
          metrics,
        }),
    },
  });
  const ask = async (path: string, token: string) => {
    const response = await made.fetch(path, { headers: { authorization: `Bearer ${token}` } });
    const { code } = (await response.json()) as { code?: string };
    return { status: response.status, code, headers: response.headers };
  };
  const order = { sub: "person:ben", scope: "tools.read", audience: made.origin, claims: { tenant: "tenant:acme" } };
  const token = await provider.tokenOf(order);
  assert.equal((await ask("/api/read", token)).status, 200);
  const [seen] = crud.seen;
  assert.deepEqual([seen?.headers.get("x-user-id"), seen?.headers.get("x-tenant-id")], ["person:ben", "tenant:acme"]);
  assert.ok(!seen?.headers.get("authorization")?.includes(token), "Sallyport's service gets Sallyport's own token");
  const narrow = await ask("/api/call", token);
  assert.deepEqual([narrow.status, narrow.code], [403, "insufficient_scope"]);
  const elsewhere = await ask("/api/read", await provider.tokenOf({ ...order, audience: "https://elsewhere.example" }));
  assert.deepEqual([elsewhere.status, elsewhere.code], [401, "invalid_token"]);
  assert.match(elsewhere.headers.get("www-authenticate") ?? "", /^Bearer error="invalid_token"/);
  await provider.revoke(token);
  offset = 30_000;
  assert.deepEqual(await ask("/api/read", token).then(({ status, code }) => [status, code]), [401, "invalid_token"]);
  const fresh = await provider.tokenOf(order);
  await provider.stop();
  const away = await ask("/api/read", fresh);
  assert.deepEqual([away.status, away.code, away.headers.get("retry-after")], [503, "identity_provider_unavailable", "5"]);
  await provider.start();
  assert.equal((await ask("/api/read", fresh)).status, 200);
  assert.equal(crud.seen.length, 2, "nothing else reached the service");
});
