import type { Caller } from "#authn/caller.ts";
import type { HouseIdentity } from "#authn/house-identity.ts";
import type { Change } from "#events/change.ts";
import type { Router } from "#http/serve.ts";
import type { Database } from "#store/database.ts";
import type { Log } from "#telemetry/log.ts";
import type { Metrics } from "#telemetry/metrics.ts";
import type { DecisionPoint } from "./decision-point.ts";
import type { PageCursors } from "./endpoints/page-cursor.ts";
import type { Pep } from "./endpoints/parse-ask.ts";
import { servePolicies, servePolicy } from "./endpoints/policies.ts";
import { createRequirePair } from "./endpoints/require-pair.ts";
import { serveReplays } from "./endpoints/replays.ts";
import { serveRollouts } from "./endpoints/rollouts.ts";
import type { Version } from "./engines.ts";
import type { FactSource } from "./fact-source.ts";
import { serveWhatIf } from "./endpoints/what-if.ts";
import type { DecisionFacts } from "./records/decision-facts.ts";
import type { Viewers } from "./explain/viewer.ts";
import type { DecisionLog } from "./records/decision-log.ts";
import { createReplays } from "./replay/replays.ts";
import type { Follower } from "./rollout/follow-pointer.ts";
import { createGuard } from "./rollout/guard-administration.ts";
import { createMatrixComparer } from "./rollout/matrix-difference.ts";
import { createRollouts } from "./rollout/rollouts.ts";
import { createShadow, type Shadow } from "./shadow/shadow.ts";

export interface AdministrationParts {
  readonly database: Database;
  readonly change: Change;
  readonly identity: HouseIdentity;
  readonly publicOrigin: string;
  readonly follower: Follower;
  /** The engine itself, whatever is switched off. */
  readonly cedar: DecisionPoint;
  readonly decideBy: (version: Version) => DecisionPoint;
  readonly facts: FactSource;
  readonly decisions: DecisionFacts;
  readonly records: DecisionLog;
  readonly viewers: Viewers;
  readonly cursors: PageCursors;
  readonly nextDecisionId: () => string;
  readonly pepOf: (caller: Caller) => Pep;
  readonly shadowSample: number;
  readonly recordDays: number;
  readonly log: Log;
  readonly metrics: Metrics;
  readonly now: () => Date;
}

/** Policies as governed versions: their endpoints, and what goes on beside the answers. */
export const joinAdministration = (
  router: Router<Caller>,
  parts: AdministrationParts,
): { readonly shadow: Shadow; [Symbol.asyncDispose](): Promise<void> } => {
  const { database, follower, records, now } = parts;
  const { engines } = follower;
  const self = parts.identity.clientId;
  // The right to administer is asked of the policies even where authorization is switched off.
  const requirePair = createRequirePair({ ...parts, decisionPoint: parts.cedar, self });
  const guard = createGuard({ ...parts, requirePair, self });
  const rollouts = createRollouts({ ...parts, compareMatrix: createMatrixComparer(now) });
  const shadow = createShadow({ ...parts, engines, sample: parts.shadowSample, random: Math.random });
  const replays = createReplays({ ...parts, engines, keepDays: parts.recordDays });
  servePolicies(router, { guard, rollouts, engines, sql: database });
  serveRollouts(router, { guard, rollouts, shadow, cursors: parts.cursors });
  serveReplays(router, { guard, rollouts, replays, records, engines, viewers: parts.viewers, pepOf: parts.pepOf, now });
  serveWhatIf(router, { ...parts, guard, rollouts, engines, requirePair, decisionPoint: parts.cedar, self });
  servePolicy(router, { guard, rollouts, engines, sql: database });
  return {
    shadow,
    [Symbol.asyncDispose]: async () => {
      await replays[Symbol.asyncDispose]();
      await shadow[Symbol.asyncDispose]();
    },
  };
};
