import type { z } from "zod";
import { Problem } from "#contract/problem.ts";
import type { onConflict } from "#contract/transfer.ts";
import { statement, type Sql } from "#store/database.ts";
import { applyEdit } from "#membership/graph-edit/edits.ts";
import { edgeIdOf, putEdges, type EdgeDraft } from "#membership/graph/put-edge.ts";
import { putNodes, type NodeDraft, type RowsPut } from "#membership/graph/put-node.ts";
import type { GraphOp } from "#membership/graph/graph-op.ts";
import { unexpired } from "#membership/graph/sql-parts.ts";
import { visible, type TenantScope } from "#membership/graph/tenant-scope.ts";
import type { GraphTransaction } from "#membership/graph/write.ts";
import { RoleError } from "#membership/graph/role-watch.ts";
import { createIssues, problemIssues, type ImportPlan } from "./read-import.ts";

type OnConflict = z.output<typeof onConflict>;

export interface Imported {
  readonly written: number;
  readonly same: number;
  readonly dropped: number;
}

/** Rows that are written at once: what each costs here is done within 50 ms. */
const AT_ONCE = 500;

/** What is there for the scope: of what another tenant has each mode says what it says of what nobody has. */
const NODES = statement<{ id: string }>(
  "membership.import_nodes_known",
  `select n.id from membership.node n where n.id = any($2) and ${visible("n")}`,
);
const EDGES = statement<{ id: string }>(
  "membership.import_edges_known",
  `select e.id from membership.edge e where e.id = any($2) and ${visible("e")} and ${unexpired("e")}`,
);

/** Writes rows at once; what throws is an issue of them together. */
type Put<D> = (tx: GraphTransaction, drafts: readonly D[]) => Promise<RowsPut>;

const KEEP = statement("membership.import_savepoint", "savepoint import_part");
const KEPT = statement("membership.import_savepoint_release", "release savepoint import_part");
const UNDO = statement("membership.import_savepoint_undo", "rollback to savepoint import_part");

/**
 * Writes rows at once. Where that fails with an issue that names none of them - a ring, a nesting too deep, a value that is taken - it is
 * undone and each half is written by itself, the first one first, down to the first row that cannot be written behind those before it.
 * Cost: two short statements more; of a part with an issue about three times the part.
 */
const putApart = async <D>(tx: GraphTransaction, drafts: readonly D[], put: Put<D>): Promise<RowsPut> => {
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
      return { outcomes: [], refused: problemIssues(error).map(({ path, message }) => ({ at: 0, code: error.code, path, message })) };
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

/** Writes one sort of rows in parts, and says of each issue at which line it is. Throws `import_refused` with all of them. */
const putAll = async <D>(
  tx: GraphTransaction,
  rows: readonly { readonly line: number; readonly value: D }[],
  how: {
    readonly mode: OnConflict;
    readonly known: (sql: Sql, drafts: readonly D[]) => Promise<ReadonlySet<string>>;
    readonly idOf: (draft: D) => string;
    readonly put: Put<D>;
    readonly onRows?: ((count: number) => void) | undefined;
  },
): Promise<{ written: number; same: number }> => {
  const issues = createIssues();
  const sums = { written: 0, same: 0 };
  for (let from = 0; from < rows.length; from += AT_ONCE) {
    let part = rows.slice(from, from + AT_ONCE);
    if (how.mode !== "upsert") {
      const values = part.map(({ value }) => value);
      const known = await how.known(tx.sql, values);
      const there = part.filter(({ value }) => known.has(how.idOf(value)));
      if (how.mode === "fail")
        issues.add(there.map(({ line }) => ({ path: "/", message: "is there already", code: "already_exists", line })));
      part = part.filter(({ value }) => !known.has(how.idOf(value)));
      sums.same += there.length;
    }
    if (part.length > 0) {
      const drafts = part.map(({ value }) => value);
      const { outcomes, refused } = await putApart(tx, drafts, how.put);
      issues.add(refused.map(({ at, code, path, message }) => ({ path, message, code, line: part[at]?.line ?? 0 })));
      sums.written += outcomes.filter((outcome) => outcome !== "same").length;
      sums.same += outcomes.filter((outcome) => outcome === "same").length;
    }
    // What cannot be committed any more is not worth its writing.
    if (!issues.isEmpty()) issues.require();
    await tx.spill();
    how.onRows?.(Math.min(from + AT_ONCE, rows.length));
  }
  return sums;
};

const ids = async (rows: Promise<readonly { id: string }[]>): Promise<ReadonlySet<string>> => new Set((await rows).map(({ id }) => id));
const edgeId = ({ kind, src, dst, discr = "" }: EdgeDraft): string => edgeIdOf(kind, src, dst, discr);

/** Lines of what is to blame; `dropped` are rows that went, by their ids. */
const linesOf = (plan: ImportPlan, dropped: ReadonlyMap<string, number>): ReadonlyMap<string, number> =>
  new Map([
    ...dropped,
    ...plan.nodes.map(({ line, value }) => [value.id, line] as const),
    ...plan.edges.map(({ line, value }) => [edgeId(value), line] as const),
  ]);

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
  const issues = createIssues();
  const dropped = new Map<string, number>();
  for (const { line, value } of plan.drops)
    try {
      const record: GraphTransaction["record"] = (op) => {
        dropped.set(op.subject, line);
        tx.record(op);
      };
      await applyEdit(
        { ...tx, record },
        scope,
        "node" in value ? { op: "drop_node", id: value.node, cascade: value.cascade } : { op: "drop_edge", edge: value.edge },
      );
    } catch (error) {
      if (!(error instanceof Problem)) throw error;
      issues.add([{ path: "/drop", message: error.options.detail ?? error.title, code: error.code, line }]);
      issues.require();
    }
  const nodes = await putAll<NodeDraft>(tx, plan.nodes, {
    mode: given.mode,
    known: (sql, drafts) => ids(sql.run(NODES, [scope.tenant, drafts.map(({ id }) => id)])),
    idOf: ({ id }) => id,
    put: (part, drafts) => putNodes(part, scope, drafts),
    onRows: given.onRows,
  });
  let [written, same, done] = [nodes.written, nodes.same, plan.nodes.length];
  // What provides a tool comes first: it says whether a capability of it is for one definition alone.
  for (const rows of [true, false].map((isFirst) => plan.edges.filter(({ value }) => (value.kind === "PROVIDES") === isFirst))) {
    const before = done;
    const sums = await putAll<EdgeDraft>(tx, rows, {
      mode: given.mode,
      known: (sql, drafts) => ids(sql.run(EDGES, [scope.tenant, drafts.map(edgeId)])),
      idOf: edgeId,
      put: (part, drafts) => putEdges(part, scope, drafts),
      onRows: (count) => given.onRows?.(before + count),
    });
    written += sums.written;
    same += sums.same;
    done += rows.length;
  }
  // Asked here, where lines are known, of the whole: what a role leads from may stand in any of them.
  await tx.requireRoles().catch((error: unknown) => {
    if (!(error instanceof RoleError)) throw error;
    const lines = linesOf(plan, dropped);
    for (const { row, why } of error.blamed) {
      const line = lines.get(row);
      if (line !== undefined) issues.add([{ path: dropped.get(row) === line ? "/drop" : "/", message: why, code: error.code, line }]);
    }
    issues.require();
    throw error;
  });
  return { written, same, dropped: plan.drops.length };
};
