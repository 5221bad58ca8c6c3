import type { Caller } from "#authn/model/caller.ts";
import type { SealedCursors } from "#authn/sealing/sealed-cursors.ts";
import type { ServiceParts } from "#authn/callers/service-parts.ts";
import type { DecisionPoint } from "#pdp/engine/decision-point.ts";
import type { Engines } from "#pdp/engine/engines.ts";
import type { Viewers } from "#pdp/rights/viewer.ts";
import type { FactSource } from "#pdp/facts/fact-source.ts";
import type { Examiner } from "#pdp/lifecycle/examine/examiner.ts";
import type { Replays } from "#pdp/lifecycle/replay/replays.ts";
import type { GuardAdministration } from "#pdp/lifecycle/rollout/guard-administration.ts";
import type { Rollouts } from "#pdp/lifecycle/rollout/rollouts.ts";
import type { Shadow } from "#pdp/lifecycle/shadow/shadow.ts";
import type { DecisionFacts } from "#pdp/model/decision-facts.ts";
import type { DecisionLog } from "#pdp/records/decision-log.ts";
import type { ListPosition } from "#pdp/records/list-calls.ts";
import type { CandidateSource } from "#pdp/facts/candidate-source.ts";
import type { Vocabulary } from "#pdp/engine/vocabulary.ts";
import type { Pep } from "#pdp/model/parse-ask.ts";
import type { PolicySight } from "#pdp/rights/policy-sight.ts";
import type { RequirePair } from "#pdp/rights/require-pair.ts";

/** What endpoints here are served with: each names what it takes of it. */
export interface Serving extends Pick<ServiceParts, "database" | "metrics" | "now"> {
  /** Who answers. */
  readonly decisionPoint: DecisionPoint;
  readonly engines: Engines;
  readonly records: DecisionLog;
  readonly nextDecisionId: () => string;
  readonly facts: FactSource;
  readonly candidates: CandidateSource;
  readonly decisions: DecisionFacts;
  readonly vocabulary: Vocabulary;
  readonly pepOf: (caller: Caller) => Pep;
  readonly viewers: Viewers;
  readonly cursors: SealedCursors<ListPosition>;
  readonly requirePair: RequirePair;
  readonly shadow: Shadow;
  // Of the embedded engine alone.
  readonly guard: GuardAdministration;
  readonly sightOf: (caller: Caller) => Promise<PolicySight>;
  readonly rollouts: Rollouts;
  readonly replays: Replays;
  readonly examiner: Examiner;
}
