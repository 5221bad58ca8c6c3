import assert from "node:assert/strict";
import { test, type TestContext } from "node:test";
import { Problem } from "#contract/problem.ts";
import { createBacklog } from "#events/relay/backlog.ts";
import { createKafkaSink } from "#events/relay/kafka-sink.ts";
import { createRelay } from "#events/relay/relay.ts";
import type { Database } from "#store/database.ts";
import { openRedis, type Redis } from "#store/redis.ts";
import { cleanUp } from "#testing/clean-up.ts";
import { testDatabase } from "#testing/database.ts";
import { graphChanged, testEvents } from "#testing/events.ts";
import { absentProvider, decidingPeer, gatewayModules, sharedDatabase, testGateway } from "#testing/gateway.ts";
import { requireProgram } from "#testing/programs.ts";
import { startRedisServer, type RedisServer } from "#testing/redis-server.ts";
import { until } from "#testing/until.ts";
import { silentLog } from "#telemetry/log.ts";
import { createMetrics } from "#telemetry/metrics.ts";
import { createHealthChecks } from "./health-checks.ts";

const database = sharedDatabase();
type Body = Readonly<Record<string, unknown>>;
type Part = "database" | "identity_provider" | "pdp" | "crud" | "membership" | "secrets" | "redis";
const pages = ["", "/redis", "/ready", "/live"] as const;

/** A gateway whose every part can be taken away; `store`: where its sessions are. */
const world = async (t: TestContext, redis?: Redis, store: "database" | "redis" = "database") => {
  const down = new Set<Part>();
  const away = (part: Part): Promise<void> => (down.has(part) ? Promise.reject(new Problem("store_unavailable")) : Promise.resolve());
  const base = await database();
  const losable: Database = { ...base, ready: async () => (await away("database"), base.ready()) };
  const pdp = decidingPeer(() => true);
  const made = await testGateway(t, {
    database: losable,
    settings: { SESSION_STORE: store },
    peers: {
      crud: async () => (await away("crud"), Response.json({ status: "ready" })),
      membership: async () => (await away("membership"), Response.json({ status: "ready" })),
      secrets: async () => (await away("secrets"), Response.json({ status: "ready" })),
      pdp: async (request) => (await away("pdp"), pdp.peer(request)),
    },
    parts: { oidc: absentProvider({ ready: () => away("identity_provider") }), ...(redis === undefined ? {} : { redis }) },
  });
  const look = async () =>
    Object.fromEntries(
      await Promise.all(
        pages.map(async (page) => {
          const response = await made.fetch(`/api/v1/health${page}`);
          assert.equal(response.headers.get("cache-control"), "no-store", page);
          assert.equal(response.headers.get("retry-after"), response.status === 503 ? "5" : null, page);
          return [page, { status: response.status, body: (await response.json()) as Body }] as const;
        }),
      ),
    ) as Record<(typeof pages)[number], { readonly status: number; readonly body: Body }>;
  return { made, down, look };
};

/** What differs from look to look is checked for its form, and replaced by the name of the form. */
const shapeOf = (value: unknown, name = ""): unknown => {
  if (name === "latency_ms" || name === "uptime_s") return assert.ok(typeof value === "number" && value >= 0, name) ?? "number";
  if (name === "since" || name === "timestamp") return assert.match(String(value), /^\d{4}-\d\d-\d\dT[\d:.]+Z$/) ?? "time";
  if (typeof value !== "object" || value === null || Array.isArray(value)) return value;
  return Object.fromEntries(Object.entries(value).map(([key, item]) => [key, shapeOf(item, key)]));
};
const check = (status: string) => ({ status, latency_ms: "number", since: "time" });

interface Row {
  readonly what: string;
  readonly lost?: Part;
  readonly redis?: "up" | "down";
  readonly store?: "database" | "redis";
  readonly isDraining?: boolean;
  readonly overall: readonly [status: number, word: string];
  readonly reasons?: readonly string[];
}
const rows: readonly Row[] = [
  { what: "all is well", overall: [200, "healthy"] },
  { what: "all is well, with a Redis", redis: "up", overall: [200, "healthy"] },
  { what: "all is well, with sessions in Redis", redis: "up", store: "redis", overall: [200, "healthy"] },
  { what: "the identity provider is down", lost: "identity_provider", overall: [200, "degraded"] },
  { what: "the decision point is down", lost: "pdp", overall: [200, "degraded"] },
  { what: "the tool server is down", lost: "crud", overall: [200, "degraded"] },
  { what: "membership is down", lost: "membership", overall: [200, "degraded"] },
  { what: "the secrets are down", lost: "secrets", overall: [200, "degraded"] },
  { what: "the database with the sessions is down", lost: "database", overall: [503, "unhealthy"], reasons: ["session_store"] },
  { what: "the database is down, the sessions are in Redis", lost: "database", redis: "up", store: "redis", overall: [503, "unhealthy"] },
  { what: "Redis is down, the sessions are elsewhere", redis: "down", overall: [503, "unhealthy"], reasons: ["redis"] },
  {
    what: "Redis is down with the sessions",
    redis: "down",
    store: "redis",
    overall: [503, "unhealthy"],
    reasons: ["session_store", "redis"],
  },
  { what: "Sallyport is draining", isDraining: true, overall: [200, "healthy"], reasons: ["draining"] },
];

for (const row of rows)
  test(`health, when ${row.what}`, async (t) => {
    let server: RedisServer | undefined;
    let redis: Redis | undefined;
    if (row.redis !== undefined) {
      const program = requireProgram(t, "redis-server");
      if (program === undefined) return;
      server = await startRedisServer(t, program);
      const opened = await openRedis({ url: server.url, log: { info: () => {}, warn: () => {}, error: () => {} } });
      cleanUp(t, () => opened[Symbol.asyncDispose]());
      redis = opened;
    }
    const { made, down, look } = await world(t, redis, row.store);
    if (row.lost !== undefined) down.add(row.lost);
    if (row.redis === "down") await server?.kill();
    if (row.isDraining === true) made.gateway.drain();
    // A Redis that goes is noticed by each connection to it: that of the questions, and that of the changes where sessions are in it.
    const changeFeed = row.redis === "down" && row.store === "redis" ? "down" : "up";
    const hasGone = ({ status, body }: { readonly status: number; readonly body: Body }): boolean =>
      status === 503 && body["change_feed"] === changeFeed;
    const seen = await until(look, (pagesNow) => row.redis !== "down" || hasGone(pagesNow["/redis"]));
    const redisStatus = row.redis ?? "not_configured";
    const part = (name: Part): object => check(row.lost === name ? "down" : "up");
    assert.deepEqual(shapeOf(seen[""]), {
      status: row.overall[0],
      body: {
        status: row.overall[1],
        version: "test",
        timestamp: "time",
        redis: { status: redisStatus, latency_ms: "number" },
        checks: {
          redis: check(redisStatus),
          database: part("database"),
          identity_provider: part("identity_provider"),
          pdp: part("pdp"),
          crud: part("crud"),
          membership: part("membership"),
          secrets: part("secrets"),
        },
      },
    });
    assert.deepEqual(shapeOf(seen["/redis"]), {
      status: row.redis === "down" ? 503 : 200,
      body: {
        status: redisStatus,
        configured: row.redis !== undefined,
        latency_ms: "number",
        change_feed: changeFeed,
      },
    });
    assert.deepEqual(
      seen["/ready"],
      row.reasons === undefined
        ? { status: 200, body: { status: "ready" } }
        : { status: 503, body: { status: "not_ready", reasons: row.reasons } },
    );
    assert.deepEqual(shapeOf(seen["/live"]), { status: 200, body: { status: "alive", uptime_s: "number" } });
  });

for (const [what, said, expected] of [
  ["ready", () => Response.json({ status: "ready" }), { status: "up" }],
  [
    "not ready, and says why",
    () => Response.json({ code: "pdp_unavailable", reasons: ["decision_point"] }, { status: 503 }),
    { status: "down", reasons: ["decision_point"] },
  ],
  [
    "ready, but for a part of its work",
    () => Response.json({ status: "degraded", degraded: ["vaulta+kv2:sealed"] }),
    { status: "degraded", reasons: ["vaulta+kv2:sealed"] },
  ],
  ["not ready in words that are nobody's", () => Response.json({ reasons: ["<b>"] }, { status: 503 }), { status: "down" }],
  ["refusing", () => new Response("no", { status: 500 }), { status: "down" }],
  ["another's, without readiness but with metadata", undefined, { status: "up" }],
] as const)
  test(`health asks the decision service whether it can decide: one that is ${what}`, async (t) => {
    const pdp = decidingPeer(() => true);
    const made = await testGateway(t, {
      database: await database(),
      peers: {
        crud: async () => Response.json({ status: "ready" }),
        membership: async () => Response.json({ status: "ready" }),
        secrets: async () => Response.json({ status: "ready" }),
        pdp: async (request) => {
          if (new URL(request.url).pathname !== "/health/ready") return pdp.peer(request);
          return said === undefined ? new Response(null, { status: 404 }) : said();
        },
      },
      parts: { oidc: absentProvider({ ready: async () => {} }) },
    });
    const overall = await made.fetch("/api/v1/health");
    const body = (await overall.json()) as { status: string; checks: { pdp: Body } };
    const { latency_ms: _latency, since: _since, ...rest } = body.checks.pdp;
    assert.deepEqual([overall.status, body.status, rest], [200, expected.status === "up" ? "healthy" : "degraded", expected]);
    assert.equal((await made.fetch("/api/v1/health/ready")).status, 200, "readiness is about sessions alone");
  });

test("health and readiness never say two things of one store, however soon one looks after it went", async (t) => {
  let isUp = true;
  let asked = 0;
  const redis = {
    ready: async () => {
      asked += 1;
      if (!isUp) throw new Problem("session_store_unavailable");
    },
  } as unknown as Redis;
  const { look } = await world(t, redis);
  const said = async (): Promise<readonly unknown[]> => {
    const pages = await look();
    return [pages[""].body["redis"], pages["/redis"].body["status"], pages["/ready"].status].map((one) =>
      typeof one === "object" ? (one as { status: string }).status : one,
    );
  };
  assert.deepEqual(await said(), ["up", "up", 200]);
  isUp = false;
  const before = asked;
  const seen = await until(said, (now) => now[0] === "down");
  assert.deepEqual(seen, ["down", "down", 503], "all of them at once");
  assert.ok(asked > before);
  isUp = true;
  assert.deepEqual(await until(said, (now) => now[0] === "up"), ["up", "up", 200]);
});

test("each page of health is read alone", async (t) => {
  const { made } = await world(t);
  assert.equal((await made.fetch("/api/v1/health/other")).status, 404);
  for (const page of pages) assert.equal((await made.fetch(`/api/v1/health${page}`, { method: "POST", body: "{}" })).status, 405, page);
});

test("a part says since when it is as it is, and is asked once in three seconds however often one looks", async (t) => {
  let at = 1000;
  t.mock.method(performance, "now", () => at);
  let asked = 0;
  let isUp = true;
  let clock = 0;
  const checks = createHealthChecks(
    {
      part: async () => {
        asked += 1;
        if (!isUp) throw new Error("down");
      },
    },
    { keptMs: 3000, now: () => new Date((clock += 1000)) },
  );
  const look = async () => (await checks())["part"];
  assert.deepEqual(
    [await look(), await look(), asked],
    [{ status: "up", latency_ms: 0, since: "1970-01-01T00:00:01.000Z" }, await look(), 1],
  );
  at += 3000;
  assert.deepEqual([(await look())?.since, asked], ["1970-01-01T00:00:01.000Z", 2], "unchanged since the first look");
  isUp = false;
  at += 3000;
  const fallen = await look();
  assert.deepEqual([fallen?.status, asked], ["down", 3]);
  assert.ok((fallen?.since ?? "") > "1970-01-01T00:00:01.000Z");
  isUp = true;
  at += 3000;
  assert.ok(((await look())?.since ?? "") > (fallen?.since ?? ""));
});

test("health, when Kafka is away: degraded and with how much waits since when, while readiness stays 200", async (t) => {
  const database = await testDatabase(t, gatewayModules);
  const common = { database, log: silentLog, metrics: createMetrics() };
  const backlog = createBacklog({ ...common, maxRows: 1000, everyMs: 20 });
  cleanUp(t, () => backlog[Symbol.asyncDispose]());
  const sink = createKafkaSink({
    brokers: ["127.0.0.1:1"],
    clientId: "test",
    idempotent: false,
    compression: "none",
    deliveryTimeoutMs: 500,
    createTopics: true,
    replication: 1,
  });
  cleanUp(t, () => sink[Symbol.asyncDispose]());
  const instance = { instanceId: "acme.example", publicOrigin: "https://acme.example", topicPrefix: "" };
  const relay = createRelay({ ...common, ...instance, sink, backlog, maxAttempts: 3, deliveryTimeoutMs: 500, everyMs: 20 });
  cleanUp(t, () => relay[Symbol.asyncDispose]());
  const { change } = await testEvents(t, database, { sink: backlog });
  const ready = async () => Response.json({ status: "ready" });
  const peers = { crud: ready, membership: ready, secrets: ready, pdp: decidingPeer(() => true).peer };
  const made = await testGateway(t, { database, peers, parts: { oidc: absentProvider({ ready: async () => undefined }), backlog } });
  const look = async (page: string) => {
    const response = await made.fetch(`/api/v1/health${page}`);
    return { status: response.status, body: (await response.json()) as Body };
  };
  await change(async () => ({ result: undefined, events: [graphChanged("graph", 1), graphChanged("graph", 2)] }));
  await until(() => backlog.issues().includes("pending 2"));
  const { status, body } = await look("");
  assert.deepEqual([status, body["status"]], [200, "degraded"]);
  const { kafka, ...others } = body["checks"] as Record<string, { readonly status: string; readonly reasons?: readonly string[] }>;
  assert.equal(kafka?.status, "down");
  assert.ok(Object.values(others).every((other) => other.status !== "down"));
  assert.match(kafka.reasons?.join("; ") ?? "", /^\S.*; pending 2; oldest \d+ s$/);
  assert.deepEqual(await look("/ready"), { status: 200, body: { status: "ready" } });
});
