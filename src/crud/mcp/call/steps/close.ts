import { noTracing } from "#telemetry/tracing.ts";
import { usdText } from "#contract/ids.ts";
import type { ClosedRecord } from "#contract/tool-call-record.ts";
import type { AuditOutcome } from "#contract/events.ts";
import type { OpenAct } from "#events/audit/entry.ts";
import { keyedDigest } from "#crud/mcp/digest.ts";
import type { AuthorizedCall } from "./check-chain.ts";
import { releaseHeld, settleHeld, type Charged, type Held } from "./reserve-budget.ts";
import { settleSurely } from "#crud/mcp/call/settle-surely.ts";
import type { Shaped } from "./filter-output.ts";
import type { CallParts } from "#crud/mcp/call/tool-call.ts";
import type { Effect, UpstreamError } from "#crud/mcp/call/upstream-error.ts";

/** How a call that was opened ended. */
export interface Ending {
  readonly effect: Effect | "ok";
  readonly code?: string;
  readonly upstreamStatus: number | undefined;
  readonly shaped?: Shaped;
  readonly costMicro: bigint | undefined;
  readonly secrets: UpstreamError["secrets"];
}

/** A call that was opened: from here on it is closed and settled, whatever happens. */
export interface OpenedCall extends AuthorizedCall {
  readonly held: Held | undefined;
  readonly act: OpenAct;
  /** `performance.now()` of the moment. */
  readonly openedAt: number;
}

type CloseParts = Pick<CallParts, "membership" | "membershipAudience" | "identity" | "digestKey" | "log" | "stopping" | "tracing">;

const auditOutcome: Readonly<Record<Ending["effect"], AuditOutcome>> = {
  ok: "ok",
  not_sent: "error",
  failed: "error",
  done: "error",
  unknown: "unknown",
};

/** What the call costs: its price when the upstream did the work, a step alone when it failed, all when nobody can tell. */
const settleBy = (
  ending: Ending,
  held: Held,
): { readonly micro: bigint; readonly steps: number; readonly outcome: "ok" | "failed" | "unknown" } => {
  const used = ending.costMicro === undefined || ending.costMicro > held.micro ? held.micro : ending.costMicro;
  switch (ending.effect) {
    case "ok":
      return { micro: used, steps: 1, outcome: "ok" };
    case "done":
      return { micro: used, steps: 1, outcome: "failed" };
    case "not_sent":
    case "failed":
      return { micro: 0n, steps: 1, outcome: "failed" };
    case "unknown":
      return { micro: held.micro, steps: held.steps, outcome: "unknown" };
  }
};

const settleNow = (
  ending: Ending,
  held: Held,
  parts: CloseParts,
  callId: string,
  correlationId: string,
): Promise<Charged | "released" | "pending"> =>
  settleSurely<Charged | "released">(
    () =>
      ending.effect === "not_sent"
        ? releaseHeld(held, parts, correlationId).then(() => "released" as const)
        : settleHeld(held, settleBy(ending, held), parts, correlationId),
    parts,
    callId,
  );

const settlementData = (charged: Charged | "released" | "pending" | undefined): Pick<ClosedRecord, "settle" | "left"> => {
  if (charged === undefined) return { settle: undefined, left: undefined };
  if (typeof charged === "string") return { settle: { state: charged, steps: 0, usd: usdText(0n) }, left: undefined };
  const text = (usd: number): string => usdText(BigInt(Math.round(usd * 1e6)));
  return { settle: { steps: charged.steps, usd: text(charged.usd) }, left: { steps: charged.left.steps, usd: text(charged.left.usd) } };
};

/** What came of closing: whether the record has landed, and what the call costs, also where the charge is still to be written. */
export interface ClosedCall {
  readonly isAuditPending: boolean;
  readonly costMicro: bigint;
}

/** Settles the money, then closes the record; never refuses and never undoes the act. */
export const closeCall = async (opened: OpenedCall, ending: Ending, parts: CloseParts): Promise<ClosedCall> => {
  const { call, act, held, audience, openedAt } = opened;
  const { tracing = noTracing } = parts;
  const charged =
    held === undefined
      ? undefined
      : await tracing.span("budget.settle", {}, () => settleNow(ending, held, parts, act.actId, call.correlationId));
  const { shaped } = ending;
  const end: ClosedRecord = {
    duration_ms: Math.round(performance.now() - openedAt),
    upstream_status: ending.upstreamStatus,
    output_digest: shaped === undefined ? undefined : keyedDigest(parts.digestKey, shaped.value),
    rows_out: shaped?.rowsOut,
    masked: shaped?.masked.slice(0, 50).map(({ path }) => path),
    ...settlementData(charged),
    secrets: ending.secrets,
    audience,
  };
  const closed = await tracing.span("audit.close", {}, () => act.close(auditOutcome[ending.effect], end, { code: ending.code }));
  const costMicro = held === undefined || charged === "released" ? 0n : settleBy(ending, held).micro;
  return { isAuditPending: closed === "pending", costMicro };
};
