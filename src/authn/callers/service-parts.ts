import type { Environment } from "#contract/setting.ts";
import type { Change } from "#events/changes/change.ts";
import type { Database } from "#store/database.ts";
import type { Log } from "#telemetry/log.ts";
import type { Metrics } from "#telemetry/metrics.ts";
import type { Tracing } from "#telemetry/tracing.ts";
import type { Authenticate } from "./authenticate.ts";
import type { InstanceSecrets } from "#authn/sealing/seal.ts";

/** What Sallyport lends each of its services. */
export interface ServiceParts {
  readonly database: Database;
  readonly change: Change;
  readonly authenticate: Authenticate;
  /** Root secrets of Sallyport: page cursors, and whatever else is sealed, have keys made from them. */
  readonly secrets: InstanceSecrets;
  readonly log: Log;
  readonly metrics: Metrics;
  /** Traces; none unless given. */
  readonly tracing?: Tracing | undefined;
  readonly now: () => Date;
  readonly environment: Environment;
  /** Whether an address may read the metrics without a token; this machine always may. */
  readonly isScraperListed?: (address: string) => boolean;
  /** What stands against its readiness besides its own parts, in words of its health; nothing unless given. */
  readonly lacks?: () => readonly string[];
}
