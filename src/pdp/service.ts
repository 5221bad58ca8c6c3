import type { Service } from "#http/service.ts";
import { createSealer } from "#authn/seal.ts";
import { serveBudgets } from "./budgets/serve-budgets.ts";
import { createCedar } from "./cedar.ts";
import { serveDecisions } from "./endpoints/decisions.ts";
import { serveEvaluations } from "./endpoints/evaluations.ts";
import { serveHealth } from "./endpoints/health.ts";
import { serveMetadata } from "./endpoints/metadata.ts";
import { createPageCursors } from "./endpoints/page-cursor.ts";
import { withRequestId } from "./endpoints/request-id.ts";
import { createRequirePair } from "./endpoints/require-pair.ts";
import { serveSearches } from "./endpoints/searches.ts";
import { refuseUnsupported } from "./endpoints/unsupported.ts";
import { createPresentFacts } from "./explain/present-facts.ts";
import { createViewers } from "./explain/viewer.ts";
import { joinAdministration } from "./join-administration.ts";
import { readMetadataKey } from "./metadata-key.ts";
import { openDeciding } from "./open-deciding.ts";
import { openRouter } from "./open-router.ts";
import type { PdpParts } from "./pdp-parts.ts";
import { readSwitches } from "./read-switches.ts";
import { createDecisionIds } from "./records/decision-id.ts";
import { joinRequests } from "./requests/join-requests.ts";
import { createPageTokens } from "./search/page-token.ts";
import type { Shadow } from "./shadow/shadow.ts";

const noShadow: Pick<Shadow, "offer" | "decisionOf"> = { offer: () => {}, decisionOf: async () => undefined };

/** The decision point as a service. Throws `ConfigurationRefused` or `BundleRefused` with every fault, before anything is served. */
export const createPdp = async (parts: PdpParts): Promise<Service> => {
  const { config, database, metrics, now, identity } = parts;
  const switches = await readSwitches(parts);
  const opened = await openDeciding(parts, switches);
  const { follower, engines, records, decisions, facts, candidates, vocabulary, approvals, deciding, decisionPoint } = opened;
  const { isRemote, isDisabled } = opened;
  const { router, pepOf } = openRouter(parts);

  const nextDecisionId = createDecisionIds(now);
  const cursors = createPageCursors(createSealer(parts.secrets, "pdp.cursor"), now);
  // One's own right to see a decision is asked of the policies even where authorization is switched off.
  const viewers = createViewers({ ...parts, decisionPoint: deciding, records, nextDecisionId, self: identity.clientId });
  const shared = { ...parts, records, facts, candidates, decisions, nextDecisionId, cursors, viewers, pepOf };

  if (isRemote) refuseUnsupported(router);
  const administration = isRemote
    ? undefined
    : joinAdministration(router, {
        ...shared,
        follower,
        cedar: deciding,
        decideBy: (version) =>
          createCedar({ engines: { current: () => ({ ...version, epoch: 0n }) }, facts, decisions, vocabulary, metrics, now }),
        // Where everything is permitted, a shadow would only tell that it would not be.
        shadowSample: isDisabled ? 0 : config.shadowSample,
        recordDays: config.recordDays,
      });
  const shadow = administration?.shadow ?? noShadow;
  const requests = joinRequests(router, { ...shared, engines, presentFacts: createPresentFacts(shared) });

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
      decisionPoint,
      candidates,
      vocabulary,
      pepOf,
      tokens: createPageTokens(createSealer(parts.secrets, "pdp.search"), now),
      maxCandidates: config.searchMaxCandidates,
    });
  serveDecisions(router, {
    ...shared,
    engines,
    approvals,
    vocabulary,
    shadow,
    isGraph: switches.facts.kind === "membership",
    isRemote,
  });
  serveBudgets(router, {
    membership: parts.peers.membership,
    membershipAudience: parts.audiences.membership,
    identity,
    requirePair: createRequirePair({ ...shared, decisionPoint, self: identity.clientId }),
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
  serveHealth(router, { ready, disabled: isDisabled, version: () => decisionPoint.describe().policyVersion, metrics });

  return {
    name: "pdp",
    fetch: withRequestId((request) => engines.during(() => router.fetch(request)), isDisabled ? { "x-authorization-disabled": "1" } : {}),
    ready,
    [Symbol.asyncDispose]: async () => {
      await requests[Symbol.asyncDispose]();
      await administration?.[Symbol.asyncDispose]();
      await follower[Symbol.asyncDispose]();
      await records[Symbol.asyncDispose]();
    },
  };
};
