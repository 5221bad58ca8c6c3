import type { z } from "zod";
import { Problem } from "#contract/problem.ts";
import type { onConflict } from "#contract/transfer.ts";
import { statement, type Sql } from "#store/database.ts";
import { applyEdit } from "#membership/graph-edit/edits.ts";
import { edgeIdOf, putEdges, type EdgeDraft } from "#membership/graph/put-edge.ts";
import { putNodes, type NodeDraft, type RowsPut } from "#membership/graph/put-node.ts";
import type { TenantScope } from "#membership/graph/tenant-scope.ts";
import type { GraphTransaction } from "#membership/graph/write.ts";
import { createFaults, type ImportPlan } from "./read-import.ts";

type OnConflict = z.output<typeof onConflict>;

export interface Imported {
  readonly written: number;
  readonly same: number;
  readonly dropped: number;
}

/** Rows that are written at once: what each costs here is done within 50 ms. */
const AT_ONCE = 500;

const NODES = statement<{ id: string }>("membership.import_nodes_known", "select id from membership.node where id = any($1)");
const EDGES = statement<{ id: string }>("membership.import_edges_known", "select id from membership.edge where id = any($1)");

/** Writes one sort of rows in parts, and says of each fault at which line it is. Throws `import_refused` with all of them. */
const putAll = async <D>(
  tx: GraphTransaction,
  rows: readonly { readonly line: number; readonly value: D }[],
  how: {
    readonly mode: OnConflict;
    readonly known: (sql: Sql, drafts: readonly D[]) => Promise<ReadonlySet<string>>;
    readonly idOf: (draft: D) => string;
    readonly put: (drafts: readonly D[]) => Promise<RowsPut>;
    readonly onRows?: ((count: number) => void) | undefined;
  },
): Promise<{ written: number; same: number }> => {
  const faults = createFaults();
  const sums = { written: 0, same: 0 };
  for (let from = 0; from < rows.length; from += AT_ONCE) {
    let part = rows.slice(from, from + AT_ONCE);
    if (how.mode !== "upsert") {
      const values = part.map(({ value }) => value);
      const known = await how.known(tx.sql, values);
      const there = part.filter(({ value }) => known.has(how.idOf(value)));
      if (how.mode === "fail")
        faults.add(there.map(({ line }) => ({ path: "/", message: "is there already", code: "already_exists", line })));
      part = part.filter(({ value }) => !known.has(how.idOf(value)));
      sums.same += there.length;
    }
    if (part.length > 0) {
      const { outcomes, refused } = await how.put(part.map(({ value }) => value)).catch((error: unknown) => {
        // It is one of these rows, and the database does not say which.
        const line = part[0]?.line;
        if (!(error instanceof Problem) || line === undefined) throw error;
        const message = `${error.options.detail ?? error.title} (in line ${line} or one of the ${part.length - 1} after it)`;
        return { outcomes: [], refused: [{ at: 0, code: error.code, path: "/", message }] };
      });
      faults.add(refused.map(({ at, code, path, message }) => ({ path, message, code, line: part[at]?.line ?? 0 })));
      sums.written += outcomes.filter((outcome) => outcome !== "same").length;
      sums.same += outcomes.filter((outcome) => outcome === "same").length;
    }
    // What cannot be committed any more is not worth its writing.
    if (!faults.isEmpty()) faults.require();
    await tx.spill();
    how.onRows?.(Math.min(from + AT_ONCE, rows.length));
  }
  return sums;
};

const ids = async (rows: Promise<readonly { id: string }[]>): Promise<ReadonlySet<string>> => new Set((await rows).map(({ id }) => id));
const edgeId = ({ kind, src, dst, discr = "" }: EdgeDraft): string => edgeIdOf(kind, src, dst, discr);

/**
 * The plan as part of one version: what goes first, then nodes, then edges. Throws `import_refused` with lines; then nothing of it is
 * written.
 */
export const applyImport = async (
  tx: GraphTransaction,
  scope: TenantScope,
  plan: ImportPlan,
  given: { readonly mode: OnConflict; readonly onRows?: (done: number) => void },
): Promise<Imported> => {
  const faults = createFaults();
  for (const { line, value } of plan.drops)
    try {
      await applyEdit(
        tx,
        scope,
        "node" in value ? { op: "drop_node", id: value.node, cascade: value.cascade } : { op: "drop_edge", edge: value.edge },
      );
    } catch (error) {
      if (!(error instanceof Problem)) throw error;
      faults.add([{ path: "/drop", message: error.options.detail ?? error.title, code: error.code, line }]);
      faults.require();
    }
  const nodes = await putAll<NodeDraft>(tx, plan.nodes, {
    mode: given.mode,
    known: (sql, drafts) => ids(sql.run(NODES, [drafts.map(({ id }) => id)])),
    idOf: ({ id }) => id,
    put: (drafts) => putNodes(tx, scope, drafts),
    onRows: given.onRows,
  });
  const { onRows } = given;
  const edges = await putAll<EdgeDraft>(tx, plan.edges, {
    mode: given.mode,
    known: (sql, drafts) => ids(sql.run(EDGES, [drafts.map(edgeId)])),
    idOf: edgeId,
    put: (drafts) => putEdges(tx, scope, drafts),
    onRows: onRows === undefined ? undefined : (done) => onRows(plan.nodes.length + done),
  });
  return { written: nodes.written + edges.written, same: nodes.same + edges.same, dropped: plan.drops.length };
};
