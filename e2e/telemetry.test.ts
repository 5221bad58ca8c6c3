import { toolCallSteps } from "#crud/mcp/call/tool-call-steps.ts";
import { requestSteps } from "#gateway/model/request-steps.ts";
import { operationSteps } from "#secrets/pipeline/operation-steps.ts";
import type { PipelineStep } from "#telemetry/pipeline-step.ts";
import assert from "node:assert/strict";
import { request } from "node:http";
import { test } from "node:test";
import { cleanUp } from "#testing/clean-up.ts";
import { startCollector } from "#testing/otlp/collector.ts";
import { until } from "#testing/until.ts";
import { signInPerson } from "./sign-in.ts";
import { startTestInstance } from "./test-instance.ts";
import { fetchToken } from "./tokens.ts";

const five = [
  "bff_forwardauth_duration_ms",
  "bff_session_validation_duration_ms",
  "bff_auth_requests_total",
  "bff_token_refresh_duration_ms",
  "bff_session_binding_failures_total",
];

const statusFrom = (localAddress: string, url: string, headers: Readonly<Record<string, string>>): Promise<number> =>
  new Promise((resolve, reject) => {
    const { host, port, pathname } = new URL(url);
    const asked = request({ host: "127.0.0.1", port, path: pathname, localAddress, headers: { host, ...headers } }, (answer) => {
      answer.resume();
      resolve(answer.statusCode ?? 0);
    });
    asked.on("error", reject).end();
  });

/** What a person and an agent do in an instance, with a trace of their own that nobody asked for. */
const live = async (port: number, origin: string): Promise<{ readonly secrets: readonly string[] }> => {
  const stranger = "00-0af7651916cd43dd8448eb211c80319c-b7ad6b7169203331-01";
  const ben = await signInPerson(origin, "ben");
  const own = await fetch(`${origin}/api/configs/ui`, { headers: { cookie: ben.cookie, traceparent: stranger } });
  assert.equal(own.status, 200);
  // Refused by the service behind, query and all.
  assert.equal((await fetch(`${origin}/api/configs/ui?canary=in-the-query`, { headers: { cookie: ben.cookie } })).status, 422);
  assert.equal((await fetch(`${origin}/auth/verify`, { headers: { cookie: ben.cookie } })).status, 200);
  // The same cookie from another network: it counts, and its session ends.
  const cleo = await signInPerson(origin, "cleo");
  assert.equal(await statusFrom("127.0.1.5", `${origin}/auth/csrf`, { cookie: cleo.cookie }), 401);
  const agent = await fetchToken(port, { user: "ben", agent: "agent:hr-assistant" });
  const called = await fetch(`${origin}/api/crud/mcp/jsonrpc`, {
    method: "POST",
    headers: { authorization: `Bearer ${agent}`, "content-type": "application/json", traceparent: stranger },
    body: JSON.stringify({
      jsonrpc: "2.0",
      id: "1",
      method: "tools/call",
      params: { name: "people.demo.list_employees", arguments: { limit: 2 } },
    }),
  });
  assert.ok("result" in ((await called.json()) as object));
  return { secrets: [agent, ben.cookie.split("=")[1] ?? "", ben.headers["x-csrf-token"] ?? ""] };
};

test("a collector hears of requests and tool calls as one trace each, and of the metrics; of persons and secrets nothing", async (t) => {
  const collector = await startCollector(t);
  const instance = await startTestInstance({
    // Any access token of the embedded issuer is so near its end that it is refreshed at once, behind the request.
    environment: { OTLP_ENDPOINT: collector.url, BFF_VERSION: "7.7.7", REFRESH_AHEAD_S: "3600", SESSION_BINDING_NETWORK: "on" },
  });
  cleanUp(t, async () => {
    await instance.kill();
    await instance.stop();
  });
  const { secrets } = await live(instance.port, instance.origin);
  await until(async () =>
    /^bff_token_refresh_success_total\{[^}]*\} [1-9]/m.test(await (await fetch(`${instance.origin}/metrics`)).text()),
  );
  await until(
    () => collector.spans.some(({ name }) => name === "audit.close") && collector.spans.some(({ name }) => name === "GET /auth/verify"),
  );
  assert.equal(await instance.stop(), 0);

  const root = (name: string) => {
    const span = collector.spans.find((one) => one.name === name);
    assert.ok(span, `${name} among ${[...new Set(collector.spans.map((one) => one.name))].join(", ")}`);
    assert.deepEqual([span.kind, span.parentSpanId], [2, ""]);
    return span;
  };
  const below = (traceId: string) => new Set(collector.spans.filter((span) => span.traceId === traceId).map((span) => span.name));
  const page = root("GET /api/configs/ui");
  for (const name of ["gateway.match", "gateway.recognise", "gateway.proxy", "GET /configs/ui"])
    assert.ok(below(page.traceId).has(name), name);
  assert.notEqual(page.traceId, "0af7651916cd43dd8448eb211c80319c", "a stranger's trace is none of ours");
  const call = collector.spans.find(({ name }) => name === "tools/call people.demo.list_employees");
  const inCall = below(call?.traceId ?? "");
  for (const name of [
    "mcp.arguments",
    "delegation.check",
    "pdp.decide",
    "budget.reserve",
    "audit.open",
    "upstream.invoke",
    "result.shape",
    "budget.settle",
    "audit.close",
    "secret.value",
    "gateway.proxy",
  ])
    assert.ok(inCall.has(name), `${name} among ${[...inCall].join(", ")}`);

  const childrenOf = (parent: string, steps: Readonly<Record<string, PipelineStep>>): void => {
    const above = collector.spans.find(({ name }) => name === parent);
    const listed = Object.values(steps).flatMap(({ span }) => (span === undefined ? [] : [span]));
    const names = collector.spans.filter((one) => above !== undefined && one.parentSpanId === above.spanId).map(({ name }) => name);
    const seen = names.filter((name) => listed.includes(name));
    assert.deepEqual(
      seen,
      listed.filter((name) => seen.includes(name)),
      `${parent} runs its steps in the order of their list`,
    );
    assert.ok(seen.length >= 2, `${parent}: ${seen.join(", ")}`);
  };
  childrenOf("tools/call people.demo.list_employees", toolCallSteps);
  childrenOf("secret.value", operationSteps);
  childrenOf("GET /api/configs/ui", requestSteps);

  for (const resource of collector.resources)
    assert.deepEqual(
      [resource["service.name"], resource["service.version"], resource["deployment.environment"]],
      ["bff-service", "7.7.7", "test"],
    );
  for (const name of five) assert.ok(collector.metrics.has(name), `${name} among ${[...collector.metrics.keys()].join(", ")}`);
  const sent = Buffer.concat(collector.raw).toString("latin1");
  for (const word of [...secrets, "in-the-query", "person:ben", "Another Browser", "localhost"])
    assert.ok(word !== "" && !sent.includes(word), `${word} left Sallyport`);
});

test("TELEMETRY_ENABLED=false sends nothing, and a collector that is dead changes nothing", async (t) => {
  const collector = await startCollector(t);
  const switched: readonly Readonly<Record<string, string>>[] = [
    { OTLP_ENDPOINT: collector.url, TELEMETRY_ENABLED: "false" },
    { OTLP_ENDPOINT: "http://127.0.0.1:9" },
  ];
  for (const environment of switched) {
    const instance = await startTestInstance({ environment: { ...environment, SESSION_BINDING_NETWORK: "on" } });
    cleanUp(t, async () => {
      await instance.kill();
      await instance.stop();
    });
    await live(instance.port, instance.origin);
    assert.equal(await instance.stop(), 0);
  }
  assert.deepEqual(collector.raw, []);
});
