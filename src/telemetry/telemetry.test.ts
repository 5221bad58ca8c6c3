import assert from "node:assert/strict";
import { test, type TestContext } from "node:test";
import { cleanUp } from "#testing/clean-up.ts";
import { startCollector } from "#testing/otlp/collector.ts";
import { until } from "#testing/until.ts";
import { createLog, silentLog } from "./log.ts";
import { createMetrics } from "./metrics.ts";
import { openTelemetry } from "./open-telemetry.ts";
import type { TelemetryParts } from "./telemetry.ts";
import { parseTraceparent, type SpanOptions } from "./tracing.ts";

const open = async (t: TestContext, endpoint: string | undefined, more: Partial<TelemetryParts> = {}) => {
  const telemetry = await openTelemetry({
    endpoint,
    service: "bff-service",
    version: "9.9.9",
    environment: "test",
    sampleRatio: 1,
    log: silentLog,
    everyMs: 50,
    ...more,
  });
  cleanUp(t, () => telemetry[Symbol.asyncDispose]());
  return telemetry;
};

test("spans lie below the one they were begun in, whatever waits between, and carry the resource", async (t) => {
  const collector = await startCollector(t);
  const { tracing } = await open(t, collector.url);
  await tracing.span("outer", { kind: "server", facts: { "http.request.method": "GET" } }, async (outer) => {
    await new Promise((resolve) => setTimeout(resolve, 5));
    await Promise.all(
      ["one", "two"].map((name) => tracing.span(name, { kind: "client" }, () => new Promise((resolve) => setTimeout(resolve, 5)))),
    );
    outer.rename("outer, known");
  });
  await until(() => collector.spans.length === 3);
  const root = collector.spans.find(({ name }) => name === "outer, known");
  assert.deepEqual([root?.kind, root?.parentSpanId, root?.attributes, root?.failed], [2, "", { "http.request.method": "GET" }, false]);
  for (const name of ["one", "two"]) {
    const span = collector.spans.find((one) => one.name === name);
    assert.deepEqual([span?.kind, span?.parentSpanId, span?.traceId], [3, root?.spanId, root?.traceId]);
  }
  const { "service.instance.id": instance, ...resource } = collector.resources[0] ?? {};
  assert.deepEqual(resource, { "service.name": "bff-service", "service.version": "9.9.9", "deployment.environment": "test" });
  assert.match(String(instance), /^[0-9a-f-]{36}$/);
});

test("a parent is continued, its decision not to sample too; what is malformed is no parent", async (t) => {
  const collector = await startCollector(t);
  const { tracing } = await open(t, collector.url);
  const trace = "0af7651916cd43dd8448eb211c80319c";
  let reported: string | undefined;
  await tracing.span("continued", { parent: `00-${trace}-b7ad6b7169203331-01` }, async () => void (reported = tracing.traceparent()));
  await tracing.span("unsampled", { parent: `00-${trace}-b7ad6b7169203331-00` }, async () => {
    assert.match(tracing.traceparent() ?? "", new RegExp(`^00-${trace}-[0-9a-f]{16}-00$`));
  });
  const links = [`00-${trace}-b7ad6b7169203331-01`, "malformed"];
  await tracing.span("linked", { kind: "producer", links }, async () => undefined);
  await tracing.span("alone", { parent: "00-zz-b7ad6b7169203331-01" }, async () => undefined);
  assert.equal(tracing.traceparent(), undefined);
  await until(() => collector.spans.length === 3);
  const [continued, alone, linked] = ["continued", "alone", "linked"].map((name) => collector.spans.find((span) => span.name === name));
  assert.deepEqual([continued?.traceId, continued?.parentSpanId], [trace, "b7ad6b7169203331"]);
  assert.equal(reported, `00-${trace}-${continued?.spanId}-01`);
  assert.notEqual(alone?.traceId, trace);
  assert.deepEqual([linked?.kind, linked?.parentSpanId, linked?.links], [4, "", ["b7ad6b7169203331"]]);
});

test("a failure is a code in the span, never its text", async (t) => {
  const collector = await startCollector(t);
  const { tracing } = await open(t, collector.url);
  const canary = "canary-of-a-secret";
  await assert.rejects(tracing.span("fails", {}, () => Promise.reject(Object.assign(new Error(canary), { code: "ECONNREFUSED" }))));
  await assert.rejects(tracing.span("fails too", {}, () => Promise.reject(Object.assign(new Error(canary), { code: `${canary} /x?y` }))));
  await until(() => collector.spans.length === 2);
  assert.deepEqual(
    collector.spans.map((span) => [span.failed, span.attributes]),
    [
      [true, { "error.type": "ECONNREFUSED" }],
      [true, { "error.type": "internal" }],
    ],
  );
  for (const bytes of collector.raw) assert.ok(!bytes.includes(canary));
});

test("the metrics that leave by OTLP do, with their labels; the others stay", async (t) => {
  const collector = await startCollector(t);
  const metrics = createMetrics((await open(t, collector.url)).mirror);
  metrics.count("bff_auth_requests_total", { auth: "session", status: "ok" }, 3);
  metrics.observe("bff_forwardauth_duration_ms", { status: "ok" }, 1.5);
  metrics.count("bff_session_binding_failures_total", { reason: "network" });
  metrics.count("bff_csrf_violations_total", { reason: "bad_origin" });
  await until(() => collector.metrics.size >= 3);
  assert.deepEqual(collector.metrics.get("bff_auth_requests_total"), {
    name: "bff_auth_requests_total",
    kind: "sum",
    points: [{ attributes: { auth: "session", status: "ok" }, value: 3 }],
  });
  assert.deepEqual(collector.metrics.get("bff_forwardauth_duration_ms")?.kind, "histogram");
  assert.equal(collector.metrics.get("bff_session_binding_failures_total")?.points[0]?.value, 1);
  assert.equal(collector.metrics.has("bff_csrf_violations_total"), false);
  assert.doesNotMatch(await metrics.text(), /bff_auth_requests_total|_ms/);
});

test("without an endpoint nothing is opened, and a trace is carried on all the same", async (t) => {
  const { tracing, mirror } = await open(t, undefined);
  assert.equal(mirror, undefined);
  assert.equal(tracing.isRecording, false);
  assert.equal(tracing.traceparent(), undefined, "no request is under way");
  const parent = "00-0af7651916cd43dd8448eb211c80319c-b7ad6b7169203331-01";
  const reported = (options: SpanOptions) =>
    tracing.span("asked", options, async () => {
      await new Promise((resolve) => setTimeout(resolve, 1));
      const before = tracing.traceId();
      const inside = await Promise.all(
        (["client", "server"] as const).map((kind) =>
          tracing.span("inner", { kind, parent: "00-11111111111111111111111111111111-2222222222222222-01" }, async () =>
            tracing.traceparent(),
          ),
        ),
      );
      return { before, inside, traceparent: tracing.traceparent(), traceId: tracing.traceId() };
    });
  const id = "0af7651916cd43dd8448eb211c80319c";
  assert.deepEqual(await reported({ kind: "server", parent }), { before: id, inside: [parent, parent], traceparent: parent, traceId: id });
  const made = await Promise.all([reported({ kind: "server" }), reported({ kind: "server", parent: "00-zz-b7ad6b7169203331-01" })]);
  for (const { before, inside, traceparent = "", traceId } of made) {
    assert.equal(before, undefined, "made when first wanted");
    assert.match(traceparent, /^00-[0-9a-f]{32}-[0-9a-f]{16}-00$/);
    assert.ok(parseTraceparent(traceparent));
    assert.deepEqual([inside, traceId], [[traceparent, traceparent], traceparent.slice(3, 35)]);
  }
  assert.notEqual(made[0]?.traceparent, made[1]?.traceparent);
  assert.equal((await reported({ kind: "client" })).traceparent, undefined, "Sallyport's own rounds are nobody's request");
});

test("a collector that is away, or silent, is never waited for; what is lost is counted and said once", async (t) => {
  const collector = await startCollector(t);
  collector.mute(true);
  for (const endpoint of ["http://127.0.0.1:9", collector.url]) {
    const lost = new Map<string, number>();
    const lines: string[] = [];
    const telemetry = await openTelemetry({
      endpoint,
      service: "bff-service",
      version: "1",
      environment: "test",
      sampleRatio: 1,
      everyMs: 20,
      log: createLog({ level: "info", service: "t", version: "1", environment: "test", write: (line) => void lines.push(line) }),
      onDropped: (signal, count) => void lost.set(signal, (lost.get(signal) ?? 0) + count),
    });
    const held = process.memoryUsage().heapUsed;
    // The collector is asked while spans end; none of them may wait for it.
    for (let index = 0; index < 5000; index++) await telemetry.tracing.span("work", {}, async () => undefined);
    assert.ok((lost.get("traces") ?? 0) >= 5000 - 2048 - 2048, `${lost.get("traces")} lost`);
    assert.ok(process.memoryUsage().heapUsed - held < 64 * 1_048_576);
    await telemetry[Symbol.asyncDispose]();
    if (endpoint !== collector.url) assert.equal(lines.filter((line) => line.includes("telemetry_lost")).length <= 1, true);
  }
});

for (const [text, isParent] of [
  ["00-0af7651916cd43dd8448eb211c80319c-b7ad6b7169203331-01", true],
  ["00-0af7651916cd43dd8448eb211c80319c-b7ad6b7169203331-00", true],
  ["00-00000000000000000000000000000000-b7ad6b7169203331-01", false],
  ["00-0af7651916cd43dd8448eb211c80319c-0000000000000000-01", false],
  ["01-0af7651916cd43dd8448eb211c80319c-b7ad6b7169203331-01", false],
  ["00-0AF7651916CD43DD8448EB211C80319C-b7ad6b7169203331-01", false],
  ["00-0af7651916cd43dd8448eb211c80319c-b7ad6b7169203331-01\r\nx: y", false],
  [undefined, false],
] as const)
  test(`${JSON.stringify(text)} is ${isParent ? "a" : "no"} parent`, () => assert.equal(parseTraceparent(text) !== undefined, isParent));
