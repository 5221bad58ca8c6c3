import type { AddressCount } from "#gateway/limits/address-count.ts";
import type { GatewayParts } from "#gateway/model/gateway-parts.ts";
import type { SessionChange } from "#gateway/sessions/session-store.ts";
import { createRawStreams } from "#gateway/streams/raw-streams.ts";
import { createConfigWatch, rightKinds, type ConfigWatch } from "#events/streams/config-watch.ts";
import { createStreamRegistry, type StreamRegistry } from "#gateway/streams/stream-registry.ts";

/** The open streams of this process: those with words of ours, and raw ones; what ends one kind ends the other. */
export interface OpenStreams {
  /** Of sessions' event streams. */
  readonly registry: StreamRegistry;
  readonly raw: ReturnType<typeof createRawStreams>;
  readonly rightChanges: ConfigWatch;
  sessionChanged(change: SessionChange): void;
  /** All of them look again whether they may go on. */
  recheck(): void;
  /** Those that listen end, and no new one begins. */
  drain(): void;
  /** What else still streams ends: answers that had time to finish, and did not. */
  cut(): void;
}

export const openStreams = (
  parts: Pick<GatewayParts, "config" | "metrics" | "bus" | "log" | "now">,
  ofAddress: AddressCount,
): OpenStreams => {
  const { config, metrics, now } = parts;
  const total = config.streamMaxClients;
  const counting = (kind: "relayed" | "raw") => {
    const counted = (open: number): void => metrics.set("gateway_streams", { kind }, open);
    counted(0);
    return counted;
  };
  const relayed = createStreamRegistry({ perSession: config.streamsPerSession, total, ofAddress, counted: counting("relayed") });
  const raw = createStreamRegistry({ total, ofAddress, counted: counting("raw") });
  const both = [relayed, raw];
  const rightChanges = createConfigWatch({ ...parts, kinds: rightKinds });
  return {
    registry: relayed,
    raw: createRawStreams({ registry: raw, rightChanges, now }),
    rightChanges,
    sessionChanged: (change) => both.forEach((one) => one.sessionChanged(change)),
    recheck: () => both.forEach((one) => one.recheck()),
    drain: () => both.forEach((one) => one.drain()),
    cut: () => both.forEach((one) => one.cut()),
  };
};
