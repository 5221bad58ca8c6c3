import type { Peer } from "#contract/ask.ts";
import type { SettingsOf } from "#contract/setting.ts";
import { createRouter } from "#http/serve.ts";
import type { Service } from "#http/service.ts";
import type { Authenticate } from "#authn/authenticate.ts";
import type { Caller } from "#authn/caller.ts";
import type { HouseIdentity } from "#authn/house-identity.ts";
import { createSealer, deriveKey, type HouseSecrets } from "#authn/seal.ts";
import type { Change } from "#events/change.ts";
import type { ResourceRef } from "#events/resource-ref.ts";
import type { Database } from "#store/database.ts";
import type { Log } from "#telemetry/log.ts";
import type { Metrics } from "#telemetry/metrics.ts";
import type { Tracing } from "#telemetry/tracing.ts";
import { createDisabled } from "./authorization-disabled.ts";
import { serveBudgets } from "./budgets/serve-budgets.ts";
import { createCedar } from "./cedar.ts";
import { chooseDecisionPoint } from "./choose-decision-point.ts";
import type { pdpSettings } from "./config.ts";
import { ConfigurationRefused, readPdpConfiguration } from "./configuration-file.ts";
import { createCallRate } from "./endpoints/call-rate.ts";
import { serveDecisions } from "./endpoints/decisions.ts";
import { serveEvaluations } from "./endpoints/evaluations.ts";
import { withFitText } from "./endpoints/fit-text.ts";
import { serveHealth } from "./endpoints/health.ts";
import { parsePdpBody } from "./endpoints/parse-body.ts";
import { serveMetadata } from "./endpoints/metadata.ts";
import { createPageCursors } from "./endpoints/page-cursor.ts";
import { serveSearches } from "./endpoints/searches.ts";
import type { Pep } from "./endpoints/parse-ask.ts";
import { createRequirePair } from "./endpoints/require-pair.ts";
import { withRequestId } from "./endpoints/request-id.ts";
import { refuseUnsupported } from "./endpoints/unsupported.ts";
import { joinAdministration } from "./join-administration.ts";
import { createPresentFacts } from "./explain/present-facts.ts";
import { createViewers } from "./explain/viewer.ts";
import type { FactSource } from "./fact-source.ts";
import { readMetadataKey } from "./metadata-key.ts";
import { openFacts } from "./open-facts.ts";
import { createDecisionIds } from "./records/decision-id.ts";
import { createDecisionLog } from "./records/decision-log.ts";
import { openPolicies } from "./open-policies.ts";
import { createRecordedDecisions } from "./records/recorded-decisions.ts";
import type { CandidateSource } from "./search/candidate-source.ts";
import { joinRequests, openApprovals } from "./requests/join-requests.ts";
import { createPageTokens } from "./search/page-token.ts";
import type { Shadow } from "./shadow/shadow.ts";
import type { FollowerParts } from "./rollout/follow-pointer.ts";

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

const MAX_BODY_BYTES = 2 * 1_048_576;
const loopback = /^(?:localhost|127\.0\.0\.1|\[::1\])$/;

const requireSafeAddress = (publicUrl: string, environment: PdpParts["environment"]): void => {
  const url = new URL(publicUrl);
  if (url.protocol === "https:" || (environment !== "production" && loopback.test(url.hostname))) return;
  throw new ConfigurationRefused([{ path: "PDP_PUBLIC_URL", message: "must be https; http is for loopback in dev and test" }]);
};

/** The decision point as a service. Throws `ConfigurationRefused` or `BundleRefused` with every fault, before anything is served. */
export const createPdp = async (parts: PdpParts): Promise<Service> => {
  const { config, database, log, metrics, now, environment } = parts;
  requireSafeAddress(config.publicUrl, environment);
  const switches = await readPdpConfiguration(config.configFile);
  const disabled = !switches.enable_authorization;
  if (disabled && environment === "production") {
    throw new ConfigurationRefused([
      { path: `${config.configFile}#/enable_authorization`, file: config.configFile, message: "may be false in dev and test alone" },
    ]);
  }
  const follower = await openPolicies({
    ...parts,
    policyDir: switches.policy_dir,
    configFile: config.configFile,
    autoActivate: config.autoActivate ?? environment !== "production",
  });
  const { engines } = follower;
  if (disabled) log.warn("pdp_authorization_disabled", { detail: "Every decision is a permit. Never run it so where it matters." });

  const records = createDecisionLog({
    database,
    change: parts.change,
    sealer: createSealer(parts.secrets, "pdp.records"),
    digestKey: deriveKey(parts.secrets[0], "pdp.digests"),
    ...(parts.resourceRef === undefined ? {} : { resourceRef: parts.resourceRef }),
    windowMs: config.recordWindowMs,
    events: config.events,
    keepDays: config.recordDays,
    timeoutMs: config.recordTimeoutMs,
    metrics,
    log,
    now,
  });
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
  const approvals = openApprovals(parts);
  const isRemote = switches.decision_point.kind === "remote";
  const deciding = await chooseDecisionPoint({ switches, config, engines, facts, decisions, approvals, vocabulary, metrics, log, now });
  const decisionPoint = disabled ? createDisabled(deciding) : deciding;

  const house = new Set(config.houseClients.map((name) => `service:${name}`));
  const callRate = createCallRate(config.callsPerSecond, now);
  const pepOf = (caller: Caller): Pep => ({ caller, isHouse: caller.isHouseService && house.has(caller.sub) });
  const rawRouter = createRouter<Caller>({
    ...(parts.tracing === undefined ? {} : { tracing: parts.tracing }),
    name: "pdp",
    authenticate: async (request, endpoint) => {
      const caller = await parts.authenticate(request, endpoint);
      if (endpoint.auth !== "none" && !pepOf(caller).isHouse) callRate(caller.sub);
      return caller;
    },
    log,
    validateReplies: environment !== "production",
    maxBodyBytes: MAX_BODY_BYTES,
    parseJson: parsePdpBody,
    badInputStatus: 400,
  });
  const router = withFitText(rawRouter);
  const nextDecisionId = createDecisionIds(now);
  // One's own right to see a decision is asked of the policies even where authorization is switched off.
  const viewers = createViewers({ ...parts, decisionPoint: deciding, records, nextDecisionId, self: parts.identity.clientId });
  const cursors = createPageCursors(createSealer(parts.secrets, "pdp.cursor"), now);
  if (isRemote) refuseUnsupported(router);
  const administration = isRemote
    ? undefined
    : joinAdministration(router, {
        ...parts,
        follower,
        cedar: deciding,
        decideBy: (version) =>
          createCedar({ engines: { current: () => ({ ...version, epoch: 0n }) }, facts, decisions, vocabulary, metrics, now }),
        facts,
        decisions,
        records,
        viewers,
        cursors,
        nextDecisionId,
        pepOf,
        // Where everything is permitted, a shadow would only tell that it would not be.
        shadowSample: disabled ? 0 : config.shadowSample,
        recordDays: config.recordDays,
      });
  const requests = joinRequests(router, {
    ...parts,
    engines,
    records,
    facts,
    candidates: parts.candidates ?? opened.candidates,
    viewers,
    cursors,
    pepOf,
    presentFacts: createPresentFacts({ facts, decisions }),
  });
  const shadow: Pick<Shadow, "offer" | "decisionOf"> = administration?.shadow ?? { offer: () => {}, decisionOf: async () => undefined };
  serveEvaluations(router, {
    decisionPoint,
    makeOffer: requests.makeOffer,
    records,
    shadow,
    nextDecisionId,
    pepOf,
    batchMaxItems: config.batchMaxItems,
    answerDetail: switches.answer_detail ?? config.answerDetail,
    metrics,
    now,
  });
  if (!isRemote)
    serveSearches(router, {
      decisionPoint,
      candidates: parts.candidates ?? opened.candidates,
      vocabulary,
      tokens: createPageTokens(createSealer(parts.secrets, "pdp.search"), now),
      pepOf,
      maxCandidates: config.searchMaxCandidates,
    });
  serveDecisions(router, {
    records,
    engines,
    facts,
    decisions,
    approvals,
    shadow,
    viewers,
    cursors,
    pepOf,
    vocabulary,
    isGraph: switches.facts.kind === "membership",
    isRemote,
    metrics,
    now,
  });
  serveBudgets(router, {
    membership: parts.peers.membership,
    membershipAudience: parts.audiences.membership,
    identity: parts.identity,
    requirePair: createRequirePair({ ...parts, decisionPoint, records, nextDecisionId, self: parts.identity.clientId }),
    timeoutMs: config.factsTimeoutMs,
  });
  serveMetadata(router, {
    publicUrl: config.publicUrl,
    bundle: () => (isRemote ? undefined : engines.current().engine.bundle),
    key: await readMetadataKey(database, createSealer(parts.secrets, "pdp.metadata")),
  });
  const ready = async (): Promise<readonly string[]> => [
    ...(follower.knows() ? await decisionPoint.ready() : ["policies"]),
    ...(records.isWritable() ? [] : ["records"]),
  ];
  serveHealth(router, { ready, disabled, version: () => decisionPoint.describe().policyVersion, metrics });

  return {
    name: "pdp",
    fetch: withRequestId((request) => engines.during(() => router.fetch(request)), disabled ? { "x-authorization-disabled": "1" } : {}),
    ready,
    [Symbol.asyncDispose]: async () => {
      await requests[Symbol.asyncDispose]();
      await administration?.[Symbol.asyncDispose]();
      await follower[Symbol.asyncDispose]();
      await records[Symbol.asyncDispose]();
    },
  };
};
