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
