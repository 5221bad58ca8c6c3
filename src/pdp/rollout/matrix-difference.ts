import { createHash } from "node:crypto";
import type { MatrixDifference } from "#contract/rollouts.ts";
import { createCedar } from "#pdp/cedar.ts";
import type { Version } from "#pdp/engines.ts";
import { askMatrix, columns, type Matrix } from "#pdp/matrix.ts";
import { matrixDecisionFacts, matrixDecisions, openMatrixFacts } from "#pdp/matrix-facts.ts";
import { createMetrics } from "#telemetry/metrics.ts";

export type CompareMatrix = (version: Version, against: Version) => Promise<MatrixDifference>;

const MOST_KEPT = 6;

const none = { value: "-", policies: [] } as const;

const changesOf = (after: Matrix, before: Matrix): MatrixDifference["changed"] =>
  [...new Set([...before.keys(), ...after.keys()])].toSorted().flatMap((row) =>
    columns.flatMap(({ name: column }, at) => {
      const [old, now] = [before.get(row)?.[at] ?? none, after.get(row)?.[at] ?? none];
      return old.value === now.value ? [] : [{ row, column, before: old.value, after: now.value, policies: [...now.policies] }];
    }),
  );

/** Draws the matrix of versions on the kept facts of the demo world. Cost: about a second of yielding work, once a version. */
export const createMatrixComparer = (now: () => Date): CompareMatrix => {
  const drawn = new Map<string, Promise<Matrix>>();
  let facts: ReturnType<typeof openMatrixFacts> | undefined;

  const draw = async ({ version, engine }: Version): Promise<Matrix> => {
    facts ??= openMatrixFacts();
    const decisionPoint = createCedar({
      engines: { current: () => ({ version, epoch: 0n, engine }) },
      facts: await facts,
      decisions: matrixDecisionFacts,
      metrics: createMetrics(),
      now,
    });
    return askMatrix(decisionPoint, matrixDecisions, now);
  };
  const matrixOf = (version: Version): Promise<Matrix> => {
    const { digest } = version.engine.bundle;
    const held = drawn.get(digest) ?? draw(version);
    drawn.delete(digest);
    drawn.set(digest, held);
    held.catch(() => drawn.delete(digest));
    const [oldest] = drawn.keys();
    if (drawn.size > MOST_KEPT && oldest !== undefined) drawn.delete(oldest);
    return held;
  };

  return async (version, against) => {
    const before = await matrixOf(against);
    const changed = changesOf(await matrixOf(version), before);
    const text = JSON.stringify([version.version, against.version, changed]);
    return {
      version: version.version,
      against: against.version,
      digest: createHash("sha256").update(text).digest("base64url"),
      changed: [...changed],
    };
  };
};
