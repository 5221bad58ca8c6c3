import { LRUCache } from "lru-cache";
import { createHash } from "node:crypto";
import type { MatrixDifference } from "#contract/rollouts.ts";
import { Problem } from "#contract/problem.ts";
import type { PolicyFiles } from "#pdp/bundle/policy-files.ts";
import type { Examiner, Urgency } from "#pdp/lifecycle/examine/examiner.ts";
import { columns, type Matrix } from "#pdp/lifecycle/matrix/matrix.ts";
import type { StoredVersion } from "./version-store.ts";

/** A version to be drawn. */
type Drawn = Pick<StoredVersion, "version" | "digest"> & { readonly files: PolicyFiles };

/** Throws `policy_invalid` where one of them cannot be read, `busy`, `engine_failed`. */
export type CompareMatrix = (version: Drawn, against: Drawn, urgency: Urgency) => Promise<MatrixDifference>;

const MAX_KEPT = 6;

const none = { value: "-", policies: [] } as const;

const changesOf = (after: Matrix, before: Matrix): MatrixDifference["changed"] =>
  [...new Set([...before.keys(), ...after.keys()])].toSorted().flatMap((row) =>
    columns.flatMap(({ name: column }, at) => {
      const [old, now] = [before.get(row)?.[at] ?? none, after.get(row)?.[at] ?? none];
      return old.value === now.value ? [] : [{ row, column, before: old.value, after: now.value, policies: [...now.policies] }];
    }),
  );

/** Draws the matrix of versions on the kept facts of the demo world. Cost: about a second of a thread's, once a version. */
export const createMatrixComparer = (examiner: Examiner, now: () => Date): CompareMatrix => {
  const drawn = new LRUCache<string, Promise<Matrix>>({ max: MAX_KEPT });

  const draw = async (files: PolicyFiles, urgency: Urgency): Promise<Matrix> => {
    const drawing = await examiner.ask("matrix", { files, now: now() }, urgency);
    if ("issues" in drawing) throw new Problem("policy_invalid", { errors: drawing.issues });
    return drawing.matrix;
  };
  const matrixOf = ({ digest, files }: Drawn, urgency: Urgency): Promise<Matrix> => {
    const held = drawn.get(digest) ?? draw(files, urgency);
    drawn.set(digest, held);
    held.catch(() => drawn.delete(digest));
    return held;
  };

  return async (version, against, urgency) => {
    const before = await matrixOf(against, urgency);
    const changed = changesOf(await matrixOf(version, urgency), before);
    const text = JSON.stringify([version.version, against.version, changed]);
    return {
      version: version.version,
      against: against.version,
      digest: createHash("sha256").update(text).digest("base64url"),
      changed: [...changed],
    };
  };
};
