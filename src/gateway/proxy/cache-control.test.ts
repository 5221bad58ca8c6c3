import assert from "node:assert/strict";
import { test } from "node:test";
import { recordingPeer, sharedDatabase, testGateway } from "#testing/gateway.ts";
import { personalCacheControl } from "./cache-control.ts";

const database = sharedDatabase();

const routes = `version: 1
services:
  crud: { base_urls: ["\${CRUD_SERVICE_URL}"], audience: "\${CRUD_AUDIENCE}" }
routes:
  - { id: open, path: /api/open/*, target_service: crud, upstream_path: "/{path}", methods: [GET], auth: none, authz: none }
  - { id: session, path: /api/s/*, target_service: crud, upstream_path: "/{path}", methods: [GET], auth: session, authz: none }
  - { id: bearer, path: /api/b/*, target_service: crud, upstream_path: "/{path}", methods: [GET], auth: bearer, authz: none }
`;

const cases: readonly (readonly [given: string | null, reported: string])[] = [
  [null, "no-store"],
  ["", "no-store"],
  [" , ,", "no-store"],
  ["max-age=60", "private, max-age=60"],
  ["s-maxage=60", "no-store"],
  ["S-MaxAge=60", "no-store"],
  ["s-maxage = 60", "no-store"],
  ['s-maxage="60"', "no-store"],
  ["public", "private"],
  ["Public, Max-Age=60", "private, Max-Age=60"],
  ["public, max-age=60, s-maxage=600", "private, max-age=60"],
  ["s-maxage=600, max-age=60", "private, max-age=60"],
  ["max-age=60,s-maxage=600,immutable", "private, max-age=60, immutable"],
  ["private, max-age=60", "private, max-age=60"],
  ["PRIVATE", "private"],
  ["no-cache", "private, no-cache"],
  ["must-revalidate, proxy-revalidate", "private, must-revalidate"],
  ["no-store", "no-store"],
  ["No-Store, max-age=0", "no-store, max-age=0"],
  ["public, no-store", "no-store"],
  // Of one header alone, or words that only look so.
  ['private="set-cookie", max-age=60', "private, max-age=60"],
  ['no-cache="x-private, public", max-age=60', 'private, no-cache="x-private, public", max-age=60'],
  ["x-private, max-age=60", "private, x-private, max-age=60"],
  ["not-public=1", "private, not-public=1"],
  // A text that is never closed hides nothing.
  ['x="no-store, max-age=60', "no-store, x=, max-age=60"],
  [`max-age=60, ${'x="\\'.repeat(400)}`, "no-store"],
];

for (const [given, reported] of cases)
  test(`Cache-Control ${JSON.stringify(given)?.slice(0, 60)} becomes ${JSON.stringify(reported)} for one person`, () => {
    const said = personalCacheControl(given);
    assert.equal(said, reported);
    assert.match(said, /^(?:private|no-store)(?:, |$)/);
  });

const rules = {
  "cdn-cache-control": "max-age=600",
  "cloudflare-cdn-cache-control": "max-age=600",
  "surrogate-control": "max-age=600",
  "edge-control": "max-age=600",
  "x-accel-expires": "600",
};

for (const [path, who, reported] of [
  ["/api/s/x", "a person", "private, max-age=60"],
  ["/api/b/x", "a client", "private, max-age=60"],
  ["/api/open/x", "nobody", "public, max-age=60, s-maxage=600"],
] as const)
  test(`an answer for ${who} says ${reported}, and what only shared caches read goes with it`, async (t) => {
    const upstream = recordingPeer();
    upstream.answer = () => new Response("{}", { headers: { "cache-control": "public, max-age=60, s-maxage=600", ...rules } });
    const made = await testGateway(t, { database: await database(), routes, peers: { crud: upstream.peer } });
    const { cookie } = await made.signIn("person:ben");
    const token = await made.identity.tokenFor({ sub: "person:ben", tenant: "tenant:acme", scopes: [] });
    const headers = path === "/api/b/x" ? { authorization: `Bearer ${token}` } : cookie;
    const answer = await made.fetch(path, { headers });
    assert.equal(answer.status, 200);
    assert.equal(answer.headers.get("cache-control"), reported);
    for (const name of Object.keys(rules)) assert.equal(answer.headers.has(name), who === "nobody", name);
  });
