import { cpSync, mkdtempSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import type { TestContext } from "node:test";
import { fileURLToPath } from "node:url";
import type { FactAsk, Facts } from "#contract/facts.ts";
import { readBundle } from "#pdp/bundle/bundle.ts";
import { readPolicyFolder } from "#pdp/bundle/policy-files.ts";
import { createCedar } from "#pdp/decision/cedar.ts";
import type { DecisionPoint } from "#pdp/engine/decision-point.ts";
import { createEngine } from "#pdp/engine/engine.ts";
import type { FactSource } from "#pdp/facts/fact-source.ts";
import { askMatrix, drawMatrix } from "#pdp/lifecycle/matrix/matrix.ts";
import { matrixDecisionFacts, matrixDecisions, writeMatrixFacts } from "#pdp/lifecycle/matrix/matrix-facts.ts";
import { createMetrics } from "#telemetry/metrics.ts";
import { testDatabase } from "./database.ts";
import { graphModules, graphWorld, type GraphWorld } from "./membership.ts";
import { readerFacts } from "./pdp.ts";

const shipped = fileURLToPath(new URL("../pdp/policies/", import.meta.url));
/** What the demo world adds to the shipped policies. */
export const demoPolicyFolder = fileURLToPath(new URL("../../config/demo/policies/", import.meta.url));
/** Both in one folder, gone with the process. */
export const policyFolder = mkdtempSync(join(tmpdir(), "sallyport-policies-"));
for (const folder of [shipped, demoPolicyFolder]) cpSync(folder, policyFolder, { recursive: true });
process.on("exit", () => rmSync(policyFolder, { recursive: true, force: true }));

export const matrixFile = new URL("../pdp/lifecycle/matrix/matrix.txt", import.meta.url);

/** The column that the demo world has nobody for. */
export const putGlobexAdmin = async ({ put }: Pick<GraphWorld, "put">): Promise<void> => {
  const [person, account] = ["person:globex-admin", "account:globex-admin@globex"];
  const of = { name: "Gus Globex", tenant_id: "tenant:globex" } as const;
  await put(
    { ...of, id: person, kind: "Person", props: { email: "gus@globex.example" } },
    {
      ...of,
      id: account,
      kind: "Account",
      props: { login: "gus", system: "directory" },
    },
  );
  await put(
    { kind: "BELONGS_TO", src: person, dst: account },
    { kind: "MEMBER_OF", src: account, dst: "tenant:globex" },
    { kind: "MEMBER_OF", src: person, dst: "role:administrator" },
  );
};

/** The engine over the policy files and the demo world's real graph. */
const demoDecisionPoint = async (
  t: Pick<TestContext, "after">,
  wrap: (facts: FactSource) => FactSource = (facts) => facts,
): Promise<{ readonly decisionPoint: DecisionPoint; readonly world: GraphWorld }> => {
  const world = await graphWorld(await testDatabase(t, graphModules));
  const engine = createEngine(readBundle(await readPolicyFolder(policyFolder)));
  const decisionPoint = createCedar({
    engines: { current: () => ({ version: "v1", epoch: 1n, engine }) },
    facts: wrap(readerFacts(world)),
    decisions: matrixDecisionFacts,
    metrics: createMetrics(),
    now: () => new Date(),
  });
  return { decisionPoint, world };
};

/** The matrix of the policy files over the demo world's real graph, and the facts that it was drawn on. */
export const drawDemoMatrix = async (t: Pick<TestContext, "after">): Promise<{ readonly matrix: string; readonly facts: string }> => {
  const asked: (readonly [FactAsk, Facts])[] = [];
  const { decisionPoint, world } = await demoDecisionPoint(t, (facts) => ({
    ...facts,
    gather: async (asks) => {
      const gathered = await facts.gather(asks);
      for (const [index, ask] of asks.entries()) asked.push([ask, gathered.facts[index] as Facts]);
      return gathered;
    },
  }));
  await putGlobexAdmin(world);
  const matrix = drawMatrix(await askMatrix(decisionPoint, matrixDecisions, () => new Date()));
  return { matrix, facts: writeMatrixFacts(asked) };
};
