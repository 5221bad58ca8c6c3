import type { RowMask } from "#membership/graph/sql-pip.ts";

/** Masks, by `<type>/<action>`, that calls through the agent would not have. */
export type Lifts = ReadonlySet<string>;

export const noLifts: Lifts = new Set();

export const liftOf = ({ resourceType, unless_allowed: action }: RowMask): string | undefined =>
  action === undefined ? undefined : `${resourceType}/${action}`;
