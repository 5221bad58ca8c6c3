import assert from "node:assert/strict";
import { spawn } from "node:child_process";
import { once } from "node:events";
import { mkdtemp, readFile, rm, writeFile } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { test, type TestContext } from "node:test";
import { createTokenExchange } from "#authn/exchange/exchange.ts";
import { hashSid } from "#gateway/sessions/session-id.ts";
import { createSessionKeys } from "#gateway/sessions/session-keys.ts";
import { metricTable, createMetrics, type MetricRow } from "#telemetry/metrics.ts";
import { silentLog } from "#telemetry/log.ts";
import { cleanUp } from "#testing/clean-up.ts";
import { testDatabase } from "#testing/database.ts";
import { formBrowser } from "#testing/form-browser.ts";
import { freePort } from "#testing/free-port.ts";
import { decidingPeer, rawExchange, recordingPeer, testGateway, wideRates } from "#testing/gateway.ts";
import { serverUpstream } from "#testing/http-upstream.ts";
import { testIdentity } from "#testing/identity.ts";
import { testIssuer } from "#testing/issuer.ts";
import { testOidcClient } from "#testing/oidc-client.ts";
import { requireProgram } from "#testing/programs.ts";
import { until } from "#testing/until.ts";

const routes = `
version: 1
services:
  crud: { base_urls: ["\${CRUD_SERVICE_URL}"], audience: "\${CRUD_AUDIENCE}" }
  far: { base_urls: ["http://far.example"], audience: "https://far.example" }
  dead: { base_urls: ["http://127.0.0.1:DEAD"], audience: "https://dead.example" }
  gone: { base_urls: ["http://127.0.0.1:DEAD"], audience: "https://gone.example" }
routes:
  - { id: own, path: /own/*, target_service: crud, upstream_path: "/{path}", methods: [GET, POST], auth: session, authz: none }
  - { id: tokens, path: /tokens/*, target_service: crud, upstream_path: "/{path}", methods: [GET], auth: bearer, authz: none }
  - { id: decided, path: /decided, target_service: crud, upstream_path: /x, methods: [GET], auth: session, authz: pdp, authz_map: { GET: { resource: streams, action: config } } }
  - { id: kept, path: /kept, target_service: far, upstream_path: /x, methods: [GET], auth: session, authz: none, token_policy: { mode: service_token, cache_ttl: 1 } }
  - { id: dead, path: /dead, target_service: dead, upstream_path: /x, methods: [GET], auth: session, authz: none }
  - { id: gone, path: /gone, target_service: gone, upstream_path: /x, methods: [GET], auth: session, authz: none }
`;

/** The gateway before the embedded issuer, with every metric of the process in one table. */
const world = async (t: TestContext) => {
  const metrics = createMetrics();
  const now = () => new Date();
  const database = await testDatabase(t, ["events", "authn", "gateway"]);
  const provider = await testIssuer(t, database);
  const oidc = testOidcClient(provider, { now, metrics });
  const identity = testIdentity({ now, metrics });
  const far = await serverUpstream(t);
  const made = await testGateway(t, {
    database,
    routes: routes.replace("http://far.example", far.url).replaceAll("DEAD", String(await freePort())),
    identity,
    peers: { crud: recordingPeer().peer, pdp: decidingPeer(() => true).peer },
    settings: { RATE_LIMITS: wideRates.replace("ingest=1000000/s", "ingest=1/min:2"), SESSION_BINDING_NETWORK: "on" },
    parts: {
      metrics,
      roundsEveryMs: 20,
      // The embedded issuer gives nobody a token for a service of others; what such a provider gives is kept and counted alike.
      oidc: { ...oidc, clientCredentials: async () => ({ accessToken: "of-the-gateway", accessExpiresAt: now().getTime() / 1000 + 900 }) },
      tokenExchange: createTokenExchange({
        clients: [],
        check: identity.verify,
        serviceKeys: identity.serviceKeys,
        audiences: [],
        endpoint: "http://localhost:8080/oauth/token",
        isFirstUse: async () => true,
        now,
        metrics,
        log: silentLog,
      } as unknown as Parameters<typeof createTokenExchange>[0]),
    },
  });
  const send = (url: string, init: RequestInit) =>
    url.startsWith(made.origin) ? made.gateway.fetch(new Request(url, init)) : fetch(url, init);
  const signIn = async (): Promise<string> => {
    const browser = formBrowser(send);
    const page = await browser.open(`${made.origin}/auth/login`);
    const signedIn = await browser.submit(page, { login: "ben", password: "sallyport" });
    assert.equal(signedIn.url.origin, made.origin);
    return [...browser.cookies].map(([name, value]) => `${name}=${value}`).join("; ");
  };
  const cookie = await signIn();
  const call = async (path: string, init: RequestInit = {}): Promise<number> => {
    const response = await made.fetch(path, init);
    await response.text();
    return response.status;
  };
  const keys = createSessionKeys(identity.secrets);
  /** The refresh token that the issuer gave at a sign-in. */
  const refreshTokenOf = async (signedIn: string): Promise<string> => {
    const sid = /sid_[0-9]+=([^;]+)/.exec(signedIn)?.[1] ?? "";
    const record = await made.store.read(hashSid(sid));
    const token = record && keys.openTokens(record)?.refreshToken;
    assert.ok(token, "the issuer gave a refresh token");
    return token;
  };
  return { made, metrics, cookie, call, signIn, refreshTokenOf };
};
type World = Awaited<ReturnType<typeof world>>;

const longAgo = new Date(Date.now() - 60_000);
const ingest = (body: unknown): RequestInit => ({
  method: "POST",
  headers: { "content-type": "application/json" },
  body: JSON.stringify(body),
});

/** What the code of each metric must see for it to move. */
const movers: Readonly<Record<string, (world: World) => Promise<unknown>>> = {
  http_requests_total: ({ call }) => call("/api/v1/health/live"),
  http_request_duration_seconds: ({ call }) => call("/api/v1/health/live"),
  bff_sessions_created_total: ({ signIn }) => signIn(),
  bff_token_validation_total: async ({ made, call }) =>
    call("/tokens/x", {
      headers: { authorization: `Bearer ${await made.identity.tokenFor({ sub: "person:ben", tenant: "tenant:acme", scopes: [] })}` },
    }),
  bff_verify_duration_seconds: ({ call, cookie }) => call("/auth/verify", { headers: { cookie } }),
  bff_session_binding_failures_total: async ({ made, call }) => {
    const { cookie } = await made.signIn("person:ben", { netHash: "of-another-network" });
    await call("/own/x", { headers: cookie });
  },
  bff_csrf_violations_total: ({ call, cookie }) => call("/own/x", { method: "POST", headers: { cookie } }),
  bff_security_events_total: ({ call }) => call("/auth/verify", { headers: { "x-forwarded-uri": "/x" } }),
  bff_authz_requests_total: ({ call, cookie }) => call("/decided", { headers: { cookie } }),
  bff_authz_latency_seconds: ({ call, cookie }) => call("/decided", { headers: { cookie } }),
  bff_idp_requests_total: ({ call }) => call("/auth/login"),
  bff_idp_latency_seconds: ({ call }) => call("/auth/login"),
  bff_token_refresh_total: async ({ made, call }) => {
    const refused = await made.signIn("person:ben", { accessExpiresAt: longAgo, refreshToken: "known-to-nobody" });
    await call("/own/x", { headers: refused.cookie });
  },
  bff_token_refresh_failed_total: async ({ made, call }) => {
    const refused = await made.signIn("person:ben", { accessExpiresAt: longAgo, refreshToken: "known-to-nobody" });
    await call("/own/x", { headers: refused.cookie });
  },
  bff_token_refresh_success_total: async ({ made, call, signIn, refreshTokenOf }) => {
    const refreshToken = await refreshTokenOf(await signIn());
    const { cookie } = await made.signIn("person:ben", { accessExpiresAt: longAgo, refreshToken });
    assert.equal(await call("/own/x", { headers: cookie }), 200);
  },
  bff_token_expiry_total: async ({ metrics, call, cookie }) => {
    const look = async (): Promise<number> => {
      assert.equal(await call("/kept", { headers: { cookie } }), 200);
      return sumOf(await metrics.text(), "bff_token_expiry_total");
    };
    await until(look, (now) => now > 0);
  },
  circuit_breaker_status: async ({ call, cookie }) => {
    for (let index = 0; index < 20; index++) assert.equal(await call("/dead", { headers: { cookie } }), 503);
  },
  circuit_breaks_total: async ({ call, cookie }) => {
    for (let index = 0; index < 20; index++) assert.equal(await call("/gone", { headers: { cookie } }), 503);
  },
  bff_token_exchange_total: ({ call }) =>
    call("/oauth/token", { method: "POST", headers: { "content-type": "application/x-www-form-urlencoded" }, body: "grant_type=x" }),
  bff_public_metrics_total: ({ call }) => call("/api/v1/metrics", ingest({ event: "page.seen" })),
  bff_rate_limit_violations_total: async ({ call }) => {
    for (let index = 0; index < 3; index++) await call("/api/v1/metrics", ingest({ event: "page.seen" }));
  },
  // The rounds of Sallyport alone move these.
  bff_background_tasks_total: async () => undefined,
  bff_background_task_duration_seconds: async () => undefined,
  bff_sessions_destroyed_total: async ({ made, call }) => {
    const { headers } = await made.signIn("person:ada");
    await call("/auth/logout", { method: "POST", headers, body: "{}" });
  },
  bff_oauth_flow_duration_seconds: async ({ made, call }) => {
    const { headers } = await made.signIn("person:ada");
    await call("/auth/logout", { method: "POST", headers, body: "{}" });
  },
};

/** Moved by code that only an instance with a Redis or a Kafka has: there it is tried. */
const elsewhere: Readonly<Record<string, string>> = {
  bff_redis_operations_total: "e2e/metrics.test.ts",
  bff_redis_latency_seconds: "e2e/metrics.test.ts",
  bff_kafka_messages_total: "src/events/relay/relay.test.ts",
};

/** Sum of all series of a metric; of a histogram, of its observations. */
const sumOf = (text: string, name: string): number =>
  text
    .split("\n")
    .filter((line) => line.startsWith(`${name}{`) || line.startsWith(`${name} `) || line.startsWith(`${name}_count`))
    .reduce((sum, line) => sum + Number(line.slice(line.lastIndexOf(" ") + 1)), 0);

const contractMetrics = Object.entries<MetricRow>(metricTable).flatMap(([name, row]) =>
  /^(?:http_|bff_|circuit_)/.test(name) && row.otlp !== "only" ? [name] : [],
);

test("every metric of the contract moves with what it counts", async (t) => {
  const opened = await world(t);
  const listed = [...Object.keys(movers), ...Object.keys(elsewhere), "bff_active_sessions_total"];
  assert.deepEqual(listed.toSorted(), contractMetrics.toSorted());
  for (const [name, file] of Object.entries(elsewhere))
    assert.ok((await readFile(join(import.meta.dirname, "../../..", file), "utf8")).includes(name), `${file} moves ${name}`);
  await t.test("bff_active_sessions_total", async () => {
    opened.metrics.set("bff_active_sessions_total", {}, -1);
    const shown = async (): Promise<number> => sumOf(await opened.metrics.text(), "bff_active_sessions_total");
    await until(shown, (now) => now === 1);
  });
  for (const [name, move] of Object.entries(movers))
    await t.test(name, async () => {
      const before = sumOf(await opened.metrics.text(), name);
      await move(opened);
      const moved = async (): Promise<number> => sumOf(await opened.metrics.text(), name);
      await until(moved, (now) => now > before);
    });
});

test("the exposition is what Prometheus reads, without a complaint", async (t) => {
  const promtool = requireProgram(t, "promtool");
  if (promtool === undefined) return;
  const { call, metrics } = await world(t);
  await call("/api/v1/metrics", ingest({ event: "page.seen" }));
  const child = spawn(promtool, ["check", "metrics"], { stdio: ["pipe", "pipe", "pipe"] });
  let said = "";
  for (const output of [child.stdout, child.stderr]) output.on("data", (chunk) => (said += String(chunk)));
  child.stdin.end(await metrics.text());
  const [exitCode] = (await once(child, "close")) as [number | null];
  assert.deepEqual([exitCode, said.trim()], [0, ""]);
  assert.match(await metrics.text(), /^# TYPE bff_active_sessions_total untyped\nbff_active_sessions_total \d+$/m);
});

test("what docs/howto/monitoring.md says to alert on, Prometheus takes, and it names metrics and labels that there are", async (t) => {
  const promtool = requireProgram(t, "promtool");
  if (promtool === undefined) return;
  const text = await readFile(join(import.meta.dirname, "../../../docs/howto/monitoring.md"), "utf8");
  const rules = [...text.matchAll(/^\| [^|]+ \| `([^`]+)` \|/gm)].map(([, expr = ""]) => expr).filter((expr) => expr.includes("rate("));
  assert.equal(rules.length, 5);
  const table: Readonly<Record<string, MetricRow>> = metricTable;
  for (const expr of rules)
    for (const [, name = "", labels = ""] of expr.matchAll(/([a-z_]+_total)(?:\{([^}]*)\})?/g)) {
      assert.ok(name in table, name);
      for (const [label] of labels.matchAll(/[a-z_]+(?=[=!]=?~?")/g))
        assert.ok(table[name]?.labels.includes(label), `${name} has ${label}`);
    }
  const folder = await mkdtemp(join(tmpdir(), "gateway-alerts-"));
  cleanUp(t, () => rm(folder, { recursive: true }));
  const file = join(folder, "alerts.json");
  await writeFile(
    file,
    JSON.stringify({ groups: [{ name: "sallyport", rules: rules.map((expr, index) => ({ alert: `Alert${index}`, expr })) }] }),
  );
  const child = spawn(promtool, ["check", "rules", file], { stdio: ["ignore", "pipe", "pipe"] });
  let said = "";
  for (const output of [child.stdout, child.stderr]) output.on("data", (chunk) => (said += String(chunk)));
  const [code] = (await once(child, "close")) as [number];
  assert.deepEqual([code, /5 rules found/.test(said)], [0, true], said);
});

test("ten thousand random methods, paths, hosts and persons add no series", async (t) => {
  const { made, metrics, cookie, call } = await world(t);
  const { port } = await made.gateway.listen({ port: 0, hosts: ["127.0.0.1"] });
  const random = () => crypto.randomUUID().replaceAll("-", "");
  const round = async (count: number): Promise<void> => {
    for (let index = 0; index < count; index++) {
      await call(`/${random()}`);
      await call(`/own/${random()}?${random()}=${random()}`, { headers: { cookie, "x-user-id": random(), "user-agent": random() } });
      await call("/tokens/x", { headers: { authorization: `Bearer ${random()}` } });
      await call(`/decided`, { headers: { cookie: `sallyport_dev_sid_8080=${random()}` } });
    }
  };
  const raw = (count: number) =>
    Promise.all(
      Array.from({ length: count }, () =>
        rawExchange(port, `${random().toUpperCase()} /${random()} HTTP/1.1\r\nHost: ${random()}\r\n\r\n`),
      ),
    );
  await round(5);
  await raw(5);
  const series = (text: string) => text.match(/^[^#\s][^ ]*(?= )/gm) ?? [];
  const before = new Set(series(await metrics.text()));
  await round(2450);
  await raw(200);
  assert.deepEqual(
    // What Sallyport does by itself begins by the clock.
    series(await metrics.text()).filter((name) => !before.has(name) && !name.startsWith("bff_background_task")),
    [],
  );
});
