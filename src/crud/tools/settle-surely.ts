import type { CallParts } from "./tool-call.ts";

const TRIES = 6;

type LaterParts = Pick<CallParts, "log" | "stopping">;

/** Tried again in the background for about two minutes, while the service runs. */
const settleLater = (work: () => Promise<unknown>, parts: LaterParts, callId: string, attempt = 1): void => {
  const timer = setTimeout(
    () => {
      if (parts.stopping.aborted) return;
      work().catch((cause: unknown) => {
        if (attempt < TRIES) settleLater(work, parts, callId, attempt + 1);
        else parts.log.error("tool_settlement_failed", { call_id: callId, cause });
      });
    },
    1000 * 2 ** attempt,
  );
  timer.unref();
};

/**
 * Closes what is held for a call: now, or else in the background, and then it is `pending`. Where no try succeeds, the reservation's end
 * charges all of it by itself.
 */
export const settleSurely = async <T>(work: () => Promise<T>, parts: LaterParts, callId: string): Promise<T | "pending"> => {
  try {
    return await work();
  } catch (cause) {
    parts.log.warn("tool_settlement_retry", { call_id: callId, cause });
    settleLater(work, parts, callId);
    return "pending";
  }
};
