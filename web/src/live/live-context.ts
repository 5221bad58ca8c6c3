import { createContext, useContext, useSyncExternalStore } from "react";
import type { LiveMeter, LiveMeters } from "./live-meters.ts";
import type { StreamState } from "./stream.ts";

export interface Live {
  readonly state: StreamState;
  readonly retryNow: () => void;
  readonly meters: LiveMeters;
}

export const LiveContext = createContext<Live | undefined>(undefined);

export const useLive = (): Live => {
  const live = useContext(LiveContext);
  if (live === undefined) throw new Error("no live updates around this component");
  return live;
};

/** The newest meter of a delegation that the stream told, if any. */
export const useLiveMeter = (delegationId: string): LiveMeter | undefined => {
  const { meters } = useLive();
  return useSyncExternalStore(meters.subscribe, () => meters.get(delegationId));
};
