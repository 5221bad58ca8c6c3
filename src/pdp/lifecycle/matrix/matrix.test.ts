import assert from "node:assert/strict";
import { readFile } from "node:fs/promises";
import { test } from "node:test";
import type { EvaluationReply } from "#contract/authzen.ts";
import { pdpWorld } from "#testing/pdp.ts";
import { createMetrics } from "#telemetry/metrics.ts";
import { drawDemoMatrix, matrixFile, policyFolder, putGlobexAdmin } from "#testing/decision-matrix.ts";
import { readBundle } from "#pdp/bundle/bundle.ts";
import { readPolicyFolder } from "#pdp/bundle/policy-files.ts";
import { createCedar } from "#pdp/decision/cedar.ts";
import { createEngine } from "#pdp/engine/engine.ts";
import { askMatrix, columns, drawMatrix, matrixRows, nameOf } from "./matrix.ts";
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

test("what only services of Sallyport can ask is answered over HTTP, with their tokens, what matrix.txt says", async (t) => {
  const world = await pdpWorld(t);
  await putGlobexAdmin(world.world);
  const lines = (await readFile(matrixFile, "utf8")).split("\n").slice(3, -1);
  const wanted = new Map(lines.map((line) => line.replace(/ \|$/, "").split(" | ")).map(([name = "", ...cells]) => [name, cells]));
  const rows = matrixRows(matrixDecisions).filter((row) => row.could === true || row.assigned === true || row.props !== undefined);
  assert.ok(rows.length > 10);
  const differ: string[] = [];
  for (const [at, column] of columns.entries()) {
    const question = (row: (typeof rows)[number]) => ({
      subject: {
        type: "identity",
        id: column.subject,
        properties: { tenant: "tenant" in column ? column.tenant : "tenant:acme" },
      },
      action: { name: row.action },
      resource: { type: row.type, id: row.id, properties: { ...row.props, ...(row.assigned === true ? { assigned: true } : {}) } },
      context: {
        scopes: ["mcp.tools.discovery"],
        ...("agent" in column ? { agent: column.agent } : {}),
        ...(row.could === true ? { could: true } : {}),
        ...(row.claimed === undefined ? {} : { claimed: row.claimed }),
      },
    });
    for (const [service, asked] of [
      ["crud", rows.filter((row) => row.could === true)],
      ["gateway", rows.filter((row) => row.could !== true)],
    ] as const) {
      const response = await world.ask("/access/v1/evaluations", await world.serviceToken(service), { evaluations: asked.map(question) });
      assert.equal(response.status, 200, await response.clone().text());
      const { evaluations } = (await response.json()) as { readonly evaluations: readonly EvaluationReply[] };
      for (const [index, row] of asked.entries()) {
        const { decision, context } = evaluations[index] as EvaluationReply;
        const cell = decision ? "Y" : context?.reason === "approval_required" ? "R" : context?.reason === "step_up_required" ? "S" : "-";
        const stated = wanted.get(nameOf(row))?.[at];
        if (cell !== stated) differ.push(`${nameOf(row)} | ${column.name}: matrix.txt ${stated}, asked ${cell} ${context?.reason ?? ""}`);
      }
    }
  }
  assert.deepEqual(differ, []);
});
