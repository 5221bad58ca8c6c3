import type { Facts } from "#contract/facts.ts";
import { createSealer, deriveKey, type HouseSecrets } from "#authn/seal.ts";
import type { Caller } from "#authn/caller.ts";
import type { Change } from "#events/change.ts";
import type { Router } from "#http/serve.ts";
import type { Database } from "#store/database.ts";
import type { Log } from "#telemetry/log.ts";
import type { SealedCursors } from "#authn/sealed-cursors.ts";
import type { ListPosition } from "#pdp/records/list-calls.ts";
import type { Pep } from "#pdp/endpoints/parse-ask.ts";
import type { Engines } from "#pdp/engines.ts";
import type { Viewers } from "#pdp/explain/viewer.ts";
import type { FactSource } from "#pdp/facts/fact-source.ts";
import type { DecisionLog } from "#pdp/records/decision-log.ts";
import { createDecisionIds } from "#pdp/records/decision-id.ts";
import type { Recorded } from "#pdp/records/record.ts";
import type { CandidateSource } from "#pdp/search/candidate-source.ts";
import { createAccessRequests } from "./access-requests.ts";
import { createActBinder, type ActBinder } from "./act-binding.ts";
import { createApprovals, type Approvals } from "./approvals.ts";
import { createApprovers } from "./approvers.ts";
import { createBindingTokens } from "./binding-token.ts";
import { createKeptCalls } from "./kept-calls.ts";
import { createMakeOffer, type MakeOffer } from "./offer.ts";
import { serveRequests } from "./serve-requests.ts";
import { createRequestSweeper } from "./sweep-requests.ts";

const binderOf = (secrets: HouseSecrets): ActBinder => createActBinder(deriveKey(secrets[0], "pdp.approvals"));

/** What deciding needs of approvals, before there is anything that serves. */
export const openApprovals = (parts: {
  readonly database: Database;
  readonly change: Change;
  readonly secrets: HouseSecrets;
  readonly log: Log;
  readonly now: () => Date;
}): Approvals => createApprovals({ ...parts, sql: parts.database, acts: binderOf(parts.secrets) });

export interface RequestsParts {
  readonly database: Database;
  readonly change: Change;
  readonly secrets: HouseSecrets;
  readonly engines: Pick<Engines, "current">;
  readonly records: DecisionLog;
  readonly facts: FactSource;
  readonly candidates: CandidateSource;
  readonly viewers: Viewers;
  readonly cursors: SealedCursors<ListPosition>;
  readonly pepOf: (caller: Caller) => Pep;
  readonly presentFacts: (recorded: Recorded) => Promise<Facts | undefined>;
  readonly log: Log;
  readonly now: () => Date;
}

/** Asking that a denial be lifted: the endpoints, what denials say of them, and what ends requests in time. */
export const joinRequests = (
  router: Router<Caller>,
  parts: RequestsParts,
): { readonly makeOffer: MakeOffer; [Symbol.asyncDispose](): Promise<void> } => {
  const tokens = createBindingTokens(parts.secrets);
  const acts = binderOf(parts.secrets);
  const nextCallId = createDecisionIds(parts.now);
  const nextId = (): string => `ar_${nextCallId().slice(2)}`;
  const requests = createAccessRequests({
    ...parts,
    tokens,
    acts,
    calls: createKeptCalls({ ...parts, acts, sealer: createSealer(parts.secrets, "pdp.requests.kept") }),
    approvers: createApprovers(parts),
    nextId,
  });
  serveRequests(router, { requests, cursors: parts.cursors });
  const sweeper = createRequestSweeper({ ...parts, sql: parts.database, nextId: () => `requests-${nextCallId().slice(2)}` });
  return { makeOffer: createMakeOffer(tokens), [Symbol.asyncDispose]: () => sweeper[Symbol.asyncDispose]() };
};
