import { ask } from "#contract/ask.ts";
import { findReservation } from "#contract/reservations.ts";
import { microFromUsd } from "#contract/ids.ts";
import type { AuditCategory } from "#contract/events.ts";
import type { CallParts } from "#crud/tools/tool-call.ts";
import { forgetRunning } from "./call/steps/idempotency.ts";
import { settleHeld } from "./call/steps/reserve-budget.ts";

/** One act that a dead process left open. */
export interface DeadAct {
  readonly actId: string;
  readonly category: AuditCategory;
  readonly tenant: string;
}

type RecoverParts = Pick<CallParts, "membership" | "membershipAudience" | "identity" | "database" | "log">;

/**
 * Settles what a dead tool call held, as unknown: whether its upstream did the work cannot be told, so all of it is
 * charged. Acts of other kinds are left to their modules. Throws if membership does not answer; the act is then tried again.
 */
export const settleDeadCall = async (act: DeadAct, parts: RecoverParts): Promise<undefined> => {
  if (act.category !== "tool_call") return undefined;
  const token = await parts.identity.asService(parts.membershipAudience, ["membership.budget"]);
  const found = await ask(parts.membership, findReservation, {
    query: { call_id: act.actId },
    headers: { authorization: `Bearer ${token}` },
  });
  if (found !== null && found.state === "held") {
    await settleHeld(
      { reservationId: found.reservation_id },
      { micro: microFromUsd(found.usd), steps: found.steps, outcome: "unknown" },
      parts,
      act.actId,
    );
  }
  await forgetRunning(parts.database, act.actId);
  parts.log.info("tool_call_settled_unknown", { call_id: act.actId, tenant: act.tenant, charged: found?.state === "held" });
  return undefined;
};
