import assert from "node:assert/strict";
import { test } from "node:test";
import { createMetrics, metricTable, type MetricRow } from "./metrics.ts";

test("every metric is in the exposition from the start", async () => {
  const text = await createMetrics().text();
  for (const [name, row] of Object.entries<MetricRow>(metricTable))
    if (row.otlp !== "only") assert.match(text, new RegExp(`^# TYPE ${name} `, "m"), name);
});

for (const [name, label, cap] of [
  ["bff_token_refresh_success_total", "user_id", 1000],
  ["bff_rate_limit_violations_total", "client_id", 200],
  ["bff_public_metrics_total", "event", 100],
] as const)
  test(`${name} keeps ${cap} series, what comes beyond is counted as other`, async () => {
    const metrics = createMetrics();
    for (let index = 0; index < cap + 50; index++) metrics.count(name, { [label]: `e${index}` } as never);
    const lines = (await metrics.text()).split("\n").filter((line) => line.startsWith(`${name}{`));
    assert.equal(lines.length, cap + 1);
    assert.ok(lines.includes(`${name}{${label}="other"} 50`));
  });
