import { noTracing } from "#telemetry/tracing.ts";
import { usdText } from "#contract/ids.ts";
import type { ClosedRecord } from "#contract/tool-call-record.ts";
import type { AuditOutcome } from "#contract/events.ts";
import type { EntryDraft } from "#events/audit/entry.ts";
import { keyedDigest } from "#crud/model/digest.ts";
import type { Ending } from "./invoke-call.ts";
import { openEntry, type DirectCall, type OpenedCall } from "./open-call.ts";
import type { ReservedCall } from "./steps/reserve-budget.ts";
import { settleSurely } from "#crud/tools/settle-surely.ts";
import type { CallParts, Charged, Settlement } from "#crud/tools/tool-call.ts";

type CloseParts = Pick<CallParts, "settlements" | "digestKey" | "log" | "stopping" | "tracing">;

const auditOutcome: Readonly<Record<Ending["effect"], AuditOutcome>> = {
  ok: "ok",
  not_sent: "error",
  failed: "error",
  done: "error",
  unknown: "unknown",
};

/** What the call is charged: its price when the upstream did the work, a step alone when it failed, all when nobody can tell. */
const settlementOf = ({ held, call }: ReservedCall, { effect, costMicro }: Ending): Settlement | undefined => {
  if (held === undefined) return undefined;
  const base = { callId: call.callId, reservationId: held.reservationId, correlationId: call.correlationId, steps: 1, micro: 0n };
  const used = costMicro === undefined || costMicro > held.micro ? held.micro : costMicro;
  switch (effect) {
    case "ok":
      return { ...base, micro: used, outcome: "ok" };
    case "done":
      return { ...base, micro: used, outcome: "failed" };
    case "not_sent":
      return { ...base, steps: 0, outcome: "released" };
    case "failed":
      return { ...base, outcome: "failed" };
    case "unknown":
      return { ...base, micro: held.micro, steps: held.steps, outcome: "unknown" };
  }
};

type Money = Pick<ClosedRecord, "settle" | "left">;

const roundedText = (usd: number): string => usdText(BigInt(Math.round(usd * 1e6)));
const moneyOf = (charged: Charged | "released" | "pending" | undefined): Money => {
  if (charged === undefined) return { settle: undefined, left: undefined };
  if (typeof charged === "string") return { settle: { state: charged, steps: 0, usd: usdText(0n) }, left: undefined };
  const { steps, usd, left } = charged;
  return { settle: { steps, usd: roundedText(usd) }, left: { steps: left.steps, usd: roundedText(left.usd) } };
};

const closedRecord = (opened: OpenedCall, ending: Ending, money: Money, { digestKey }: Pick<CloseParts, "digestKey">): ClosedRecord => {
  const shaped = ending.effect === "ok" ? ending.shaped : undefined;
  return {
    duration_ms: Math.round(performance.now() - opened.openedAt),
    upstream_status: ending.upstreamStatus,
    output_digest: shaped === undefined ? undefined : keyedDigest(digestKey, shaped.value),
    rows_out: shaped?.rowsOut,
    masked: shaped?.masked.slice(0, 50).map(({ path }) => path),
    ...money,
    secrets: ending.secrets,
    audience: opened.audience,
  };
};

const codeOf = (ending: Ending): string | undefined => (ending.effect === "ok" ? undefined : ending.failure.problem.code);

/** What came of closing: whether the record has landed, and what the call costs, also where the charge is still to be written. */
export interface ClosedCall {
  readonly isAuditPending: boolean;
  readonly costMicro: bigint;
}

/** Fifth function of a direct call: settles the money, then closes the record; never refuses and never undoes the act. */
export const closeCall = async (opened: DirectCall, ending: Ending, parts: CloseParts): Promise<ClosedCall> => {
  const { call, act } = opened;
  const { tracing = noTracing, settlements } = parts;
  const settlement = settlementOf(opened, ending);
  const charged =
    settlement === undefined
      ? undefined
      : await tracing.span("budget.settle", {}, () => settleSurely(() => settlements.settle(settlement), parts, call.callId));
  const end = closedRecord(opened, ending, moneyOf(charged), parts);
  const closed = await tracing.span("audit.close", {}, () => act.close(auditOutcome[ending.effect], end, { code: codeOf(ending) }));
  return { isAuditPending: closed === "pending", costMicro: charged === "released" ? 0n : (settlement?.micro ?? 0n) };
};

/**
 * Fifth function of a call that a transaction closes: the entry and the charge for that transaction. `left` is what the reservation
 * answered, since the charge is delivered after the commit.
 */
export const closeEntry = (
  opened: OpenedCall,
  ending: Ending,
  parts: Pick<CloseParts, "digestKey">,
): { readonly entry: EntryDraft; readonly settlement: Settlement | undefined } => {
  const settlement = settlementOf(opened, ending);
  const money: Money = {
    settle: settlement === undefined ? undefined : { steps: settlement.steps, usd: usdText(settlement.micro) },
    left: opened.held === undefined ? undefined : { steps: opened.held.left.steps, usd: roundedText(opened.held.left.usd) },
  };
  return {
    settlement,
    entry: {
      ...openEntry(opened),
      phase: "close",
      outcome: auditOutcome[ending.effect],
      code: codeOf(ending),
      data: closedRecord(opened, ending, money, parts),
    },
  };
};
