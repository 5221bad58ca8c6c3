import { createSealer, deriveKey } from "#authn/seal.ts";
import { createDisabled } from "./authorization-disabled.ts";
import { chooseDecisionPoint } from "./choose-decision-point.ts";
import type { PdpConfiguration } from "./configuration-file.ts";
import type { DecisionPoint } from "./decision-point.ts";
import type { Engines } from "./engines.ts";
import { openFacts, type OpenedFacts } from "./open-facts.ts";
import { openPolicies } from "./open-policies.ts";
import type { PdpParts } from "./pdp-parts.ts";
import type { DecisionFacts } from "./records/decision-facts.ts";
import { createDecisionLog, type DecisionLog } from "./records/decision-log.ts";
import { createRecordedDecisions } from "./records/recorded-decisions.ts";
import type { Approvals } from "./requests/approvals.ts";
import { openApprovals } from "./requests/join-requests.ts";
import type { Follower } from "./rollout/follow-pointer.ts";

/** Everything that a decision is made of and kept in, before there is anything that serves. */
export interface Deciding extends OpenedFacts {
  readonly follower: Follower;
  readonly engines: Engines;
  readonly records: DecisionLog;
  readonly decisions: DecisionFacts;
  readonly approvals: Approvals;
  /** Who decides, whatever is switched off. */
  readonly deciding: DecisionPoint;
  /** Who answers: the same, or everything permitted where authorization is switched off. */
  readonly decisionPoint: DecisionPoint;
  /** Another AuthZEN server decides. */
  readonly isRemote: boolean;
  readonly isDisabled: boolean;
}

const openRecords = (parts: PdpParts): DecisionLog => {
  const { config } = parts;
  return createDecisionLog({
    database: parts.database,
    change: parts.change,
    sealer: createSealer(parts.secrets, "pdp.records"),
    digestKey: deriveKey(parts.secrets[0], "pdp.digests"),
    ...(parts.resourceRef === undefined ? {} : { resourceRef: parts.resourceRef }),
    windowMs: config.recordWindowMs,
    events: config.events,
    keepDays: config.recordDays,
    timeoutMs: config.recordTimeoutMs,
    metrics: parts.metrics,
    log: parts.log,
    now: parts.now,
  });
};

/** Policies, records, facts, approvals, and who decides by them. Throws `ConfigurationRefused` or `BundleRefused` with every fault. */
export const openDeciding = async (parts: PdpParts, switches: PdpConfiguration): Promise<Deciding> => {
  const { config, metrics, log, now } = parts;
  const follower = await openPolicies({
    ...parts,
    policyDir: switches.policy_dir,
    configFile: config.configFile,
    autoActivate: config.autoActivate ?? parts.environment !== "production",
  });
  const { engines } = follower;
  const records = openRecords(parts);
  const decisions = createRecordedDecisions(records, now);
  const opened = await openFacts({
    switches,
    configFile: config.configFile,
    schema: engines.current().engine.bundle.schema,
    membership: parts.peers.membership,
    membershipAudience: parts.audiences.membership,
    identity: parts.identity,
    timeoutMs: config.factsTimeoutMs,
  });
  const { vocabulary } = opened;
  const facts = parts.facts ?? opened.facts;
  const candidates = parts.candidates ?? opened.candidates;
  const approvals = openApprovals(parts);
  const deciding = await chooseDecisionPoint({ switches, config, engines, facts, decisions, approvals, vocabulary, metrics, log, now });
  const isDisabled = !switches.enable_authorization;
  return {
    follower,
    engines,
    records,
    decisions,
    facts,
    candidates,
    vocabulary,
    approvals,
    deciding,
    decisionPoint: isDisabled ? createDisabled(deciding) : deciding,
    isRemote: switches.decision_point.kind === "remote",
    isDisabled,
  };
};
