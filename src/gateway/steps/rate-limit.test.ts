import assert from "node:assert/strict";
import { mkdtemp, rm, writeFile } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { test, type TestContext } from "node:test";
import { Problem } from "#contract/problem.ts";
import type { Database } from "#store/database.ts";
import { openRedis } from "#store/redis.ts";
import { silentLog } from "#telemetry/log.ts";
import { cleanUp } from "#testing/clean-up.ts";
import { decidingPeer, rawExchange, recordingPeer, sharedDatabase, testGateway, type TestGatewayOptions } from "#testing/gateway.ts";
import { requireProgram } from "#testing/programs.ts";
import { startRedisServer } from "#testing/redis-server.ts";

const database = sharedDatabase();

const routes = `
version: 1
services: { crud: { base_urls: ["\${CRUD_SERVICE_URL}"], audience: "\${CRUD_AUDIENCE}" } }
routes:
  - { id: open, path: /open/*, target_service: crud, upstream_path: "/{path}", methods: [GET], auth: none, authz: none }
  - { id: tight, path: /tight/*, target_service: crud, upstream_path: "/{path}", methods: [GET], auth: none, authz: none, rate: ingest }
  - { id: own, path: /own/*, target_service: crud, upstream_path: "/{path}", methods: [GET, POST], auth: session, authz: none }
  - { id: tokens, path: /tokens/*, target_service: crud, upstream_path: "/{path}", methods: [GET], auth: bearer, authz: none }
`;

const world = async (t: TestContext, rates: string, more: Partial<TestGatewayOptions> = {}) => {
  const crud = recordingPeer();
  const made = await testGateway(t, {
    database: await database(),
    routes,
    peers: { crud: crud.peer },
    ...more,
    settings: { RATE_LIMITS: rates, ...more.settings },
  });
  const status = async (path: string, headers: Readonly<Record<string, string>> = {}, method = "GET") => {
    const response = await made.fetch(path, { headers, method });
    await response.text();
    return response.status;
  };
  return { made, crud, status };
};

test("an address has its share of what is open to all; beyond it 429 says when to come back", async (t) => {
  const { made, crud, status } = await world(t, "anonymous=1/min:3,ingest=1/min:2");
  for (let index = 0; index < 3; index++) assert.equal(await status("/open/x"), 200);
  const refused = await made.fetch("/open/x");
  const body = (await refused.json()) as { code: string };
  assert.deepEqual([refused.status, body.code], [429, "rate_limited"]);
  assert.match(refused.headers.get("retry-after") ?? "", /^(?:60|59)$/);
  assert.match(refused.headers.get("ratelimit") ?? "", /^"anonymous";r=0;t=(?:60|59)$/);
  assert.equal(refused.headers.get("ratelimit-policy"), '"anonymous";q=3;w=180');
  assert.equal(crud.seen.length, 3, "nothing went through");
  assert.equal(await made.counted("bff_rate_limit_violations_total", { client_id: "anonymous" }), 1);
  assert.equal(await status("/tight/x"), 200, "another class has its own");
  assert.equal(await status("/tight/x"), 200);
  assert.equal(await status("/tight/x"), 429);
  const ben = await made.signIn("person:ben");
  assert.equal(await status("/own/x", ben.cookie), 200, "who is known does not pay for the address");
});

test("sign-in and client metrics have limits of their own, probes and scrapes have none", async (t) => {
  const { made, status } = await world(t, "login=1/min:2,ingest=1/min:2,anonymous=1/min:1");
  for (const expected of [503, 503, 429]) assert.equal(await status("/auth/login"), expected);
  const send = () =>
    made.fetch("/api/v1/metrics", { method: "POST", headers: { "content-type": "application/json" }, body: '{"event":"page.seen"}' });
  for (const expected of [202, 202, 429]) assert.equal((await send()).status, expected);
  assert.equal(await status("/auth/session"), 200);
  assert.equal(await status("/auth/session"), 429);
  for (let index = 0; index < 20; index++) {
    assert.equal(await status("/api/v1/health/live"), 200);
    assert.equal(await status("/metrics"), 200);
  }
  assert.deepEqual(
    await Promise.all(["login", "ingest", "anonymous"].map((name) => made.counted("bff_rate_limit_violations_total", { client_id: name }))),
    [1, 1, 1],
  );
});

test("sessions are counted one by one, and so are the persons of one client", async (t) => {
  const { made, status } = await world(t, "session=1/min:2,bearer=1/min:2");
  const ben = await made.signIn("person:ben");
  const again = await made.signIn("person:ben");
  for (const expected of [200, 200, 429]) assert.equal(await status("/own/x", ben.cookie), expected);
  assert.equal(await status("/own/x", again.cookie), 200);
  const token = async (sub: string) => ({
    authorization: `Bearer ${await made.identity.tokenFor({ sub, tenant: "tenant:acme", scopes: [], clientId: "sallyport-web" })}`,
  });
  for (const expected of [200, 200, 429]) assert.equal(await status("/tokens/x", await token("person:ben")), expected);
  assert.equal(await status("/tokens/x", await token("person:ada")), 200);
  assert.equal(await made.counted("bff_rate_limit_violations_total", { client_id: "sallyport-web" }), 1);
  assert.equal(await made.counted("bff_rate_limit_violations_total", { client_id: "session" }), 1);
});

test("made-up credentials are charged to their address, then nobody looks them up; known neighbours go on", async (t) => {
  const { made, status } = await world(t, "anonymous=1/min:5");
  const ben = await made.signIn("person:ben");
  const cookieName = ben.cookie.cookie.split("=")[0];
  const guess = () => ({ cookie: `${cookieName}=${Buffer.from(crypto.getRandomValues(new Uint8Array(32))).toString("base64url")}` });
  assert.equal(await status("/own/x", guess()), 401);
  assert.equal(await status("/own/x", ben.cookie), 200);
  for (let index = 0; index < 4; index++) assert.equal(await status("/own/x", guess()), 401);
  const before = (await made.metrics.text()).match(/^bff_token_validation_total.*$/gm);
  for (let index = 0; index < 5; index++) assert.equal(await status("/own/x", guess()), 429);
  assert.equal(await status("/tokens/x", { authorization: "Bearer nonsense" }), 429);
  assert.deepEqual((await made.metrics.text()).match(/^bff_token_validation_total.*$/gm), before, "the token was not looked at");
  assert.equal(await status("/own/x", ben.cookie), 200, "the neighbour's session was seen to be good");
});

test("a request that is refused for its CSRF headers is charged too", async (t) => {
  const { made, status } = await world(t, "anonymous=1/min:2");
  const { cookie } = await made.signIn("person:ben");
  for (const expected of [403, 403, 429]) assert.equal(await status("/own/x", cookie, "POST"), expected);
});

test("behind a trusted proxy each client has its own share; IPv6 clients have one a site", async (t) => {
  const { made } = await world(t, "anonymous=1/min:1", { settings: { TRUSTED_PROXIES: "127.0.0.1" } });
  const { port } = await made.gateway.listen({ port: 0, hosts: ["127.0.0.1"] });
  const from = async (address: string) => {
    const { answers } = await rawExchange(
      port,
      `GET /open/x HTTP/1.1\r\nHost: localhost:8080\r\nX-Forwarded-For: 203.0.113.66, ${address}\r\n\r\n`,
    );
    return answers[0]?.status;
  };
  assert.deepEqual(
    [await from("192.0.2.1"), await from("192.0.2.1"), await from("192.0.2.2"), await from("2001:db8::1"), await from("2001:db8::2")],
    [200, 429, 200, 200, 429],
  );
  assert.equal(await from("2001:db8:0:1::1"), 200);
});

test("nobody talks their way out of the limit with forwarding headers of their own", async (t) => {
  const { status } = await world(t, "anonymous=1/min:1");
  assert.equal(await status("/open/x", { "x-forwarded-for": "192.0.2.1" }), 200);
  assert.equal(await status("/open/x", { "x-forwarded-for": "192.0.2.2" }), 429);
});

test("two replicas on one Redis share every limit; without it each goes on with its own", async (t) => {
  const program = requireProgram(t, "redis-server");
  if (program === undefined) return;
  const server = await startRedisServer(t, program);
  const open = async () => {
    const redis = await openRedis({ url: server.url, log: silentLog });
    cleanUp(t, () => redis[Symbol.asyncDispose]());
    return redis;
  };
  const one = await world(t, "anonymous=1/min:4", { parts: { redis: await open() } });
  const other = await world(t, "anonymous=1/min:4", { parts: { redis: await open() } });
  const seen = [];
  for (let index = 0; index < 6; index++) seen.push(await (index % 2 ? one : other).status("/open/x"));
  assert.deepEqual(seen, [200, 200, 200, 200, 429, 429]);
  await server.kill();
  for (const replica of [one, other])
    for (const expected of [200, 200, 200, 200, 429]) assert.equal(await replica.status("/open/x"), expected);
});

test("a row may only name a limit that its credential has", async (t) => {
  const bad = routes.replace("rate: ingest", "rate: session");
  await assert.rejects(testGateway(t, { database: await database(), routes: bad }), /session goes with auth: session/);
});

test("a credential that is looked up has its limit wherever it is brought, at the gateway's own pages too", async (t) => {
  const webFolder = await mkdtemp(join(tmpdir(), "web-"));
  cleanUp(t, () => rm(webFolder, { recursive: true }));
  await writeFile(join(webFolder, "index.html"), "<!doctype html>");
  let looked = 0;
  const base = await database();
  const watched: Database = {
    ...base,
    run: (wanted, values) => {
      if (wanted.name === "gateway.session_read") looked += 1;
      return base.run(wanted, values);
    },
  };
  const pdp = decidingPeer(() => true);
  const made = await testGateway(t, {
    database: watched,
    peers: { pdp: pdp.peer },
    settings: { RATE_LIMITS: "anonymous=1/min:3,session=1/min:4,bearer=1/min:4", TRUSTED_PROXIES: "127.0.0.0/8" },
    parts: {
      webFolder,
      verifierFor: () => async () => {
        looked += 1;
        throw new Problem("invalid_token");
      },
    },
  });
  const ben = await made.signIn("person:ben");
  const stranger = (index: number) => ({ cookie: ben.cookie.cookie.replace(ben.sid, `${index}`.padStart(43, "x")) });
  const rows: readonly (readonly [
    what: string,
    path: string,
    address: string,
    headersOf: (index: number) => Readonly<Record<string, string>>,
    statuses: readonly number[],
    looked: number,
    decided: number,
  ])[] = [
    ["unknown cookies at a page", "/tools", "192.0.2.1", stranger, [200, 200, 200, 429, 429], 3, 0],
    [
      "unknown tokens at the metrics",
      "/metrics",
      "192.0.2.2",
      (index) => ({ authorization: `Bearer ${index}` }),
      [401, 401, 401, 429, 429],
      3,
      0,
    ],
    ["one session at a page", "/tools", "192.0.2.3", () => ben.cookie, [200, 200, 200, 200, 429], 1, 4],
  ];
  for (const [what, path, address, headersOf, statuses, times, decided] of rows) {
    looked = 0;
    pdp.seen.length = 0;
    const got: number[] = [];
    for (const index of statuses.keys()) {
      const headers = { accept: "text/html", "x-forwarded-for": address, ...headersOf(index) };
      got.push((await made.fetch(path, { headers })).status);
    }
    assert.deepEqual([got, looked, pdp.seen.length], [statuses, times, decided], what);
  }
});
