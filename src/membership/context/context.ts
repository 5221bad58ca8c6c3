import type { SettingsOf } from "#contract/setting.ts";
import type { Caller } from "#authn/model/caller.ts";
import type { LiveBus } from "#events/streams/live-bus.ts";
import type { Router } from "#http/serve.ts";
import type { PdpClient } from "#pdp-client/pdp-client.ts";
import type { Database } from "#store/database.ts";
import type { Log } from "#telemetry/log.ts";
import type { Metrics } from "#telemetry/metrics.ts";
import type { Tracing } from "#telemetry/tracing.ts";
import type { membershipSettings } from "#membership/config.ts";
import type { SealedCursors } from "#authn/sealing/sealed-cursors.ts";
import type { Feed } from "#membership/graph/index/feed.ts";
import type { GraphReader } from "#membership/graph/graph-reader.ts";
import type { DataScopeOptions } from "#membership/graph/sql-data-scope.ts";
import type { WriteGraph } from "#membership/graph/write.ts";

export interface SweeperState {
  /** `elsewhere`: another process holds the lease. */
  readonly state: "starting" | "sweeping" | "elsewhere" | "failed";
  /** When the last round ended. */
  readonly at: Date | undefined;
}

/** What the module's endpoints share; made by `service.ts`. */
export interface MembershipContext {
  readonly router: Router<Caller>;
  readonly config: SettingsOf<typeof membershipSettings>;
  readonly database: Database;
  readonly reader: GraphReader;
  /** The graph in memory; absent where the database alone answers. */
  readonly feed: Pick<Feed, "state"> | undefined;
  readonly write: WriteGraph;
  readonly pdpClient: PdpClient;
  readonly cursors: SealedCursors<string>;
  readonly notifier: { moved(delegationId: string): void };
  readonly sweeper: { state(): SweeperState };
  readonly dataScope: DataScopeOptions;
  readonly bus: Pick<LiveBus, "head"> | undefined;
  readonly log: Log;
  readonly metrics: Metrics;
  readonly tracing: Tracing;
  readonly now: () => Date;
  readonly version: string;
}
