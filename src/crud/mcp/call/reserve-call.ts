import type { AuthorizedCall } from "./steps/check-chain.ts";
import { requireAllowed, requireReservation, type ReservedCall } from "./steps/reserve-budget.ts";
import { recordingRefusal } from "./refused-call.ts";
import { settleSurely } from "#crud/tools/settle-surely.ts";
import { timedStep } from "./timed-step.ts";
import type { CallParts, Settlement } from "#crud/tools/tool-call.ts";

/** Releases what was reserved for a call that is not opened. Never throws: what cannot be released now is tried again. */
export const releaseCall = async ({ held, call }: ReservedCall, parts: CallParts): Promise<void> => {
  if (held === undefined) return;
  const { callId, correlationId } = call;
  const released: Settlement = { callId, correlationId, reservationId: held.reservationId, micro: 0n, steps: 0, outcome: "released" };
  await settleSurely(() => parts.settlements.settle(released), parts, callId);
};

/** Second function of a call: a step and money by its id, and what the delegation demands of the arguments. Throws a `Problem`, recorded. */
export const reserveCall = (decided: AuthorizedCall, parts: CallParts): Promise<ReservedCall> =>
  recordingRefusal(decided, parts, async () => {
    const held = await timedStep(parts)("reserve", () => requireReservation(decided, parts));
    const reserved = { ...decided, held };
    try {
      await requireAllowed(held, decided);
    } catch (error) {
      await releaseCall(reserved, parts);
      throw error;
    }
    return reserved;
  });
