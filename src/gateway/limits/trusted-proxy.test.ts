import assert from "node:assert/strict";
import { test, type TestContext } from "node:test";
import { createSessionKeys } from "#gateway/sessions/session-keys.ts";
import { openOtlp } from "#telemetry/otlp.ts";
import { silentLog } from "#telemetry/log.ts";
import { openTelemetry } from "#telemetry/open-telemetry.ts";
import type { Tracing } from "#telemetry/tracing.ts";
import { cleanUp } from "#testing/clean-up.ts";
import { sharedDatabase, testGateway } from "#testing/gateway.ts";
import { serverUpstream } from "#testing/http-upstream.ts";
import { testAudiences, testIdentity } from "#testing/identity.ts";
import { startCollector } from "#testing/otlp/collector.ts";
import { until } from "#testing/until.ts";

const database = sharedDatabase();
const traceId = "0af7651916cd43dd8448eb211c80319c";
const traceparent = `00-${traceId}-b7ad6b7169203331-01`;

/** A gateway whose every neighbour is a server of its own: a foreign one, one of Sallyport, and the decision point. */
const world = async (t: TestContext, settings: Readonly<Record<string, string>>, more: { readonly tracing?: Tracing } = {}) => {
  const [far, crud, pdp] = [await serverUpstream(t), await serverUpstream(t), await serverUpstream(t)];
  pdp.answer = (_request, response) =>
    void response
      .writeHead(200, { "content-type": "application/json" })
      .end(JSON.stringify({ decision: true, context: { decision_id: "d_5f6b3b0e-0000-4000-8000-000000000000" } }));
  const collector = await startCollector(t);
  const telemetry = openOtlp({
    endpoint: collector.url,
    service: "bff-service",
    version: "test",
    environment: "test",
    sampleRatio: 1,
    log: silentLog,
    everyMs: 50,
  });
  cleanUp(t, () => telemetry[Symbol.asyncDispose]());
  const identity = testIdentity({ now: () => new Date() });
  const made = await testGateway(t, {
    database: await database(),
    identity,
    settings,
    routes: `version: 1
services:
  far: { base_urls: ["${far.url}"], audience: "https://far.example" }
  crud: { base_urls: ["${crud.url}"], audience: "\${CRUD_AUDIENCE}" }
routes:
  - { id: far, path: /far/*, target_service: far, upstream_path: "/{path}", methods: [GET], auth: none, authz: none }
  - { id: near, path: /near, target_service: crud, preserve_path: true, methods: [GET], auth: session, authz: pdp, authz_map: { GET: { resource: pages, action: view_all } } }
`,
    parts: { peers: {}, serviceUrls: { ...testAudiences, pdp: pdp.url, crud: crud.url }, tracing: telemetry.tracing, ...more },
  });
  return { made, far, crud, pdp, collector, keys: createSessionKeys(identity.secrets) };
};

for (const [name, trusted, isBelieved] of [
  ["a trusted proxy's trace goes on through every server behind, and the client's address with it", "127.0.0.0/8", true],
  ["a stranger's trace and word on its address end at the ingress", "10.0.0.0/8", false],
] as const)
  test(name, async (t) => {
    const { made, far, crud, pdp, collector } = await world(t, { TRUSTED_PROXIES: trusted });
    const { cookie } = await made.signIn("person:ben");
    const headers = { ...cookie, traceparent, "x-forwarded-for": "203.0.113.5, 198.51.100.9" };
    for (const path of ["/far/x", "/near"]) {
      const response = await made.fetch(path, { headers });
      assert.equal(response.status, 200, await response.text());
    }
    await until(() => collector.spans.filter((span) => span.kind === 2).length >= 2);
    const seen = [far.seen.at(-1), crud.seen.at(-1), pdp.seen.at(-1)].map((request) => String(request?.headers["traceparent"]));
    for (const sent of seen) {
      const [, trace, span] = /^00-([0-9a-f]{32})-([0-9a-f]{16})-01$/.exec(sent) ?? [];
      assert.equal(trace === traceId, isBelieved, sent);
      assert.ok(
        collector.spans.some((one) => one.traceId === trace && one.spanId === span),
        "it names the span that asked",
      );
    }
    for (const root of collector.spans.filter((span) => span.kind === 2))
      assert.equal(root.parentSpanId, isBelieved ? "b7ad6b7169203331" : "");
    const address = isBelieved ? "198.51.100.9" : "127.0.0.1";
    assert.deepEqual([far.seen.at(-1)?.headers["x-forwarded-for"], crud.seen.at(-1)?.headers["x-forwarded-for"]], [address, address]);
    const asked = JSON.parse(pdp.seen.at(-1)?.body ?? "{}") as { context?: { client?: { network: string } } };
    assert.equal(asked.context?.client?.network, isBelieved ? "198.51.100.0/24" : "127.0.0.0/24", "policies see the same client");
  });

for (const [name, trusted, isBelieved] of [
  ["without a collector a trusted proxy's trace goes on as it came, to every server behind", "127.0.0.0/8", true],
  ["without a collector a stranger's trace ends at the ingress, and each request has one of its own", "10.0.0.0/8", false],
] as const)
  test(name, async (t) => {
    const none = await openTelemetry({
      endpoint: undefined,
      service: "x",
      version: "1",
      environment: "test",
      sampleRatio: 1,
      log: silentLog,
    });
    const { made, far, crud, pdp, collector } = await world(t, { TRUSTED_PROXIES: trusted }, { tracing: none.tracing });
    const { cookie } = await made.signIn("person:ben");
    const ask = async (sent: string | undefined): Promise<readonly string[]> => {
      for (const path of ["/far/x", "/near"]) {
        const response = await made.fetch(path, { headers: { ...cookie, ...(sent === undefined ? {} : { traceparent: sent }) } });
        assert.equal(response.status, 200, await response.text());
      }
      return [far, crud, pdp].map(({ seen }) => String(seen.at(-1)?.headers["traceparent"]));
    };
    const unsampled = traceparent.replace(/01$/, "00");
    if (isBelieved) for (const sent of [traceparent, unsampled]) assert.deepEqual(await ask(sent), [sent, sent, sent]);
    const own = new Set<string>();
    for (const sent of [undefined, "00-zz-b7ad6b7169203331-01", `${traceparent}-more`, ...(isBelieved ? [] : [traceparent])]) {
      const [first = "", second = "", third] = await ask(sent);
      for (const one of [first, second]) {
        assert.match(one, /^00-[0-9a-f]{32}-[0-9a-f]{16}-00$/);
        assert.ok(!one.includes(traceId));
        assert.ok(!own.has(one), "no two requests share one");
        own.add(one);
      }
      assert.equal(third, second, "all that one request asks know it by one trace");
    }
    assert.deepEqual(collector.spans, [], "and nothing is told to anybody else");
  });

test("a session is bound to the client's network behind a trusted proxy, not to the proxy's", async (t) => {
  const { made, keys } = await world(t, { TRUSTED_PROXIES: "127.0.0.0/8", SESSION_BINDING_NETWORK: "on" });
  const { cookie, record } = await made.signIn("person:ben", { netHash: keys.hashNetwork("198.51.100.9") });
  const from = async (address: string) => {
    const response = await made.fetch("/auth/csrf", { headers: { ...cookie, "x-forwarded-for": address } });
    const { code } = (await response.json()) as { code?: string };
    return [response.status, code];
  };
  assert.deepEqual(await from("198.51.100.77"), [200, undefined], "the same /24");
  assert.deepEqual(await from("203.0.113.5, 198.51.100.77"), [200, undefined], "what the client wrote itself does not count");
  assert.deepEqual(await from("203.0.113.5"), [401, "session_binding"]);
  assert.equal(await made.store.read(record.sidHash), undefined, "and the session has ended");
});

test("without a trusted proxy a session is bound to the peer's network, whatever a header says", async (t) => {
  const { made, keys } = await world(t, { SESSION_BINDING_NETWORK: "on" });
  const own = await made.signIn("person:ben", { netHash: keys.hashNetwork("127.0.0.1") });
  const other = await made.signIn("person:ben", { netHash: keys.hashNetwork("198.51.100.9") });
  const status = async (cookie: Readonly<Record<string, string>>) =>
    (await made.fetch("/auth/csrf", { headers: { ...cookie, "x-forwarded-for": "198.51.100.9" } })).status;
  assert.deepEqual([await status(own.cookie), await status(other.cookie)], [200, 401]);
});
