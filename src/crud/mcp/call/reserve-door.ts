import { ask } from "#contract/ask.ts";
import { release, reserve, settle, type Reservation } from "#contract/reservations.ts";
import { usdFromMicro } from "#contract/ids.ts";
import { Problem } from "#contract/problem.ts";
import type { Tool } from "#crud/mcp/tool.ts";
import type { CorridorParts } from "./corridor-parts.ts";
import type { Delegated } from "./delegation-door.ts";

/** Steps and money held for one call. Persons, services and built-in tools hold none. */
export interface Held {
  readonly reservationId: string;
  readonly delegationId: string;
  readonly steps: number;
  readonly micro: bigint;
}

export interface Charged {
  readonly steps: number;
  readonly usd: number;
  readonly left: { readonly steps: number; readonly usd: number };
}

type MoneyParts = Pick<CorridorParts, "membership" | "membershipAudience" | "identity">;

const headersOf = async (parts: MoneyParts, correlationId: string): Promise<Record<string, string>> => ({
  authorization: `Bearer ${await parts.identity.asService(parts.membershipAudience, ["membership.budget"])}`,
  "x-correlation-id": correlationId,
});

/** Codes with which membership refuses to hold; the same words on our wire. */
const refusals = new Set(["delegation_inactive", "capability_missing", "steps_exhausted", "budget_exhausted", "rate_exceeded"]);

export const isBudgetRefusal = (error: unknown): error is Problem => error instanceof Problem && refusals.has(error.code);

/**
 * Holds one step and the tool's price for this call, or nothing. Throws membership's refusal, or `membership_unavailable`.
 * Whatever was cached before, this is true now: after a revocation has answered, nothing is held.
 */
export const requireReservation = async (
  call: { readonly callId: string; readonly correlationId: string },
  tool: Tool,
  delegated: Delegated,
  parts: MoneyParts & Pick<CorridorParts, "callTimeoutMs">,
): Promise<Held | undefined> => {
  const hop = delegated.hops.at(-1);
  if (hop === undefined || tool.isBuiltIn) return undefined;
  const held: Reservation = await ask(parts.membership, reserve, {
    body: {
      call_id: call.callId,
      user_id: hop.userId,
      agent_id: hop.agentId,
      tool_id: tool.name,
      steps: 1,
      usd: usdFromMicro(tool.rules.reserveMicro),
      ttl_s: Math.min(3600, Math.ceil(parts.callTimeoutMs / 1000) + 30),
    },
    headers: await headersOf(parts, call.correlationId),
  }).catch((error: unknown) => {
    throw isBudgetRefusal(error) ? error : new Problem("membership_unavailable", { cause: error });
  });
  return { reservationId: held.reservation_id, delegationId: held.delegation_id, steps: 1, micro: tool.rules.reserveMicro };
};

export const releaseHeld = async (held: Held, parts: MoneyParts, correlationId: string): Promise<void> => {
  await ask(parts.membership, release, { params: { id: held.reservationId }, headers: await headersOf(parts, correlationId) });
};

/** Charges what was used; at `unknown` all that was held. A repeat of the same charge changes nothing. */
export const settleHeld = async (
  held: Pick<Held, "reservationId">,
  actual: { readonly micro: bigint; readonly steps: number; readonly outcome: "ok" | "failed" | "unknown" },
  parts: MoneyParts,
  correlationId: string,
): Promise<Charged> => {
  const settled = await ask(parts.membership, settle, {
    params: { id: held.reservationId },
    body: { usd: usdFromMicro(actual.micro), steps: actual.steps, outcome: actual.outcome },
    headers: await headersOf(parts, correlationId),
  });
  return {
    steps: settled.charged_steps,
    usd: settled.charged_usd,
    left: { steps: settled.steps_left, usd: settled.budget_left_usd },
  };
};
