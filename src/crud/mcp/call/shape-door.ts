import { applyMask, mergeMasks, type MaskKind } from "#contract/data-scope.ts";
import { faultOfJson } from "#contract/json-members.ts";
import { Problem } from "#contract/problem.ts";
import { changeAt, valueAt, type Pointer } from "#crud/mcp/json-pointer.ts";
import type { Tool, Upstream } from "#crud/mcp/tool.ts";
import type { RowScope } from "./row-scope.ts";

export interface Shaped {
  readonly value: unknown;
  readonly rowsIn: number;
  readonly rowsOut: number;
  /** Columns and paths that were hidden. */
  readonly masked: readonly string[];
}

const MAX_BYTES = 1_048_576;

/** One value hidden; `undefined` takes its member away. */
const hide = (value: unknown, kind: MaskKind): unknown => applyMask({ value }, { value: kind }).row["value"];

const maskRow = (
  row: unknown,
  masks: Readonly<Record<string, MaskKind>>,
  columns: ReadonlyMap<string, Pointer>,
  masked: Set<string>,
): unknown =>
  Object.entries(masks).reduce<unknown>((held, [column, kind]) => {
    const pointer = columns.get(column);
    if (pointer === undefined || valueAt(held, pointer) === undefined) return held;
    masked.add(column);
    return changeAt(held, pointer, (value) => hide(value, kind));
  }, row);

/** Rows that the scope keeps, masked. A single document is one row; absent when it is not kept. */
const shapeRows = (
  value: unknown,
  tool: Tool,
  scope: RowScope,
  masked: Set<string>,
): { value: unknown; rowsIn: number; rowsOut: number } => {
  const rules = tool.rules.rows;
  if (rules === undefined) return { value, rowsIn: 0, rowsOut: 0 };
  const found = valueAt(value, rules.rows);
  if (rules.rows.length === 0 && !Array.isArray(found)) {
    if (typeof found !== "object" || found === null) throw new Problem("data_scope_unavailable", { detail: "The answer is no row." });
    if (!scope.keeps(found)) throw new Problem("not_found");
    return { value: maskRow(found, scope.masks, rules.columns, masked), rowsIn: 1, rowsOut: 1 };
  }
  if (!Array.isArray(found)) throw new Problem("data_scope_unavailable", { detail: "The answer's rows are no list." });
  const kept = found.filter((row) => scope.keeps(row));
  const rows = kept.map((row) => maskRow(row, scope.masks, rules.columns, masked));
  return { value: changeAt(value, rules.rows, () => rows), rowsIn: found.length, rowsOut: rows.length };
};

/** How many rows of a raw answer the caller would see; for stopping a paged read when there are enough. */
export const countKept = (value: unknown, tool: Tool, scope: RowScope | undefined): number => {
  const found = valueAt(value, tool.rules.rows?.rows ?? []);
  return Array.isArray(found) ? found.filter((row) => scope?.keeps(row) ?? true).length : 0;
};

const cutRows = (value: unknown, tool: Tool, wanted: unknown): unknown => {
  const rules = tool.rules.rows;
  if (rules === undefined || typeof wanted !== "number") return value;
  return changeAt(value, rules.rows, (rows) => (Array.isArray(rows) ? rows.slice(0, wanted) : rows));
};

/**
 * What leaves of an upstream's answer: rows filtered, columns masked (data scope first, then the file's masks unless they
 * were lifted; the stricter wins), cut to what was wanted, held against the output schema, bounded. Fail closed throughout.
 * Throws `data_scope_unavailable`, `not_found`, `output_invalid`, `output_too_large`.
 */
export const shapeOutput = (
  upstream: Upstream,
  tool: Tool,
  given: Readonly<Record<string, unknown>>,
  scope: RowScope | undefined,
  lifted: ReadonlySet<string>,
): Shaped => {
  const masked = new Set<string>();
  if (tool.rules.rows !== undefined && scope === undefined) throw new Problem("data_scope_unavailable");
  const shaped = scope === undefined ? { value: upstream.value, rowsIn: 0, rowsOut: 0 } : shapeRows(upstream.value, tool, scope, masked);
  const inForce = tool.rules.masks.filter((mask) => mask.unlessAllowed === undefined || !lifted.has(mask.unlessAllowed));
  const byPath = new Map<string, { pointer: Pointer; kind: MaskKind }>();
  for (const mask of inForce) {
    const path = `/${mask.pointer.join("/")}`;
    const held = byPath.get(path)?.kind;
    byPath.set(path, { pointer: mask.pointer, kind: mergeMasks({ at: held ?? mask.kind }, { at: mask.kind })["at"] ?? "drop" });
  }
  let value = shaped.value;
  for (const [path, { pointer, kind }] of byPath) {
    value = changeAt(value, pointer, (held) => {
      if (held !== null) masked.add(path);
      return hide(held, kind);
    });
  }
  const wanted = tool.rules.wantedRows === undefined ? undefined : given[tool.rules.wantedRows];
  value = cutRows(value, tool, wanted);
  if (
    upstream.isCut === true &&
    typeof value === "object" &&
    value !== null &&
    !Array.isArray(value) &&
    !(typeof wanted === "number" && shaped.rowsOut >= wanted)
  ) {
    value = { ...value, truncated: true };
  }
  // It is digested for the record: what cannot be is refused here, where the act can still be told to have been done.
  const unfit = faultOfJson(value);
  if (unfit !== undefined) throw new Problem("output_invalid", { detail: `The answer ${unfit}.` });
  const faults = tool.rules.checkOutput?.(value) ?? [];
  if (faults.length > 0) throw new Problem("output_invalid", { errors: faults });
  if (Buffer.byteLength(JSON.stringify(value) ?? "") > MAX_BYTES) throw new Problem("output_too_large");
  const rowsOut = typeof wanted === "number" ? Math.min(wanted, shaped.rowsOut) : shaped.rowsOut;
  return { value, rowsIn: shaped.rowsIn, rowsOut, masked: [...masked].toSorted() };
};
