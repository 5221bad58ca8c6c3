import { withOwnPages } from "#http/ops-endpoints.ts";
import { createRouter, type Router } from "#http/serve.ts";
import type { Service } from "#http/service.ts";
import type { ServiceParts } from "#authn/callers/service-parts.ts";
import { bodyShareOf, type Caller } from "#authn/model/caller.ts";
import { createMetricsReader } from "#authn/callers/metrics-reader.ts";
import { createSealer } from "#authn/sealing/seal.ts";
import { createSealedCursors } from "#authn/sealing/sealed-cursors.ts";
import { serveBudgetStates } from "./budgets/serve-budgets.ts";
import { createCedar } from "./decision/cedar.ts";
import type { DecisionPoint } from "./engine/decision-point.ts";
import { createCallRate } from "./endpoints/call-rate.ts";
import { serveDecisions } from "./endpoints/decisions.ts";
import { serveEvaluations } from "./endpoints/evaluations.ts";
import { withFitText } from "./endpoints/fit-text.ts";
import { serveMetadata } from "./endpoints/metadata.ts";
import { readMetadataKey } from "./endpoints/metadata-key.ts";
import type { Pep } from "./model/parse-ask.ts";
import { parsePdpBody } from "./endpoints/parse-body.ts";
import { servePolicies, servePolicy } from "./endpoints/policies.ts";
import { createPolicySight } from "./rights/policy-sight.ts";
import { serveReplays } from "./endpoints/replays.ts";
import { withRequestId } from "./endpoints/request-id.ts";
import { createRequirePair } from "./rights/require-pair.ts";
import { serveRollouts } from "./endpoints/rollouts.ts";
import { serveSearches } from "./endpoints/searches.ts";
import { refuseUnsupported } from "./endpoints/unsupported.ts";
import { serveWhatIf } from "./endpoints/what-if.ts";
import type { Version } from "./engine/engines.ts";
import { createPresentFacts } from "./explain/present-facts.ts";
import { createViewers } from "./rights/viewer.ts";
import { createReplays } from "./lifecycle/replay/replays.ts";
import { createGuard } from "./lifecycle/rollout/guard-administration.ts";
import { createMatrixComparer } from "./lifecycle/rollout/matrix-difference.ts";
import { createRollouts } from "./lifecycle/rollout/rollouts.ts";
import { createShadow, type Shadow } from "./lifecycle/shadow/shadow.ts";
import { readSwitches } from "./bootstrap/check-start.ts";
import { openDeciding, type Deciding, type DecidingParts } from "./bootstrap/open-deciding.ts";
import { createDecisionIds } from "./records/decision-id.ts";
import type { ListPosition } from "./records/list-calls.ts";
import { joinRequests } from "./requests/join-requests.ts";
import type { Vocabulary } from "./engine/vocabulary.ts";

/** What the service is made of. */
export interface PdpParts extends DecidingParts, ServiceParts {
  /** Where persons sign in: the gateway's first origin. */
  readonly publicOrigin: string;
}

const MAX_BODY_BYTES = 2 * 1_048_576;

/** The way in, and who a caller is as an enforcement point: Sallyport's own are not counted. */
const openRouter = (parts: PdpParts): { readonly router: Router<Caller>; readonly pepOf: (caller: Caller) => Pep } => {
  const { config, now } = parts;
  const instance = new Set(config.internalClients.map((name) => `service:${name}`));
  const callRate = createCallRate(config.callsPerSecond, now);
  const pepOf = (caller: Caller): Pep => ({ caller, isInternal: caller.isInternalService && instance.has(caller.sub) });
  const router = createRouter<Caller>({
    ...parts,
    name: "pdp",
    shareOf: bodyShareOf,
    authenticate: async (request, endpoint) => {
      const caller = await parts.authenticate(request, endpoint);
      if (endpoint.auth !== "none" && !pepOf(caller).isInternal) callRate(caller.sub);
      return caller;
    },
    validateReplies: parts.environment !== "production",
    maxBodyBytes: MAX_BODY_BYTES,
    parseJson: parsePdpBody,
  });
  return { router: withFitText(router), pepOf };
};

/** What the endpoints have in common. One's own rights here are asked of the policies even where authorization is switched off. */
const sharedParts = (parts: PdpParts, opened: Deciding, pepOf: (caller: Caller) => Pep) => {
  const { examiner, follower, records, facts, candidates, decisions, deciding } = opened;
  const { engines } = follower;
  const asking = { decisionPoint: deciding, records, self: parts.identity.clientId, nextDecisionId: createDecisionIds(parts.now) };
  const viewers = createViewers({ ...parts, ...asking });
  const cursors = createSealedCursors<ListPosition>({ ...parts, purpose: "pdp.cursor" });
  return { ...parts, ...asking, examiner, follower, engines, facts, candidates, decisions, pepOf, viewers, cursors };
};

/** Policies as governed versions: their endpoints, and what goes on beside the answers. Of the embedded engine alone. */
const serveAdministration = (router: Router<Caller>, shared: ReturnType<typeof sharedParts>, vocabulary: Vocabulary, sample: number) => {
  const { examiner, facts, decisions, metrics, now } = shared;
  const requirePair = createRequirePair(shared);
  const decideBy = (version: Version): DecisionPoint =>
    createCedar({ engines: { current: () => version }, facts, decisions, vocabulary, metrics, now });
  const guard = createGuard({ ...shared, requirePair, decideBy });
  const rollouts = createRollouts({ ...shared, compareMatrix: createMatrixComparer(examiner, now) });
  const shadow = createShadow({ ...shared, sample, random: Math.random });
  const replays = createReplays({ ...shared, keepDays: shared.config.recordDays });
  const served = { ...shared, requirePair, guard, sightOf: createPolicySight(shared), rollouts, shadow, replays };
  servePolicies(router, served);
  serveRollouts(router, served);
  serveReplays(router, served);
  serveWhatIf(router, served);
  servePolicy(router, served);
  return {
    shadow,
    [Symbol.asyncDispose]: async () => {
      await replays[Symbol.asyncDispose]();
      await shadow[Symbol.asyncDispose]();
    },
  };
};

const noShadow: Pick<Shadow, "offer" | "decisionOf"> = { offer: () => {}, decisionOf: async () => undefined };

/** The decision point as a service. Throws `ConfigurationRefused` or `BundleRefused` with every fault, before anything is served. */
export const createPdp = async (parts: PdpParts): Promise<Service> => {
  const { config, database, metrics } = parts;
  const switches = await readSwitches(parts);
  const isRemote = switches.decision_point.kind === "remote";
  const isDisabled = !switches.enable_authorization;
  const opened = await openDeciding(parts, switches);
  const { examiner, follower, records, approvals, vocabulary, decisionPoint } = opened;
  const { engines } = follower;
  const { router, pepOf } = openRouter(parts);
  const shared = sharedParts(parts, opened, pepOf);

  // Where everything is permitted, a shadow would only tell that it would not be.
  const administration = isRemote ? undefined : serveAdministration(router, shared, vocabulary, isDisabled ? 0 : config.shadowSample);
  if (isRemote) refuseUnsupported(router);
  const shadow = administration?.shadow ?? noShadow;
  const requests = joinRequests(router, { ...shared, presentFacts: createPresentFacts(shared) });

  serveEvaluations(router, {
    ...shared,
    decisionPoint,
    makeOffer: requests.makeOffer,
    shadow,
    batchMaxItems: config.batchMaxItems,
    answerDetail: switches.answer_detail ?? config.answerDetail,
  });
  if (!isRemote)
    serveSearches(router, {
      ...shared,
      decisionPoint,
      vocabulary,
      tokens: createSealedCursors({ ...parts, purpose: "pdp.search", refusal: "invalid_page_token" }),
      maxCandidates: config.searchMaxCandidates,
    });
  serveDecisions(router, { ...shared, approvals, vocabulary, shadow, isGraph: switches.facts.kind === "membership", isRemote });
  serveBudgetStates(router, {
    ...shared,
    membership: parts.peers.membership,
    membershipAudience: parts.audiences.membership,
    requirePair: createRequirePair({ ...shared, decisionPoint }),
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
  const served = withOwnPages((request) => router.fetch(request), {
    ready,
    metrics,
    isListed: parts.isScraperListed ?? (() => false),
    requireReader: createMetricsReader(parts.authenticate),
    more: () => ({ ...(isDisabled ? { status: "degraded" } : {}), policy_version: decisionPoint.policyVersion() }),
  });
  return {
    name: "pdp",
    fetch: withRequestId((request) => engines.during(() => served(request)), isDisabled ? { "x-authorization-disabled": "1" } : {}),
    ready,
    [Symbol.asyncDispose]: async () => {
      await requests[Symbol.asyncDispose]();
      await administration?.[Symbol.asyncDispose]();
      await examiner[Symbol.asyncDispose]();
      await follower[Symbol.asyncDispose]();
      await records[Symbol.asyncDispose]();
    },
  };
};
