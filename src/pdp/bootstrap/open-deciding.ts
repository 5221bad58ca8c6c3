import { dirname, resolve } from "node:path";
import type { Peer } from "#contract/ask.ts";
import type { ServiceIdentity } from "#authn/keys/service-identity.ts";
import { createSealer, deriveKey } from "#authn/sealing/seal.ts";
import type { ServiceParts } from "#authn/callers/service-parts.ts";
import type { ResourceRef } from "#events/model/resource-ref.ts";
import { createDisabled } from "#pdp/engine/authorization-disabled.ts";
import type { Schema } from "#pdp/bundle/schema.ts";
import { readPoliciesOf } from "#pdp/bundle/policy-files.ts";
import { createCedar } from "#pdp/decision/cedar.ts";
import type { PdpConfig } from "#pdp/config.ts";
import type { PdpConfiguration } from "#pdp/model/configuration-file.ts";
import { createDecisionCache } from "#pdp/engine/decision-cache.ts";
import type { DecisionPoint } from "#pdp/engine/decision-point.ts";
import { withAnonymous } from "#pdp/facts/anonymous.ts";
import { createPeerFacts, type FactSource } from "#pdp/facts/fact-source.ts";
import { readFactsFile } from "#pdp/facts/facts-file.ts";
import { createExaminer, type Examiner } from "#pdp/lifecycle/examine/examiner.ts";
import { followPointer, type Follower, type FollowerParts } from "#pdp/lifecycle/rollout/follow-pointer.ts";
import { importBundle } from "#pdp/lifecycle/rollout/import-bundle.ts";
import { auditOfflineActs } from "#pdp/lifecycle/rollout/offline-rollback.ts";
import type { DecisionFacts } from "#pdp/model/decision-facts.ts";
import { createDecisionLog, type DecisionLog } from "#pdp/records/decision-log.ts";
import { createRecordedDecisions } from "#pdp/records/recorded-decisions.ts";
import { createRemote } from "#pdp/remote/remote-point.ts";
import type { Approvals } from "#pdp/decision/approvals.ts";
import { openApprovals } from "#pdp/requests/join-requests.ts";
import { createPeerCandidates, type CandidateSource } from "#pdp/facts/candidate-source.ts";
import { builtInVocabulary, vocabularyOf, type Vocabulary } from "#pdp/engine/vocabulary.ts";

/** What decisions are made of and kept in. */
export interface DecidingParts extends Omit<ServiceParts, "authenticate"> {
  readonly config: PdpConfig;
  readonly identity: ServiceIdentity;
  readonly peers: { readonly membership: Peer };
  readonly audiences: { readonly membership: string };
  /** Absent without a tenant salt: records then name no secret at all. */
  readonly resourceRef?: ResourceRef | undefined;
  /** Instead of membership; for tests. */
  readonly facts?: FactSource;
  readonly candidates?: CandidateSource;
  /** How what decides is followed; for tests. */
  readonly follow?: Pick<FollowerParts, "pollMs" | "blindMs" | "elapsedMs" | "isWarmed">;
  /** What looks at policies beside the decisions, and ends with them; for tests. */
  readonly examiner?: Examiner;
}

/** Takes in the policy files of this start, tells of what was done while nothing ran, and follows what decides. */
const openPolicies = async (parts: DecidingParts, switches: PdpConfiguration, examiner: Examiner): Promise<Follower> => {
  const { config, log } = parts;
  const files = await readPoliciesOf(switches.policy_dir, config);
  const imported = await importBundle(parts, files, config.autoActivate ?? parts.environment !== "production");
  const acts = await auditOfflineActs(parts.change);
  const follower = await followPointer({ ...parts, examiner, ...parts.follow });
  const { version, engine } = follower.engines.current();
  log.info("pdp_policies", { version, policies: engine.bundle.policies.size });
  if (imported.draft !== undefined)
    log.warn("pdp_policies_not_active", { active: version, draft: imported.draft, issues: imported.issues?.slice(0, 20) });
  if (acts > 0) log.warn("pdp_offline_acts_audited", { acts });
  return follower;
};

const openRecords = (parts: DecidingParts): DecisionLog =>
  createDecisionLog({
    ...parts,
    sealer: createSealer(parts.secrets, "pdp.records"),
    digestKey: deriveKey(parts.secrets[0], "pdp.digests"),
    windowMs: parts.config.recordWindowMs,
    events: parts.config.events,
    keepDays: parts.config.recordDays,
    timeoutMs: parts.config.recordTimeoutMs,
  });

/** What is known of who asks and what is asked about, and the words for it. */
interface OpenedFacts {
  readonly facts: FactSource;
  readonly candidates: CandidateSource;
  readonly vocabulary: Vocabulary;
}

/** The identity graph with Sallyport's words, or a file with those of its policies' schema. Throws `ConfigurationRefused`. */
const openFacts = async (parts: DecidingParts, { facts }: PdpConfiguration, schema: Schema): Promise<OpenedFacts> => {
  const { config, identity } = parts;
  if (facts.kind === "file")
    return { ...(await readFactsFile(resolve(dirname(config.configFile), facts.path), schema)), vocabulary: vocabularyOf(schema) };
  const graph = {
    membership: parts.peers.membership,
    membershipAudience: parts.audiences.membership,
    identity,
    timeoutMs: config.factsTimeoutMs,
  };
  return {
    facts: withAnonymous(createPeerFacts(graph), config.anonymousTenant),
    candidates: createPeerCandidates(graph),
    vocabulary: builtInVocabulary,
  };
};

export interface Deciding extends OpenedFacts {
  readonly examiner: Examiner;
  readonly follower: Follower;
  readonly records: DecisionLog;
  readonly decisions: DecisionFacts;
  readonly approvals: Approvals;
  /** Who decides, whatever is switched off. */
  readonly deciding: DecisionPoint;
  /** Who answers: the same, or everything permitted where authorization is switched off. */
  readonly decisionPoint: DecisionPoint;
}

/**
 * Policies, records, facts, approvals, and who decides by them: the engine of this deployment, or any AuthZEN server. Throws
 * `ConfigurationRefused` or `BundleRefused` with every fault.
 */
export const openDeciding = async (parts: DecidingParts, switches: PdpConfiguration): Promise<Deciding> => {
  const { config, now } = parts;
  const { examiner = createExaminer() } = parts;
  const follower = await openPolicies(parts, switches, examiner);
  const { engines } = follower;
  const records = openRecords(parts);
  const opened = await openFacts(parts, switches, engines.current().engine.bundle.schema);
  const made = {
    ...opened,
    facts: parts.facts ?? opened.facts,
    candidates: parts.candidates ?? opened.candidates,
    records,
    decisions: createRecordedDecisions(records, now),
    approvals: openApprovals(parts),
  };
  const { decision_point: choice } = switches;
  const deciding =
    choice.kind === "remote"
      ? await createRemote({
          ...parts,
          ...made,
          remote: choice,
          configFile: config.configFile,
          secrets: config,
          isInAgentReach: (pair) => engines.current().engine.bundle.schema.actions.get(pair)?.groups.has("agent_reach") === true,
        })
      : createCedar({
          ...parts,
          ...made,
          engines,
          cache: config.cacheSeconds === 0 ? undefined : createDecisionCache({ seconds: config.cacheSeconds, now }),
        });
  return { ...made, examiner, follower, deciding, decisionPoint: switches.enable_authorization ? deciding : createDisabled(deciding) };
};
