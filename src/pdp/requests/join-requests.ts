import type { Serving } from "#pdp/context/serving.ts";
import type { ServiceParts } from "#authn/callers/service-parts.ts";
import type { Facts } from "#contract/facts.ts";
import { createSealer, deriveKey, type InstanceSecrets } from "#authn/sealing/seal.ts";
import type { Caller } from "#authn/model/caller.ts";
import type { Router } from "#http/serve.ts";
import { createDecisionIds } from "#pdp/records/decision-id.ts";
import type { Recorded } from "#pdp/records/record.ts";
import { createAccessRequests } from "./access-requests.ts";
import { createActBinder, type ActBinder } from "#pdp/engine/act-binding.ts";
import { createApprovals, type Approvals } from "#pdp/decision/approvals.ts";
import { createApprovers } from "#pdp/decision/approvers.ts";
import { createBindingTokens } from "./binding-token.ts";
import { createKeptCalls } from "./kept-calls.ts";
import { createMakeOffer, type MakeOffer } from "./offer.ts";
import { serveRequests } from "./serve-requests.ts";
import { createRequestSweeper } from "./sweep-requests.ts";

const binderOf = (secrets: InstanceSecrets): ActBinder => createActBinder(deriveKey(secrets[0], "pdp.approvals"));

/** What deciding needs of approvals, before there is anything that serves. */
export const openApprovals = (parts: Pick<ServiceParts, "database" | "change" | "secrets" | "log" | "now">): Approvals =>
  createApprovals({ ...parts, acts: binderOf(parts.secrets) });

export interface RequestsParts
  extends
    Pick<ServiceParts, "database" | "change" | "secrets" | "log" | "now">,
    Pick<Serving, "engines" | "records" | "facts" | "candidates" | "viewers" | "cursors" | "pepOf"> {
  readonly presentFacts: (recorded: Recorded) => Promise<Facts | undefined>;
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
  const sweeper = createRequestSweeper({ ...parts, nextId: () => `requests-${nextCallId().slice(2)}` });
  return { makeOffer: createMakeOffer(tokens), [Symbol.asyncDispose]: () => sweeper[Symbol.asyncDispose]() };
};
