import { z } from "zod";
import { timestamp } from "./ids.ts";

/** What happened, as streams and records name it. */

export const auditCategories = [
  "decision",
  "tool_call",
  "secret",
  "sign_in",
  "delegation",
  "governance",
  "config",
  "policy",
  "plugin",
  "workflow",
  "task",
  "system",
] as const;
export type AuditCategory = (typeof auditCategories)[number];

export const auditOutcomes = ["ok", "denied", "refused", "error", "unknown", "pending"] as const;
export type AuditOutcome = (typeof auditOutcomes)[number];

/** One act of the activity stream: the open and close entries of an act folded into a row. */
export const activityRow = z.looseObject({
  act_id: z.string(),
  seq: z.number().int(),
  at: timestamp,
  ended_at: timestamp.optional(),
  category: z.enum(auditCategories),
  outcome: z.enum(auditOutcomes),
  code: z.string().optional(),
  actor: z.looseObject({ subject_ref: z.string().optional(), agent_id: z.string().optional(), name: z.string().optional() }),
  resource: z.looseObject({ type: z.string(), id: z.string().optional() }),
  decision_id: z.string().optional(),
  correlation_id: z.string(),
});
