import { isObject } from "#contract/is-object.ts";
import { mergeMasks, mergeRowFilters, type ColumnMask } from "#contract/data-scope.ts";
import type { Properties } from "#pdp/model/ask.ts";

/** Stronger sign-ins come later. */
const assurances = ["strong", "phishing_resistant"];

const texts = (value: unknown): readonly string[] =>
  Array.isArray(value) ? value.filter((item): item is string => typeof item === "string") : [];

/** YAML's null is the mask of that name. */
const maskOf = (value: unknown): ColumnMask =>
  isObject(value)
    ? Object.fromEntries(Object.entries(value).map(([column, kind]) => [column, typeof kind === "string" ? kind : JSON.stringify(kind)]))
    : {};

type Merge = (one: unknown, other: unknown) => unknown;

/** How members of one obligation come together when several policies ask for it: always the narrower of the two. */
const merges: Readonly<Record<string, Merge>> = {
  tenant_ids: (one, other) => texts(one).filter((id) => texts(other).includes(id)),
  row_filter_sql: (one, other) => mergeRowFilters(String(one), String(other)),
  column_mask: (one, other) => mergeMasks(maskOf(one), maskOf(other)),
  acr_value: (one, other) => assurances[Math.max(assurances.indexOf(String(one)), assurances.indexOf(String(other)))] ?? one,
};

/** True when two forms of one obligation may differ in this member. */
export const canMerge = (member: string, one: unknown, other: unknown): boolean =>
  Object.hasOwn(merges, member) || (typeof one === "number" && typeof other === "number") || JSON.stringify(one) === JSON.stringify(other);

/** Both at once: tenants intersect, row filters are ANDed, of masks the stricter, of numbers the smaller. */
export const mergeProperties = (one: Properties, other: Properties): Properties => {
  const merged: Record<string, unknown> = { ...one };
  for (const [member, value] of Object.entries(other)) {
    const held = merged[member];
    if (held === undefined) merged[member] = value;
    else if (Object.hasOwn(merges, member)) merged[member] = merges[member]?.(held, value);
    else if (typeof held === "number" && typeof value === "number") merged[member] = Math.min(held, value);
  }
  return merged;
};
