import { Problem } from "#contract/problem.ts";
import type { Change } from "#events/changes/change.ts";
import { takeApproval } from "#pdp/records/request-store.ts";
import { tellRequests, type RequestReport } from "#pdp/records/report-request.ts";
import { instanceActor } from "#pdp/records/act-actor.ts";
import type { CallRows } from "./call-rows.ts";
import { writeRows } from "./record-store.ts";

/** The approval that a permit rests on was used by another call since, or ended. Nothing of this call was written. */
export class ApprovalTaken extends Problem {
  constructor() {
    super("decision_not_recorded", { detail: "The approval was used meanwhile. Ask again." });
  }
}

/**
 * Writes one call and uses up its approvals, all or nothing, in a transaction of its own: if another call took one first,
 * only this call is refused. Throws `ApprovalTaken` or `decision_not_recorded`.
 */
export const recordTaking = async (
  parts: { readonly change: Change; readonly timeoutMs: number; readonly now: () => Date },
  rows: CallRows,
): Promise<void> => {
  const writing = parts.change(async (sql) => {
    const acts: RequestReport[] = [];
    for (const { approvalId, decisionId, correlationId } of rows.takes) {
      const taken = await takeApproval(sql, approvalId, decisionId, parts.now());
      if (taken === undefined) throw new ApprovalTaken();
      acts.push({ row: taken, act: "used", by: instanceActor(correlationId) });
    }
    writeRows(sql, [rows], parts.now());
    const { events, entries } = tellRequests(acts);
    return { result: undefined, events: [...rows.events, ...events], entries: [...rows.entries, ...entries] };
  });
  const late = new AbortController();
  try {
    await Promise.race([
      writing,
      new Promise<never>((_resolve, reject) => {
        const timer = setTimeout(() => reject(new Error("timeout")), parts.timeoutMs);
        late.signal.addEventListener("abort", () => clearTimeout(timer));
      }),
    ]);
  } catch (cause) {
    writing.catch(() => {});
    throw cause instanceof ApprovalTaken ? cause : new Problem("decision_not_recorded", { cause });
  } finally {
    late.abort();
  }
};
