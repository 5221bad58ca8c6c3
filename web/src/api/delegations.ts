import { queryOptions } from "@tanstack/react-query";
import {
  createDelegation,
  delegationHistory,
  delegationImpact,
  delegationUsage,
  getDelegation,
  listDelegations,
  pauseDelegation,
  resumeDelegation,
  revokeDelegation,
  revokeMany,
  whatIfDelegation,
  type Delegation,
  type DelegationDraft,
  type WhatIf,
} from "#contract/delegations.ts";
import type { Client } from "./client.ts";
import { ifMatch, pagesQuery, replyQuery } from "./queries.ts";

export interface DelegationFilter {
  /** All that this person may see; without it their own. */
  readonly whose?: "all";
  readonly user_id?: string;
  readonly agent_id?: string;
  readonly status?: Delegation["status"];
  readonly attention?: "true";
}

/** The first page, for short lists. */
export const delegationListQuery = (client: Client, filter: DelegationFilter) =>
  replyQuery(client, ["delegations", "list", filter], listDelegations, { query: filter });

export const delegationPagesQuery = (client: Client, filter: DelegationFilter) =>
  pagesQuery(
    ["delegations", "pages", filter],
    async (cursor, signal) => await client.ask(listDelegations, { query: { ...filter, cursor }, signal }),
  );

export interface ReadDelegation {
  readonly delegation: Delegation;
  readonly etag: string | undefined;
  readonly readAt: Date;
}

export const delegationQuery = (client: Client, id: string) =>
  queryOptions({
    queryKey: ["delegations", "one", id],
    queryFn: async ({ signal }): Promise<ReadDelegation> => {
      const answered = await client.askAnswer(getDelegation, { params: { id }, signal });
      return { delegation: answered.value, etag: answered.headers.get("etag") ?? undefined, readAt: new Date() };
    },
    structuralSharing: false,
  });

export const usageQuery = (client: Client, id: string) =>
  replyQuery(client, ["delegations", "usage", id], delegationUsage, { params: { id }, query: {} });

export const historyQuery = (client: Client, id: string) =>
  replyQuery(client, ["delegations", "history", id], delegationHistory, { params: { id } });

/** What ending it would take away; read anew each time a dialog opens. */
export const impactQuery = (client: Client, id: string) => ({
  ...replyQuery(client, ["delegations", "impact", id], delegationImpact, { params: { id } }),
  staleTime: 0,
  gcTime: 0,
});

export const askWhatIf = async (client: Client, draft: DelegationDraft): Promise<WhatIf> =>
  await client.ask(whatIfDelegation, { body: draft });

/** Creates it; the same `idempotencyKey` never creates a second. */
export const create = async (client: Client, draft: DelegationDraft, idempotencyKey: string): Promise<Delegation> =>
  await client.ask(createDelegation, { body: draft, headers: { "idempotency-key": idempotencyKey } });

export const revoke = async (client: Client, id: string, reason: string) =>
  await client.ask(revokeDelegation, { params: { id }, body: { reason } });

export const pause = async (client: Client, id: string, reason: string) =>
  await client.ask(pauseDelegation, { params: { id }, body: { reason } });

export const resume = async (client: Client, id: string, reason: string, etag: string | undefined) =>
  await client.ask(resumeDelegation, { params: { id }, body: { reason }, ...ifMatch(etag) });

export const revokeAllOf = async (client: Client, agentId: string, delegatorId: string, reason: string) =>
  await client.ask(revokeMany, { body: { agent_id: agentId, delegator_id: delegatorId, mode: "revoke", reason } });
