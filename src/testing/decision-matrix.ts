import type { TestContext } from "node:test";
import type { Facts } from "#contract/facts.ts";
import { readBundle } from "#pdp/bundle/bundle.ts";
import { readPolicyFolder } from "#pdp/bundle/policy-files.ts";
import { createCedar } from "#pdp/cedar.ts";
import type { DecisionPoint } from "#pdp/decision-point.ts";
import { createEngine } from "#pdp/engine.ts";
import { drawMatrix } from "#pdp/matrix.ts";
import type { DecisionFacts } from "#pdp/records/decision-facts.ts";
import { createMetrics } from "#telemetry/metrics.ts";
import { fileURLToPath } from "node:url";
import { testDatabase } from "./database.ts";
import { graphRooms, graphWorld, type GraphWorld } from "./membership.ts";
import { readerFacts } from "./pdp.ts";

export const policyFolder = fileURLToPath(new URL("../pdp/policies/", import.meta.url));
export const matrixFile = new URL("../pdp/matrix.txt", import.meta.url);

const decisionOf = (id: string, owner: string): readonly [string, NonNullable<Facts["resource"]>] => [
  id,
  { node_id: id, kind: "Decision", name: id, tenant_ids: ["tenant:acme"], owners: [owner], granted: false, attributes: {} },
];

const known = { ben: "d_01JDBEN0000000000000000000", cleo: "d_01JDC1E0000000000000000000", cleoReporter: "d_01JDREP0000000000000000000" };

/** Three decisions as if on record. */
const decisions: DecisionFacts = {
  resources: async () =>
    new Map([decisionOf(known.ben, "person:ben"), decisionOf(known.cleo, "person:cleo"), decisionOf(known.cleoReporter, "person:cleo")]),
  permittedCall: async () => undefined,
};

/** The engine over the policy files and the demo world's real graph. */
export const demoDecisionPoint = async (
  t: Pick<TestContext, "after">,
): Promise<{ readonly decisionPoint: DecisionPoint; readonly world: GraphWorld }> => {
  const world = await graphWorld(await testDatabase(t, graphRooms));
  const engine = createEngine(readBundle(await readPolicyFolder(policyFolder)));
  const decisionPoint = createCedar({
    engine,
    policyVersion: "v1",
    facts: readerFacts(world),
    decisions,
    metrics: createMetrics(),
    now: () => new Date(),
  });
  return { decisionPoint, world };
};

export const drawDemoMatrix = async (t: Pick<TestContext, "after">): Promise<string> =>
  drawMatrix((await demoDecisionPoint(t)).decisionPoint, known, () => new Date());
