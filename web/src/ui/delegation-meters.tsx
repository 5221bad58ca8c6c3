import type { ReactElement } from "react";
import type { Delegation } from "#contract/delegations.ts";
import { useLive, useLiveMeter } from "../live/live-context.ts";
import { words } from "../strings/en.ts";
import { formatClock, formatCount, formatMoney } from "../strings/format.ts";
import { amountsOf } from "./amounts.ts";
import { Meter } from "./meter.tsx";

/** Steps and money of a delegation, moving with the stream. */
export const DelegationMeters = ({ delegation, readAt }: { readonly delegation: Delegation; readonly readAt?: Date }): ReactElement => {
  const reported = useLiveMeter(delegation.delegation_id);
  const { state } = useLive();
  const live = reported !== undefined && (readAt === undefined || reported.at > readAt) ? reported : undefined;
  const steps = amountsOf(delegation.used_steps, delegation.held_steps, delegation.lent_steps, delegation.max_steps, live?.stepsLeft);
  const money = amountsOf(delegation.used_usd, delegation.held_usd, delegation.lent_usd, delegation.budget_usd, live?.budgetLeftUsd);
  // What is over moves no more: its values are the last.
  const isOver = delegation.status === "revoked" || delegation.status === "expired";
  const isLive = state.phase === "live";
  const at = live?.at ?? readAt;
  const note = at === undefined || isOver ? undefined : isLive ? words.meters.meterLive : words.meters.meterAge(formatClock(at));
  const shared = { note, isStale: !isOver && state.phase === "down" };
  return (
    <>
      <Meter label={words.meters.steps} {...steps} max={delegation.max_steps} format={formatCount} {...shared} />
      <Meter label={words.meters.money} {...money} max={delegation.budget_usd} format={formatMoney} {...shared} />
    </>
  );
};
