import { z } from "zod";
import { isFilterColumn } from "#contract/data-scope.ts";
import { nodeId, plainText } from "#contract/ids.ts";

/** A data scope rule: which column holds the tenant, and which columns are hidden from whom. */
export const dataScopeRule = z.strictObject({
  tenant_column: z.string().refine(isFilterColumn, "is not a plain column name").default("tenant_id"),
  own_column: z.string().refine(isFilterColumn, "is not a plain column name").optional(),
  /** Members see only rows of their own. */
  own_groups: z.array(nodeId).max(100).default([]),
  masks: z
    .array(
      z.strictObject({
        column: plainText(1, 128),
        kind: z.enum(["drop", "null", "hash", "last4", "year"]),
        unless_member_of: z.array(nodeId).max(100),
      }),
    )
    .max(200)
    .default([]),
});
export type DataScopeRule = z.output<typeof dataScopeRule>;
