import assert from "node:assert/strict";
import { readFile } from "node:fs/promises";
import { test } from "node:test";
import { createMetrics } from "#telemetry/metrics.ts";
import { drawDemoMatrix, matrixFile, policyFolder } from "#testing/decision-matrix.ts";
import { readBundle } from "./bundle/bundle.ts";
import { readPolicyFolder } from "./bundle/policy-files.ts";
import { createCedar } from "./cedar.ts";
import { createEngine } from "./engine.ts";
import { askMatrix, drawMatrix } from "./matrix.ts";
import { matrixDecisionFacts, matrixDecisions, matrixFactsFile, openMatrixFacts } from "./matrix-facts.ts";

test("matrix.txt is what the policies decide in the demo world, and its facts are the demo world's (else: npm run matrix, and review the difference)", async (t) => {
  const drawn = await drawDemoMatrix(t);
  assert.equal(drawn.matrix, await readFile(matrixFile, "utf8"));
  assert.ok(drawn.facts === (await readFile(matrixFactsFile, "utf8")), "matrix-facts.jsonl: npm run matrix, and review the difference");
});

test("drawn on the facts that are kept, the matrix is the same", async () => {
  const engine = createEngine(readBundle(await readPolicyFolder(policyFolder)));
  const decisionPoint = createCedar({
    engines: { current: () => ({ version: "v1", epoch: 1n, engine }) },
    facts: await openMatrixFacts(),
    decisions: matrixDecisionFacts,
    metrics: createMetrics(),
    now: () => new Date(),
  });
  const drawn = drawMatrix(await askMatrix(decisionPoint, matrixDecisions, () => new Date()));
  assert.equal(drawn, await readFile(matrixFile, "utf8"));
});
