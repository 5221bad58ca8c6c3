import { z } from "zod";
import { reasons } from "./authzen.ts";
import { endpoint, withoutAgents } from "./endpoint.ts";
import { decisionId, plainText, sentId, timestamp } from "./ids.ts";
import { mayView, POLICIES, examinedRefusals, policyRefusals, policyVersion } from "./policies.ts";

/** Recorded decisions, made again by another version: many at once, or a single one. */

const side = z.object({
  decision: z.boolean(),
  reason: z.string().optional(),
  obligations: z.array(z.string()),
  policies: z.array(z.string()),
});
/** Decisions that differ in the same way. */
export const differenceClass = z.object({
  resource_type: z.string(),
  action: z.string(),
  active: side,
  other: side,
  count: z.number().int(),
  first_seen: timestamp,
  last_seen: timestamp,
  /** Who and what it was, for who may see all decisions; a secret has no id here. */
  sample: z
    .array(
      z.object({
        decision_id: z.string().optional(),
        subject: z.string(),
        agent: z.string().optional(),
        resource_id: z.string().optional(),
      }),
    )
    .optional(),
});
export type DifferenceClass = z.infer<typeof differenceClass>;

export const startReplay = endpoint("pdp", "POST", `${POLICIES}/replay`, {
  body: z.strictObject({
    version: policyVersion,
    filter: z
      .strictObject({
        from: timestamp.optional(),
        to: timestamp.optional(),
        subject: plainText(1, 256).optional(),
        action: plainText(1, 128).optional(),
        decision: z.boolean().optional(),
      })
      .default({}),
    /** The newest so many decisions. */
    limit: z.number().int().min(1).max(1_000_000).default(10_000),
  }),
  reply: z.object({ replay_id: z.string() }),
  status: 202,
  ...mayView,
  problems: [...examinedRefusals, "not_found", "policy_invalid", "too_many"],
  summary: "Decide recorded decisions of the tenant again by another version, in the background.",
});

export const replayState = z.enum(["running", "done", "stopped", "failed"]);
export const readReplay = endpoint("pdp", "GET", `${POLICIES}/replay/{id}`, {
  params: z.object({ id: sentId }),
  reply: z.object({
    replay_id: z.string(),
    version: z.string(),
    state: replayState,
    evaluated: z.number().int(),
    unchanged: z.number().int(),
    newly_allowed: z.number().int(),
    newly_denied: z.number().int(),
    /** Denied or permitted as before, but for another reason or with other obligations. */
    changed: z.number().int(),
    not_replayable: z.number().int(),
    classes: z.array(differenceClass),
    /** More kinds of difference were found than are kept. */
    truncated: z.boolean(),
  }),
  ...mayView,
  problems: [...policyRefusals, "not_found"],
  summary: "How far a replay is, and only what differs.",
});

export const stopReplay = endpoint("pdp", "DELETE", `${POLICIES}/replay/{id}`, {
  params: z.object({ id: sentId }),
  reply: z.undefined(),
  status: 204,
  ...mayView,
  problems: [...policyRefusals, "not_found"],
  summary: "Stop a replay; what it found so far stays readable.",
});

const ruled = z.object({
  policy_version: z.string(),
  decision: z.boolean(),
  reason: z.enum(reasons).optional(),
  obligations: z.array(z.string()),
  policies: z.array(z.string()),
});

export const replayDecision = endpoint("pdp", "POST", "/access/v1/decisions/{id}/replay", {
  params: z.object({ id: decisionId }),
  body: z.strictObject({ version: policyVersion.optional() }).optional(),
  reply: z.object({
    decision_id: z.string(),
    /** As it was recorded. */
    // oxlint-disable-next-line unicorn/no-thenable -- a record, never a function: awaiting the reply stays safe
    then: ruled,
    /** On the recorded facts, by the version asked for, the active one unless given. */
    now: ruled,
    changed: z.array(z.enum(["decision", "reason", "obligations", "policies"])),
  }),
  ...withoutAgents({ decision: "decisions/explain" }),
  problems: ["not_found", "access_denied", "step_up_required", "not_replayable", "not_supported", "policy_invalid", "busy"],
  summary: "Decide a recorded decision again on the facts it had.",
});
