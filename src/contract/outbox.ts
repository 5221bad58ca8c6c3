import { z } from "zod";
import { endpoint } from "./endpoint.ts";
import { cursorPage, timestamp } from "./ids.ts";

/** Events on their way to Kafka, as an operator sees them: which, where to and what stands in the way; never their data. */

const outboxItem = z.object({
  id: z.uuid(),
  type: z.string(),
  topic: z.string(),
  key: z.string(),
  /** Only where those of all tenants are listed; `*`: of no tenant. */
  tenant: z.string().optional(),
  at: timestamp,
  attempts: z.int(),
  /** Not tried again before. */
  next_at: timestamp.optional(),
  /** Given up then, and copied to the topic's dead letters. */
  dead_at: timestamp.optional(),
  /** Kafka's word for the last issue. */
  error: z.string().optional(),
  /** Of its data. */
  bytes: z.int(),
});

const common = {
  auth: "session+bearer",
  agents: "never",
  scope: ["outbox.manage"],
  decision: "outbox/manage",
} as const;

/** `all`: of every tenant and of none, for who runs the deployment. */
const whose = z.enum(["tenant", "all"]).default("tenant");
export const outboxActQuery = z.strictObject({ whose });

export const outboxQuery = z.strictObject({
  whose,
  state: z.enum(["pending", "dead"]).default("dead"),
  ...cursorPage,
});

export const listOutbox = endpoint("gateway", "GET", "/api/v1/events/outbox", {
  ...common,
  query: outboxQuery,
  reply: z.object({ items: z.array(outboxItem), next_cursor: z.string().optional() }),
  problems: ["access_denied", "step_up_required", "insufficient_scope", "decision_unavailable", "invalid_cursor", "invalid_query"],
  summary: "The tenant's events that Kafka has not taken, the oldest first: those that wait, or those that it refused for good.",
});

const acts = {
  ...common,
  query: outboxActQuery,
  params: z.object({ id: z.string().regex(/^[0-9a-f-]{36}$/) }),
  reply: outboxItem.pick({ id: true, type: true, topic: true, key: true }),
  problems: [
    "access_denied",
    "step_up_required",
    "insufficient_scope",
    "csrf_failed",
    "decision_unavailable",
    "invalid_query",
    "not_found",
    "audit_unavailable",
  ],
} as const;

export const retryOutbox = endpoint("gateway", "POST", "/api/v1/events/outbox/{id}/retry", {
  ...acts,
  summary: "Send a refused event once more, with all its tries; what came after it within its key was sent before it.",
});

export const dropOutbox = endpoint("gateway", "POST", "/api/v1/events/outbox/{id}/drop", {
  ...acts,
  summary: "Give a refused event up: it stays in the dead letters' topic and in the audit log alone.",
});
