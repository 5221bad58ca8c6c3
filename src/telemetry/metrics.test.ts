import assert from "node:assert/strict";
import { test } from "node:test";
import { createMetrics, metricTable } from "./metrics.ts";

test("every metric is in the exposition from the start", async () => {
  const text = await createMetrics().text();
  for (const name of Object.keys(metricTable)) assert.match(text, new RegExp(`^# TYPE ${name} `, "m"), name);
});

test("a thousand label values are kept, the next is counted as other", async () => {
  const metrics = createMetrics();
  for (let index = 0; index < 1100; index++) metrics.count("bff_public_metrics_total", { event: `e${index}` });
  const lines = (await metrics.text()).split("\n").filter((line) => line.startsWith("bff_public_metrics_total{"));
  assert.equal(lines.length, 1001);
  assert.ok(lines.includes('bff_public_metrics_total{event="other"} 100'));
});
