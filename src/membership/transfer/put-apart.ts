import { Problem } from "#contract/problem.ts";
import { statement } from "#store/database.ts";
import type { RowsPut } from "#membership/graph/put-node.ts";
import type { GraphOp } from "#membership/graph/graph-op.ts";
import type { GraphTransaction } from "#membership/graph/write.ts";
import { problemFaults } from "./read-import.ts";

/** Writes rows at once; what throws is a fault of them together. */
export type Put<D> = (tx: GraphTransaction, drafts: readonly D[]) => Promise<RowsPut>;

const KEEP = statement("membership.import_savepoint", "savepoint import_part");
const KEPT = statement("membership.import_savepoint_release", "release savepoint import_part");
const UNDO = statement("membership.import_savepoint_undo", "rollback to savepoint import_part");

/**
 * Writes rows at once. Where that fails with a fault that names none of them - a ring, a nesting too deep, a value that is taken - it is
 * undone and each half is written by itself, the first one first, down to the first row that cannot be written behind those before it.
 * Cost: two short statements more; of a part with a fault about three times the part.
 */
export const putApart = async <D>(tx: GraphTransaction, drafts: readonly D[], put: Put<D>): Promise<RowsPut> => {
  const ops: GraphOp[] = [];
  await tx.sql.run(KEEP);
  try {
    // Told of only when it stays.
    const done = await put({ ...tx, record: (op) => void ops.push(op) }, drafts);
    await tx.sql.run(KEPT);
    for (const op of ops) tx.record(op);
    return done;
  } catch (error) {
    if (!(error instanceof Problem)) throw error;
    await tx.sql.run(UNDO);
    if (drafts.length === 1)
      return { outcomes: [], refused: problemFaults(error).map(({ path, message }) => ({ at: 0, code: error.code, path, message })) };
  }
  const half = Math.ceil(drafts.length / 2);
  const first = await putApart(tx, drafts.slice(0, half), put);
  if (first.refused.length > 0) return first;
  const second = await putApart(tx, drafts.slice(half), put);
  return {
    outcomes: [...first.outcomes, ...second.outcomes],
    refused: second.refused.map((refusal) => ({ ...refusal, at: half + refusal.at })),
  };
};
