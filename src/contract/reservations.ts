import { z } from "zod";
import { endpoint, withoutAgents } from "./endpoint.ts";
import { nodeId, plainText, sentUsd, timestamp, usd } from "./ids.ts";

/** The money of one tool call, held before it and charged after it: reserve, settle, release. */

const RESERVATIONS = "/api/v1/delegations/reservations";
const reservationId = z.object({ id: z.uuid() });

export const reservationView = z.object({
  reservation_id: z.string(),
  call_id: z.string(),
  tool_id: z.string(),
  state: z.string(),
  outcome: z.string().nullable(),
  steps: z.number().int(),
  usd,
  charged_steps: z.number().int().nullable(),
  charged_usd: usd.nullable(),
  created_at: timestamp,
  closed_at: timestamp.nullable(),
});

export const reservationAsk = z.strictObject({
  call_id: plainText(1, 128),
  user_id: nodeId,
  agent_id: nodeId,
  /** Where `user_id` is an agent that handed on what it holds: whose it is. */
  person_id: nodeId.optional(),
  tool_id: plainText(1, 200),
  delegation_id: nodeId.optional(),
  steps: z.number().int().min(1).max(1000).default(1),
  usd: sentUsd(10_000),
  ttl_s: z.number().int().min(5).max(3600).default(120),
  /** Whether it would be held, by the very rules that would hold it: nothing is kept, and the answer is 200. */
  dry_run: z.boolean().default(false),
});

export const reservation = z.object({
  reservation_id: z.string(),
  /** Of a call that was asked before it may be over: settled, released or lapsed. */
  state: z.string(),
  delegation_id: z.string(),
  steps_left: z.number().int(),
  budget_left_usd: usd,
  ends_at: timestamp,
  /** What the arguments of this call must fit, as its delegation and those above it demand; absent = anything. */
  argument_schemas: z.array(z.record(z.string(), z.unknown())).optional(),
});
export type Reservation = z.infer<typeof reservation>;

const budgetScope = withoutAgents({ scope: ["membership.budget"] });
const ofOne = { params: reservationId, ...budgetScope, problems: ["not_found", "reservation_closed"] } as const;
/** Codes with which nothing is held. */
export const reserveRefusals = [
  "delegation_inactive",
  "capability_missing",
  "steps_exhausted",
  "budget_exhausted",
  "rate_exceeded",
  "call_limit_exceeded",
  "outside_hours",
] as const;

export const reserve = endpoint("membership", "POST", RESERVATIONS, {
  body: reservationAsk,
  reply: reservation,
  status: 201,
  moreStatuses: [200],
  ...budgetScope,
  problems: ["idempotency_conflict", "busy", "ledger_inconsistent"],
  conflicts: reserveRefusals,
  summary: "Hold steps and money for one call; the same call_id gets the first answer again.",
});

export const settle = endpoint("membership", "POST", `${RESERVATIONS}/{id}/settle`, {
  ...ofOne,
  body: z.strictObject({ usd: sentUsd(1_000_000_000), steps: z.number().int().min(0), outcome: z.enum(["ok", "failed", "unknown"]) }),
  reply: z.object({
    charged_usd: usd,
    charged_steps: z.number().int(),
    excess_usd: usd,
    steps_left: z.number().int(),
    budget_left_usd: usd,
  }),
  summary: "Charge what was used, at most what was held.",
});

export const release = endpoint("membership", "POST", `${RESERVATIONS}/{id}/release`, {
  ...ofOne,
  reply: z.object({ released: z.literal(true) }),
  summary: "Never begun: nothing is charged.",
});

export const extend = endpoint("membership", "POST", `${RESERVATIONS}/{id}/extend`, {
  ...ofOne,
  body: z.strictObject({ ttl_s: z.number().int().min(5).max(3600) }),
  reply: z.object({ reservation_id: z.string(), ends_at: timestamp }),
  summary: "Hold it for so long from now; never shorter than before.",
});

export const findReservation = endpoint("membership", "GET", RESERVATIONS, {
  query: z.strictObject({ call_id: plainText(1, 128) }),
  reply: reservationView.extend({ delegation_id: z.string() }).nullable(),
  ...budgetScope,
  summary: "The reservation of a call, for a pipeline that was restarted.",
});

export const spend = endpoint("membership", "GET", "/api/v1/delegations/spend", {
  query: z.strictObject({ user_id: nodeId, from: timestamp.optional(), to: timestamp.optional() }),
  reply: z.object({
    settled_usd: usd,
    held_usd: usd,
    steps: z.number().int(),
    by_delegation: z.array(z.object({ delegation_id: z.string(), settled_usd: usd, held_usd: usd, steps: z.number().int() })),
  }),
  ...budgetScope,
  summary: "What a person's agents spent, and those that they handed it on to.",
});
