import { useSyncExternalStore } from "react";
import { requiredContext } from "../model/required-context.ts";
import type { LiveMeter, LiveMeters } from "./live-meters.ts";
import type { StreamEvent, StreamState } from "./stream.ts";

export interface Live {
  readonly state: StreamState;
  readonly retryNow: () => void;
  readonly meters: LiveMeters;
  /** What the workflow stream tells; `undefined`: something of it is missing. The returned function ends it. */
  readonly subscribeRuns: (listener: (event: StreamEvent | undefined) => void) => () => void;
}

export const [LiveContext, useLive] = requiredContext<Live>("live updates");

/** The newest meter of a delegation that the stream told, if any. */
export const useLiveMeter = (delegationId: string): LiveMeter | undefined => {
  const { meters } = useLive();
  return useSyncExternalStore(meters.subscribe, () => meters.get(delegationId));
};
