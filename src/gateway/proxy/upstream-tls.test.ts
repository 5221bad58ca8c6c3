import assert from "node:assert/strict";
import { readFile } from "node:fs/promises";
import { test } from "node:test";
import { defaultAssuranceMap } from "#authn/model/assurance.ts";
import { openIssuerFetch } from "#authn/provider/issuer-fetch.ts";
import { remoteIssuer } from "#authn/provider/issuer-keys.ts";
import { createOidcClient } from "#authn/provider/oidc.ts";
import { createMetrics } from "#telemetry/metrics.ts";
import { testCertificates, tlsServer } from "#testing/certificates.ts";
import { recordingPeer, sharedDatabase, testGateway, type TestGateway } from "#testing/gateway.ts";
import { testAudiences } from "#testing/identity.ts";

const database = sharedDatabase();
const bad = ["selfSigned", "expired", "wrongName"] as const;

const outcome = async (made: TestGateway, path: string, headers: Readonly<Record<string, string>> = {}): Promise<string> => {
  const response = await made.fetch(path, { headers });
  return response.status === 200 ? "200" : `${response.status} ${((await response.json()) as { code?: string }).code}`;
};

test("an upstream whose certificate is not trusted gets no request; with the right authority it is served", async (t) => {
  const certificates = await testCertificates(t);
  let seen = 0;
  const server = await tlsServer(t, certificates.good, (_request, response) => {
    seen += 1;
    response.end("{}");
  });
  const behind = async (more: string) =>
    testGateway(t, {
      database: await database(),
      routes: `version: 1
services: { far: { base_urls: ["${server.url}"]${more} } }
routes:
  - { id: far, path: /far, target_service: far, preserve_path: true, methods: [GET, POST], auth: none, authz: none }
`,
    });
  const trusting = await behind(`, ca_file: "${certificates.caFile}"`);
  const stranger = await behind("");
  for (const kind of bad) {
    server.use(certificates[kind]);
    assert.equal(await outcome(trusting, "/far"), "502 upstream_tls_failed", kind);
  }
  server.use(certificates.good);
  assert.equal(await outcome(stranger, "/far"), "502 upstream_tls_failed");
  assert.equal(seen, 0);
  assert.equal(await outcome(trusting, "/far"), "200");
});

test("an upstream that wants to know the gateway by its certificate gets it", async (t) => {
  const certificates = await testCertificates(t);
  const ca = await readFile(certificates.caFile);
  const server = await tlsServer(
    t,
    { ...certificates.good, ca, requestCert: true, rejectUnauthorized: true },
    (_request, response) => void response.end("{}"),
  );
  const own = `, client_cert_file: "${certificates.good.certFile}", client_key_file: "${certificates.good.keyFile}"`;
  for (const [more, wanted] of [
    // In TLS 1.3 the server refuses after the handshake: to us it hangs up.
    ["", "502 upstream_error"],
    [own, "200"],
  ] as const) {
    const made = await testGateway(t, {
      database: await database(),
      routes: `version: 1
services: { far: { base_urls: ["${server.url}"], ca_file: "${certificates.caFile}"${more} } }
routes:
  - { id: far, path: /far, target_service: far, preserve_path: true, methods: [GET], auth: none, authz: none }
`,
    });
    assert.equal(await outcome(made, "/far"), wanted);
  }
});

test("a decision point whose certificate is not trusted decides nothing; with the right authority it does", async (t) => {
  const certificates = await testCertificates(t);
  const server = await tlsServer(
    t,
    certificates.good,
    (_request, response) =>
      void response
        .writeHead(200, { "content-type": "application/json" })
        .end('{"decision":true,"context":{"decision_id":"d_5f6b3b0e-0000-4000-8000-000000000000"}}'),
  );
  const upstream = recordingPeer();
  const made = await testGateway(t, {
    database: await database(),
    routes: `version: 1
services:
  pdp: { base_urls: ["\${PDP_SERVICE_URL}"], audience: "\${PDP_AUDIENCE}", ca_file: "${certificates.caFile}" }
  crud: { base_urls: ["\${CRUD_SERVICE_URL}"], audience: "\${CRUD_AUDIENCE}" }
routes:
  - { id: decided, path: /decided, target_service: crud, preserve_path: true, methods: [GET], auth: session, authz: pdp, authz_map: { GET: { resource: pages, action: view_all } } }
  - { id: free, path: /free, target_service: crud, preserve_path: true, methods: [GET], auth: session, authz: none }
`,
    parts: { peers: { crud: upstream.peer }, serviceUrls: { ...testAudiences, pdp: server.url } },
  });
  const { cookie } = await made.signIn("person:ben");
  for (const kind of bad) {
    server.use(certificates[kind]);
    assert.equal(await outcome(made, "/decided", cookie), "503 decision_unavailable", kind);
  }
  assert.equal(upstream.seen.length, 0);
  assert.equal(await outcome(made, "/free", cookie), "200");
  server.use(certificates.good);
  assert.equal(await outcome(made, "/decided", cookie), "200");
});

test("an issuer whose certificate is not trusted signs nobody in and vouches for no token; with the right authority it does", async (t) => {
  const certificates = await testCertificates(t);
  const server = await tlsServer(t, certificates.good, (request, response) => {
    const metadata = {
      issuer: server.url,
      authorization_endpoint: `${server.url}/auth`,
      token_endpoint: `${server.url}/token`,
      jwks_uri: `${server.url}/jwks`,
    };
    const said = request.url === "/jwks" ? { keys: [] } : metadata;
    response.writeHead(200, { "content-type": "application/json" }).end(JSON.stringify(said));
  });
  const metrics = createMetrics();
  const mapping = { subjectPrefix: "", subjectClaim: "sub", tenantClaim: "tenant", assurance: defaultAssuranceMap };
  const client = { issuer: server.url, clientId: "web", clientSecret: "secret-of-the-test", scopes: ["openid"] };
  const oidc = createOidcClient({ ...client, mapping, now: () => new Date(), metrics });
  const made = await testGateway(t, {
    database: await database(),
    routes: `version: 1
services: { crud: { base_urls: ["\${CRUD_SERVICE_URL}"], audience: "\${CRUD_AUDIENCE}" } }
routes:
  - { id: free, path: /free, target_service: crud, preserve_path: true, methods: [GET], auth: session, authz: none }
`,
    peers: { crud: async () => Response.json({}) },
    parts: { oidc },
  });
  const { cookie } = await made.signIn("person:ben");
  for (const kind of bad) {
    server.use(certificates[kind]);
    assert.equal(await outcome(made, "/auth/login"), "503 identity_provider_unavailable", kind);
    await assert.rejects(remoteIssuer({ issuer: server.url, metrics }).keys(), { code: "identity_provider_unavailable" });
  }
  assert.equal(await outcome(made, "/free", cookie), "200", "sessions serve on");
  server.use(certificates.good);
  await using trusting = await openIssuerFetch(certificates.caFile);
  const trusted = createOidcClient({ ...client, mapping, now: () => new Date(), metrics, fetch: trusting.send });
  const redirectUri = "http://localhost:8080/auth/callback";
  assert.ok((await trusted.begin({ redirectUri })).url.startsWith(`${server.url}/auth?`));
  // Its keys too: there are none here, which is no want of trust.
  await assert.rejects(remoteIssuer({ issuer: server.url, metrics, fetch: trusting.send }).keys({ alg: "ES256" }), {
    code: "ERR_JWKS_NO_MATCHING_KEY",
  });
  for (const kind of bad) {
    server.use(certificates[kind]);
    await assert.rejects(createOidcClient({ ...client, mapping, now: () => new Date(), metrics, fetch: trusting.send }).ready(), {
      code: "identity_provider_unavailable",
    });
  }
});
