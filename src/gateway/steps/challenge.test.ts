import assert from "node:assert/strict";
import { test } from "node:test";
import { extractWWWAuthenticateParams } from "@modelcontextprotocol/client";
import { recordingPeer, sharedDatabase, testGateway } from "#testing/gateway.ts";

const database = sharedDatabase();
const ORIGIN = "http://localhost:8080";
const routes = `version: 1
services:
  crud: { base_urls: ["\${CRUD_SERVICE_URL}"], audience: "\${CRUD_AUDIENCE}" }
routes:
  - { id: pair, path: /pair, target_service: crud, upstream_path: /x, methods: [GET, POST], auth: session, authz: none }
  - { id: pair.bearer, path: /pair, target_service: crud, upstream_path: /x, methods: [GET], auth: bearer, authz: none }
  - { id: tools, path: "/api/tools/{view}", target_service: crud, upstream_path: /x, methods: [GET], auth: session, authz: none }
  - { id: tools.bearer, path: "/api/tools/{view}", target_service: crud, upstream_path: /x, methods: [GET], auth: bearer, authz: none, bearer: { audiences: ["/mcp/{view}"], resource: "/mcp/{view}", scopes: [mcp.tools.invoke] } }
  - { id: session, path: /session, target_service: crud, upstream_path: /x, methods: [GET], auth: session, authz: none }
  - { id: bearer, path: /bearer, target_service: crud, upstream_path: /x, methods: [GET], auth: bearer, authz: none }
  - { id: elsewhere, path: /elsewhere, target_service: crud, upstream_path: /x, methods: [GET], auth: bearer, authz: none, bearer: { audiences: ["https://elsewhere.example"] } }
`;
const root = `resource_metadata="${ORIGIN}/.well-known/oauth-protected-resource"`;
const view = `resource_metadata="${ORIGIN}/.well-known/oauth-protected-resource/mcp/people", scope="mcp.tools.invoke"`;

for (const [path, headers, wanted] of [
  ["/pair", {}, `Bearer ${root}, Cookie`],
  ["/pair", { cookie: "sallyport_dev_sid_8080=x" }, `Bearer ${root}, Cookie`],
  ["/pair", { authorization: "Bearer x" }, `Bearer error="invalid_token", ${root}`],
  ["/api/tools/people", {}, `Bearer ${view}, Cookie`],
  ["/api/tools/people", { authorization: "Bearer x" }, `Bearer error="invalid_token", ${view}`],
  ["/session", {}, "Cookie"],
  ["/session", { authorization: "Bearer x" }, "Cookie"],
  ["/bearer", {}, `Bearer ${root}`],
  ["/bearer", { authorization: "Basic x" }, `Bearer error="invalid_token", ${root}`],
  ["/elsewhere", {}, "Bearer"],
] as const)
  test(`GET ${path} with ${Object.keys(headers).join() || "nothing"} is 401 and asks for ${wanted}`, async (t) => {
    const made = await testGateway(t, { database: await database(), routes, peers: { crud: recordingPeer().peer } });
    const refused = await made.fetch(path, { headers });
    assert.deepEqual([refused.status, refused.headers.get("www-authenticate")], [401, wanted]);
    const { resourceMetadataUrl } = extractWWWAuthenticateParams(refused);
    if (!wanted.includes("resource_metadata")) return assert.equal(resourceMetadataUrl, undefined);
    const { pathname } = resourceMetadataUrl ?? new URL("http://none");
    const metadata = (await (await made.fetch(pathname)).json()) as { resource: string };
    assert.equal(`/.well-known/oauth-protected-resource${metadata.resource.slice(ORIGIN.length)}`, pathname, "it names itself");
  });

test("a method that only a session may use asks for nothing else", async (t) => {
  const made = await testGateway(t, { database: await database(), routes, peers: { crud: recordingPeer().peer } });
  const refused = await made.fetch("/pair", { method: "POST", body: "{}", headers: { "content-type": "application/json" } });
  assert.deepEqual([refused.status, refused.headers.get("www-authenticate")], [401, "Cookie"]);
});
