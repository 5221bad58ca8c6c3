import type { Peer } from "#contract/ask.ts";
import type { SettingsOf } from "#contract/setting.ts";
import type { Authenticate } from "#authn/authenticate.ts";
import type { HouseIdentity } from "#authn/house-identity.ts";
import type { HouseSecrets } from "#authn/seal.ts";
import type { Change } from "#events/change.ts";
import type { ResourceRef } from "#events/resource-ref.ts";
import type { Database } from "#store/database.ts";
import type { Log } from "#telemetry/log.ts";
import type { Metrics } from "#telemetry/metrics.ts";
import type { Tracing } from "#telemetry/tracing.ts";
import type { pdpSettings } from "./config.ts";
import type { FactSource } from "./fact-source.ts";
import type { FollowerParts } from "./rollout/follow-pointer.ts";
import type { CandidateSource } from "./search/candidate-source.ts";

/** What the service is made of. */
export interface PdpParts {
  readonly config: SettingsOf<typeof pdpSettings>;
  readonly database: Database;
  readonly change: Change;
  readonly authenticate: Authenticate;
  readonly identity: HouseIdentity;
  /** Where persons sign in: the gateway's first origin. */
  readonly publicOrigin: string;
  readonly peers: { readonly membership: Peer };
  readonly audiences: { readonly membership: string };
  /** Root secrets of the house: ids of secrets in records and page cursors are sealed with keys made from them. */
  readonly secrets: HouseSecrets;
  /** Absent without a tenant salt: records then name no secret at all. */
  readonly resourceRef?: ResourceRef;
  readonly log: Log;
  readonly metrics: Metrics;
  /** Traces; none unless given. */
  readonly tracing?: Tracing;
  readonly now: () => Date;
  readonly environment: "dev" | "test" | "production";
  /** Instead of membership; for tests. */
  readonly facts?: FactSource;
  readonly candidates?: CandidateSource;
  /** How what decides is followed; for tests. */
  readonly follow?: Pick<FollowerParts, "pollMs" | "blindMs" | "elapsedMs">;
}
