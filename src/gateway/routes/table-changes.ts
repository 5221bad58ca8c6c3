import type { Route, RouteTable } from "./route-table.ts";

/** What one table serves otherwise than another, by the ids of the rows. */
export interface TableChanges {
  readonly added: readonly string[];
  readonly changed: readonly string[];
  readonly removed: readonly string[];
}

/** All that makes a difference to a request; where it stands in the file does not. */
const meaningOf = (route: Route): string =>
  JSON.stringify([
    route.row,
    route.target,
    route.audiences,
    [...route.mappings].map(([method, { mapping, source }]) => [method, mapping, source]),
  ]);

/** Whether a row that a request began with is still in the table, with the same meaning. */
export const isInTable = (table: RouteTable, route: Route): boolean => {
  const now = table.routes.find(({ id }) => id === route.id);
  return now === route || (now !== undefined && meaningOf(now) === meaningOf(route));
};

/** Compares two tables row by row, each list in the order of its file. */
export const tableChanges = (before: RouteTable, after: RouteTable): TableChanges => {
  const old = new Map(before.routes.map((route) => [route.id, meaningOf(route)]));
  const now = new Map(after.routes.map((route) => [route.id, meaningOf(route)]));
  return {
    added: [...now.keys()].filter((id) => !old.has(id)),
    changed: [...now].filter(([id, meaning]) => old.has(id) && old.get(id) !== meaning).map(([id]) => id),
    removed: [...old.keys()].filter((id) => !now.has(id)),
  };
};
