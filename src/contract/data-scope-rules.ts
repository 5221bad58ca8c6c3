import { z } from "zod";
import { isFilterColumn, maskKinds } from "./data-scope.ts";
import { endpoint, withoutAgents } from "./endpoint.ts";
import { reason, removal } from "./graph-edit.ts";
import { nodeId, plainText } from "./ids.ts";

/** A data scope rule: which column holds the tenant, and which columns are hidden from whom. */
const column = z.string().refine(isFilterColumn, "is not a plain column name").meta({ pattern: "^[a-z_][a-z0-9_]{0,62}$" });
const members = {
  tenant_column: column.default("tenant_id"),
  own_column: column.optional(),
  /** Members see only rows of their own. */
  own_groups: z.array(nodeId).max(100).default([]),
  masks: z
    .array(
      z.strictObject({
        column: plainText(1, 128),
        kind: z.enum(maskKinds),
        unless_member_of: z.array(nodeId).max(100),
      }),
    )
    .max(200)
    .default([]),
};
export const dataScopeRule = z.strictObject(members);
export type DataScopeRule = z.output<typeof dataScopeRule>;

const RULES = "/api/v1/data-scope-rules";
const one = z.object({ resource_type: plainText(1, 64) });
const shown = z.object({ ...members, resource_type: z.string() });
const matching = { "If-Match": z.string().optional(), "If-None-Match": z.string().optional() };
const editing = withoutAgents({ scope: ["membership.write"], decision: "graph/edit" });
const reading = withoutAgents({ scope: ["membership.read"], decision: "graph/diagnose" });

export const listDataScopeRules = endpoint("membership", "GET", RULES, {
  reply: z.object({ items: z.array(shown) }),
  ...reading,
  problems: ["tenant_required"],
  summary: "The tenant's rules of rows and columns.",
});

export const getDataScopeRule = endpoint("membership", "GET", `${RULES}/{resource_type}`, {
  params: one,
  reply: shown,
  ...reading,
  problems: ["not_found", "tenant_required"],
  summary: "The rule of a resource type.",
});

export const putDataScopeRule = endpoint("membership", "PUT", `${RULES}/{resource_type}`, {
  params: one,
  headers: matching,
  body: z.strictObject({ ...members, reason }),
  reply: shown,
  moreStatuses: [201],
  ...editing,
  problems: ["if_match_required", "stale_version", "unprocessable", "tenant_required"],
  summary: "Which rows of a resource type who sees, and which columns are hidden. Needs If-Match, or If-None-Match: * for a new one.",
});

export const deleteDataScopeRule = endpoint("membership", "DELETE", `${RULES}/{resource_type}`, {
  params: one,
  headers: { "If-Match": z.string().min(1) },
  ...removal,
  ...editing,
  problems: ["not_found", "if_match_required", "stale_version", "tenant_required"],
  summary: "Take a rule away: the tenants of whoever asks decide alone then. Needs If-Match.",
});
