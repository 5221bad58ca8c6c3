import { digitsOf, isRawNumber } from "./exact-numbers.ts";
import { nodeId } from "./ids.ts";

/**
 * Which rows and columns a subject may see, as the policy information point says it: a closed language. Its writer and
 * its only reader stand here together, so what one writes the other reads, and nothing else is ever a filter.
 */

/** Everything a row filter can be. `none` keeps no row. */
export type RowFilter =
  | { readonly kind: "none" }
  | {
      readonly kind: "in";
      readonly column: string;
      readonly values: readonly string[];
      /** Only rows of the subject itself. */
      readonly own?: { readonly column: string; readonly value: string };
    };

const COLUMN = /^[a-z_][a-z0-9_]{0,62}$/;

/** Words that PostgreSQL does not take as a bare column name (reserved, or usable only as a type, function or special column). */
const keywords: ReadonlySet<string> = new Set(
  (
    "all analyse analyze and any array as asc asymmetric authorization between bigint binary bit boolean both case cast char " +
    "character check coalesce collate collation column concurrently constraint create cross current_catalog current_date " +
    "current_role current_schema current_time current_timestamp current_user dec decimal default deferrable desc distinct do " +
    "else end except exists extract false fetch float for foreign freeze from full grant graph_table greatest group grouping having ilike " +
    "in initially inner inout int integer intersect interval into is isnull join json json_array json_arrayagg json_exists " +
    "json_object json_objectagg json_query json_scalar json_serialize json_table json_value lateral leading least left like " +
    "limit localtime localtimestamp merge_action national natural nchar none normalize not notnull null nullif numeric offset " +
    "on only or order out outer overlaps overlay placing position precision primary real references returning right row " +
    "select session_user setof similar smallint some substring symmetric system_user table tablesample then time timestamp " +
    "to trailing treat trim true union unique user using values varchar variadic verbose when where window with xmlattributes " +
    "xmlconcat xmlelement xmlexists xmlforest xmlnamespaces xmlparse xmlpi xmlroot xmlserialize xmltable"
  ).split(" "),
);

/** True for a name that may stand bare in a filter: lower-case, at most 63 characters, no keyword. */
export const isFilterColumn = (name: string): boolean => COLUMN.test(name) && !keywords.has(name);

const isId = (text: string): boolean => nodeId.safeParse(text).success;

/**
 * `1=0`, `col IN ('a', 'b')` or `col IN ('a') AND own = 'b'`. What cannot be written safely becomes `1=0`: a filter may
 * lose rows, never gain them. `refused` is told why, so that it can be logged.
 */
export const writeRowFilter = (filter: RowFilter, refused: (why: "column" | "value") => void = () => {}): string => {
  if (filter.kind === "none" || filter.values.length === 0) return "1=0";
  const columns = [filter.column, ...(filter.own === undefined ? [] : [filter.own.column])];
  const values = [...filter.values, ...(filter.own === undefined ? [] : [filter.own.value])];
  const issue = columns.every(isFilterColumn) ? (values.every(isId) ? undefined : "value") : "column";
  if (issue !== undefined) {
    refused(issue);
    return "1=0";
  }
  const list = filter.values.map((value) => `'${value}'`).join(", ");
  const own = filter.own === undefined ? "" : ` AND ${filter.own.column} = '${filter.own.value}'`;
  return `${filter.column} IN (${list})${own}`;
};

const WHOLE = /^([a-z_][a-z0-9_]{0,62}) IN \(('[^']*'(?:, '[^']*')*)\)(?: AND ([a-z_][a-z0-9_]{0,62}) = '([^']*)')?$/;

/** Reads a row filter. `undefined`: it is none of the three forms, and whoever asked must refuse, not guess. */
export const parseRowFilter = (text: string): RowFilter | undefined => {
  if (text === "1=0") return { kind: "none" };
  const [, column, list, ownColumn, ownValue] = WHOLE.exec(text) ?? [];
  if (column === undefined || list === undefined || !isFilterColumn(column)) return undefined;
  const values = list.slice(1, -1).split("', '");
  if (!values.every(isId)) return undefined;
  if (ownColumn === undefined || ownValue === undefined) return { kind: "in", column, values };
  if (!isFilterColumn(ownColumn) || !isId(ownValue)) return undefined;
  return { kind: "in", column, values, own: { column: ownColumn, value: ownValue } };
};

const valuesOf = (filter: Extract<RowFilter, { kind: "in" }>): readonly (readonly [column: string, values: readonly string[]])[] => [
  [filter.column, filter.values],
  ...(filter.own === undefined ? [] : [[filter.own.column, [filter.own.value]] as const]),
];

/**
 * Only rows that both filters keep. The language holds a list for one column and one value for another; what the two say
 * together beyond that, or a text that is no filter, keeps no row.
 */
export const mergeRowFilters = (one: string, other: string): string => {
  const [first, second] = [parseRowFilter(one), parseRowFilter(other)];
  if (first?.kind !== "in" || second?.kind !== "in") return "1=0";
  const columns = new Map<string, readonly string[]>();
  for (const [column, values] of [...valuesOf(first), ...valuesOf(second)]) {
    const held = columns.get(column);
    columns.set(column, held === undefined ? values : held.filter((value) => values.includes(value)));
  }
  const [listed, own, ...more] = [...columns].toSorted((a, b) => b[1].length - a[1].length);
  if (listed === undefined || more.length > 0 || (own !== undefined && own[1].length !== 1)) return "1=0";
  const [column, values] = listed;
  return writeRowFilter({ kind: "in", column, values, own: own && { column: own[0], value: own[1][0] ?? "" } });
};

/** True when the filter keeps the row; a row without the column, or with anything but text in it, is not kept. */
export const keepsRow = (filter: RowFilter, row: Readonly<Record<string, unknown>>): boolean => {
  if (filter.kind === "none") return false;
  const value = Object.hasOwn(row, filter.column) ? row[filter.column] : undefined;
  if (typeof value !== "string" || !filter.values.includes(value)) return false;
  return filter.own === undefined || (Object.hasOwn(row, filter.own.column) && row[filter.own.column] === filter.own.value);
};

/** How a column is hidden, strongest first. */
export const maskKinds = ["drop", "null", "hash", "last4", "year"] as const;
export type MaskKind = (typeof maskKinds)[number];
export type ColumnMask = Readonly<Record<string, string>>;

/** An unknown kind is the strongest one. */
const kindOf = (kind: string): MaskKind => maskKinds.find((known) => known === kind) ?? "drop";

/** Both masks at once: on a column that both name, the stricter kind. */
export const mergeMasks = (one: ColumnMask, other: ColumnMask): Record<string, MaskKind> => {
  const merged: Record<string, MaskKind> = Object.create(null) as Record<string, MaskKind>;
  for (const [column, kind] of [...Object.entries(one), ...Object.entries(other)]) {
    const held = merged[column];
    const next = kindOf(kind);
    merged[column] = held === undefined || maskKinds.indexOf(next) < maskKinds.indexOf(held) ? next : held;
  }
  return { ...merged };
};

export interface MaskOptions {
  /** First 32 hex of HMAC-SHA-256(tenant salt, RFC 8785 text of the value). Absent: `hash` hides as `null` does. */
  readonly hash?: (value: unknown) => string;
}

const year = (value: unknown): string | null => {
  const match = typeof value === "string" ? /^([0-9]{4})-(?:0[1-9]|1[0-2])-(?:0[1-9]|[12][0-9]|3[01])(?:$|T)/.exec(value) : null;
  return match?.[1] ?? null;
};

const last4 = (value: unknown): string | null => {
  if (typeof value !== "string" && typeof value !== "number" && !isRawNumber(value)) return null;
  const text = typeof value === "string" ? value : digitsOf(value);
  // A text may have millions of characters: its ends alone are read, each character of one or two units.
  return Array.from(text.slice(0, 18)).length > 8 ? `****${Array.from(text.slice(-8)).slice(-4).join("")}` : "****";
};

const hiders: Readonly<Record<Exclude<MaskKind, "drop">, (value: unknown, options: MaskOptions) => unknown>> = {
  null: () => null,
  hash: (value, { hash }) => hash?.(value) ?? null,
  last4,
  year,
};

/**
 * The row with its masked columns hidden: `drop` takes the member away, `null` leaves JSON null, `hash` a text that is
 * equal only inside a tenant, `last4` `"****"` and the last 4 characters of a longer text, `year` a date's year. Null
 * stays null. `columns` names those that really held something and were changed. The row itself is left as it is.
 */
export const applyMask = (
  row: Readonly<Record<string, unknown>>,
  mask: ColumnMask,
  options: MaskOptions = {},
): { readonly row: Record<string, unknown>; readonly columns: readonly string[] } => {
  const columns: string[] = [];
  const kept: [string, unknown][] = [];
  for (const [column, value] of Object.entries(row)) {
    const kind = Object.hasOwn(mask, column) ? kindOf(mask[column] ?? "drop") : undefined;
    if (kind === undefined) kept.push([column, value]);
    else {
      if (kind === "drop" || (value !== null && value !== undefined)) columns.push(column);
      if (kind !== "drop") kept.push([column, value === null || value === undefined ? null : hiders[kind](value, options)]);
    }
  }
  return { row: Object.fromEntries(kept), columns };
};
