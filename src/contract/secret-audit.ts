import { z } from "zod";
import { endpoint, withoutAgents } from "./endpoint.ts";
import { auditOutcomes } from "./events.ts";
import { plainText, timestamp } from "./ids.ts";
import { common, secretsBase, soughtUri } from "./secrets.ts";

/** Who did what with secrets, out of the audit log. */

const word = plainText(1, 256).optional();
const time = z.iso.datetime({ offset: true, error: "must be a time of RFC 3339" }).optional();

export const listSecretAudit = endpoint("secrets", "GET", `${secretsBase}/audit`, {
  query: z.strictObject({
    op: word,
    outcome: z.enum(auditOutcomes).optional(),
    /** Id of who acted, or its reference. */
    actor: word,
    agent: word,
    uri: soughtUri,
    resource_ref: word,
    decision_id: word,
    correlation_id: word,
    since: time,
    until: time,
    limit: z
      .string()
      .regex(/^[0-9]{1,3}$/)
      .transform(Number)
      .refine((count) => count >= 1 && count <= 500, "must be 1 to 500")
      .optional()
      .meta({ type: "integer", minimum: 1, maximum: 500 }),
    cursor: plainText(0, 2048).optional(),
  }),
  reply: z.object({
    items: z.array(z.object({ audit_id: z.string(), at: timestamp, type: z.string(), data: z.record(z.string(), z.unknown()) })),
    next_cursor: z.string().optional(),
    source: z.literal("log"),
    dropped: z.literal(0),
  }),
  ...withoutAgents({ scope: ["secrets.audit", "audit.read"], decision: "secret/read_audit" }),
  problems: [...common, "query_repeated", "query_unknown", "query_encoding", "invalid_cursor"],
  summary: "Acts on secrets of the tenant, the newest first; secrets by reference, never a value, and who did it.",
});
