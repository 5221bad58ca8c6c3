import type { StreamEvent } from "./stream-source.ts";

/** What a subscriber is handed, in order. */
export type BusFrame =
  /** First of all: where it starts, and whether older events come before the live ones. */
  | { readonly kind: "start"; readonly seq: bigint; readonly replaying: boolean }
  | { readonly kind: "event"; readonly event: StreamEvent }
  /** The replay is over. */
  | { readonly kind: "caught_up"; readonly seq: bigint }
  /** The events between its id and here are lost to it: read again what is on screen. */
  | { readonly kind: "resync"; readonly seq: bigint; readonly reason: "too_old" | "unknown_id" | "ahead" }
  /** The last one. */
  | { readonly kind: "bye"; readonly reason: "slow" | "drain" };

export interface SubscribeOptions {
  /** `Last-Event-ID` as it came; undefined = only what happens from now on. */
  readonly after?: string | undefined;
  /** Names that an event may be addressed to; one is enough. */
  readonly names: ReadonlySet<string>;
  /** True: also events addressed to others. */
  readonly seesAll: boolean;
  readonly signal?: AbortSignal | undefined;
  /** Called at once when the subscriber is given up for falling behind, though it may not be reading. */
  readonly onSlow?: (() => void) | undefined;
}

export interface Subscription extends AsyncIterable<BusFrame> {
  /** The last version it has passed, seen or not for it to see. */
  readonly position: bigint;
}

const ID = /^\d{1,18}$/;

/** Why a resume point cannot be resumed from; undefined = it can. */
export const lostReason = (after: string | undefined, oldest: bigint, head: bigint): "too_old" | "unknown_id" | "ahead" | undefined => {
  if (after === undefined) return undefined;
  if (!ID.test(after)) return "unknown_id";
  const position = BigInt(after);
  if (position > head) return "ahead";
  return position < oldest - 1n ? "too_old" : undefined;
};
