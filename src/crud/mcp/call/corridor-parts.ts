import type { Peer } from "#contract/ask.ts";
import type { HouseIdentity } from "#authn/house-identity.ts";
import type { Sealer } from "#authn/seal.ts";
import type { Recorder } from "#events/audit/entry.ts";
import type { Decider } from "#pdp/decide.ts";
import type { Database } from "#store/database.ts";
import type { Log } from "#telemetry/log.ts";
import type { Metrics } from "#telemetry/metrics.ts";
import type { Tracing } from "#telemetry/tracing.ts";

/** What the doors of a tool call work with. */
export interface CorridorParts {
  readonly membership: Peer;
  readonly membershipAudience: string;
  readonly secrets: Peer;
  readonly secretsAudience: string;
  readonly identity: HouseIdentity;
  readonly decider: Decider;
  readonly recorder: Pick<Recorder, "open" | "one">;
  readonly database: Database;
  readonly publicOrigin: string;
  /** 32 bytes; digests of contents are keyed by it. */
  readonly digestKey: Uint8Array;
  /** Seals the answers that idempotency keys keep. */
  readonly replySealer: Sealer;
  readonly callTimeoutMs: number;
  readonly maxDelegationDepth: number;
  /** Unique for this start of the process. */
  readonly node: string;
  /** Ends when the house stops. */
  readonly stopping: AbortSignal;
  readonly now: () => Date;
  readonly log: Log;
  readonly metrics: Metrics;
  readonly tracing?: Tracing;
}
