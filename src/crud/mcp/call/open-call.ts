import type { EntryDraft, OpenAct } from "#events/audit/entry.ts";
import { openedEntry } from "./call-record.ts";
import { recordingRefusal } from "./refused-call.ts";
import { releaseCall } from "./reserve-call.ts";
import type { ReservedCall } from "./steps/reserve-budget.ts";
import { timedStep } from "./timed-step.ts";
import type { CallParts } from "#crud/tools/tool-call.ts";

/** A call whose open entry is committed: it may be sent, and is closed and settled, whatever happens. */
export interface OpenedCall extends ReservedCall {
  /** `performance.now()` of the moment. */
  readonly openedAt: number;
}

/** A call that opened by itself, not in a transaction of a workflow's step. */
export interface DirectCall extends OpenedCall {
  readonly act: OpenAct;
}

/** Third function of a call that a transaction opens: the entry for that transaction. */
export const openEntry = (reserved: ReservedCall): EntryDraft => ({
  ...openedEntry(reserved),
  phase: "open",
  outcome: "pending",
  actId: reserved.call.callId,
});

/** Third function of a direct call: commits the open entry. Throws `audit_unavailable`, and then nothing is reserved any more. */
export const openCall = (reserved: ReservedCall, parts: CallParts): Promise<DirectCall> =>
  recordingRefusal(reserved, parts, async () => {
    try {
      const act = await timedStep(parts)("audit", () => parts.recorder.open(openedEntry(reserved), reserved.call.callId));
      return { ...reserved, act, openedAt: performance.now() };
    } catch (error) {
      await releaseCall(reserved, parts);
      throw error;
    }
  });
