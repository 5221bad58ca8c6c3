import { ask } from "#contract/ask.ts";
import { keepsRow, mergeMasks, parseRowFilter, type MaskKind, type RowFilter } from "#contract/data-scope.ts";
import { dataScope } from "#contract/membership.ts";
import { Problem } from "#contract/problem.ts";
import type { Caller } from "#authn/model/caller.ts";
import type { ScopeObligation } from "#pdp-client/obligations.ts";
import { withinTenant, type MembershipParts } from "#crud/model/ask-membership.ts";
import { valueAt } from "#crud/model/value-at.ts";
import type { RowRules } from "#crud/tools/tool.ts";

/** Which rows may leave and which of their columns are hidden, for this caller. */
export interface RowScope {
  readonly keeps: (row: unknown) => boolean;
  readonly masks: Readonly<Record<string, MaskKind>>;
  /** The same filters on the rows of the read that guards a write. */
  readonly guardKeeps?: ((row: unknown) => boolean) | undefined;
}

const unavailable = (detail: string, cause?: unknown): Problem => new Problem("data_scope_unavailable", { detail, cause });

const columnsOf = (filter: RowFilter): readonly string[] =>
  filter.kind === "none" ? [] : [filter.column, ...(filter.own === undefined ? [] : [filter.own.column])];

/** These columns of a row, as the filters name them; what the row does not hold is not there. */
const readColumns = (row: unknown, columns: RowRules["columns"]): Readonly<Record<string, unknown>> =>
  Object.fromEntries(
    [...columns].map(([column, pointer]) => [column, valueAt(row, pointer)] as const).filter(([, value]) => value !== undefined),
  );

/** Compiles filters and masks against the tool's columns. What cannot be mapped is refused: a guess would show rows. */
const compileScope = (rules: RowRules, scopes: readonly ScopeObligation[]): RowScope => {
  const guarded = rules.guard?.tool().rules.rows;
  const filters = scopes.map((scope) => {
    const filter = parseRowFilter(scope.row_filter_sql);
    if (filter === undefined) throw unavailable("The row filter is not understood.");
    const unmapped = columnsOf(filter).find((column) => !rules.columns.has(column));
    if (unmapped !== undefined) throw unavailable(`The tool does not map the column ${unmapped}.`);
    return filter;
  });
  const masks = scopes.map((scope) => scope.column_mask).reduce<Record<string, MaskKind>>((held, next) => mergeMasks(held, next), {});
  const unmasked = Object.keys(masks).find((column) => !rules.columns.has(column));
  if (unmasked !== undefined) throw unavailable(`The tool does not map the column ${unmasked}.`);
  const named = new Set(filters.flatMap(columnsOf));
  const filtered = new Map([...rules.columns].filter(([column]) => named.has(column)));
  return {
    keeps: (row) => {
      const columns = readColumns(row, filtered);
      return filters.every((filter) => keepsRow(filter, columns));
    },
    masks,
    guardKeeps: guarded === undefined ? undefined : compileScope(guarded, scopes).keeps,
  };
};

/**
 * Asks which rows and columns of the tool's resource type the caller may see, in the caller's own tenant, and joins it
 * with what the permit obliged to. Asked before anything is reserved or sent. Throws `data_scope_unavailable`.
 */
export const gatherRowScope = async (
  rules: RowRules | undefined,
  caller: Caller,
  obliged: readonly ScopeObligation[],
  parts: MembershipParts,
  correlationId: string,
): Promise<RowScope | undefined> => {
  if (rules === undefined) return undefined;
  try {
    const headers = await withinTenant(parts, caller, ["pip.read"], correlationId);
    const scope = await ask(parts.membership, dataScope, {
      query: { subject_id: caller.sub, resource_type: rules.resourceType },
      headers,
    });
    return compileScope(rules, [
      { row_filter_sql: scope.tenant_ids.length === 0 ? "1=0" : scope.row_filter_sql, column_mask: scope.column_mask },
      ...obliged,
    ]);
  } catch (error) {
    if (error instanceof Problem && error.code === "data_scope_unavailable") throw error;
    if (!(error instanceof Problem) || error.status >= 500) throw new Problem("membership_unavailable", { cause: error });
    throw unavailable("The rows of the caller are not known.", error);
  }
};
