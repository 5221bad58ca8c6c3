import type { SettingsOf } from "#contract/setting.ts";
import type { Caller } from "#authn/caller.ts";
import type { LiveBus } from "#events/live-bus.ts";
import type { Router } from "#http/serve.ts";
import type { PdpClient } from "#pdp-client/pdp-client.ts";
import type { Database } from "#store/database.ts";
import type { Log } from "#telemetry/log.ts";
import type { Metrics } from "#telemetry/metrics.ts";
import type { Tracing } from "#telemetry/tracing.ts";
import type { membershipSettings } from "./config.ts";
import type { SealedCursors } from "#authn/sealed-cursors.ts";
import type { Feed } from "./graph/index/feed.ts";
import type { GraphReader } from "./graph/graph-reader.ts";
import type { DataScopeOptions } from "./graph/sql-data-scope.ts";
import type { WriteGraph } from "./graph/write.ts";
import type { Sweeper } from "./sweeper.ts";
import type { BudgetNotifier } from "./ledger/budget-notifier.ts";

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
  readonly notifier: BudgetNotifier;
  readonly sweeper: Pick<Sweeper, "state">;
  readonly dataScope: DataScopeOptions;
  readonly bus: Pick<LiveBus, "head"> | undefined;
  readonly log: Log;
  readonly metrics: Metrics;
  readonly tracing: Tracing;
  readonly now: () => Date;
  readonly version: string;
}
