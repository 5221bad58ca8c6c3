import { createListeners } from "../model/listeners.ts";

/** What the stream last said of each delegation's budget: the only values shown straight from an event. */
export interface LiveMeter {
  readonly stepsLeft: number;
  readonly budgetLeftUsd: number;
  readonly at: Date;
}

export interface LiveMeters {
  get(delegationId: string): LiveMeter | undefined;
  set(delegationId: string, meter: LiveMeter): void;
  clear(): void;
  subscribe(listener: () => void): () => void;
}

export const createLiveMeters = (): LiveMeters => {
  const meters = new Map<string, LiveMeter>();
  const { tell, subscribe } = createListeners();
  return {
    get: (delegationId) => meters.get(delegationId),
    set: (delegationId, meter) => {
      meters.set(delegationId, meter);
      tell();
    },
    clear: () => {
      meters.clear();
      tell();
    },
    subscribe,
  };
};

/** A `budget` event's data as a meter; `undefined` when it lacks what it should say. */
export const readMeter = (
  data: Readonly<Record<string, unknown>>,
  now: Date,
): { readonly delegationId: string; readonly meter: LiveMeter } | undefined => {
  const { delegation_id: id, steps_left: steps, budget_left_usd: usd } = data;
  if (typeof id !== "string" || typeof steps !== "number" || typeof usd !== "number") return undefined;
  return { delegationId: id, meter: { stepsLeft: steps, budgetLeftUsd: usd, at: now } };
};
