import { queryOptions } from "@tanstack/react-query";
import { z } from "zod";
import { evaluateMany, type Reason } from "#contract/authzen.ts";
import { decisionValues, getDecision, listDecisions, type DecisionSort } from "#contract/decisions.ts";
import type { Client } from "./client.ts";
import type { Suggestions } from "../ui/suggest-input.tsx";
import { hasCode } from "../model/gateway-error.ts";
import { pagesQuery, replyQuery } from "./queries.ts";

/** What of a decision can be looked for with suggestions. */
export type DecisionValue = "subject" | "agent" | "action" | "resource_type" | "resource";

export interface DecisionFilter extends Partial<Readonly<Record<DecisionValue, string>>> {
  readonly whose?: "own";
  /** `part`: the five above may be names and parts of them. */
  readonly match?: "part";
  readonly from?: string;
  readonly to?: string;
  readonly sort?: DecisionSort;
  readonly order?: "asc" | "desc";
  readonly decision?: "true" | "false";
  readonly enforced?: "true" | "false" | "any";
  readonly reason?: Reason;
  readonly correlation_id?: string;
}

export const decisionPagesQuery = (client: Client, filter: DecisionFilter) =>
  pagesQuery(
    ["decisions", "pages", filter],
    async (cursor, signal) => await client.ask(listDecisions, { query: { ...filter, limit: 50, cursor }, signal }),
  );

/** What there is to be found by, the last used first. */
export const decisionSuggestions = (client: Client, of: DecisionValue, text: string): Suggestions => ({
  key: ["decisions", "values", of, text],
  read: async (signal) => {
    const { values } = await client.ask(decisionValues, { query: { of, text: text || undefined }, signal });
    return values.map(({ value, name }) => ({ value, label: name }));
  },
});

/** The newest few of a filter. */
export const lastDecisionsQuery = (client: Client, filter: DecisionFilter, limit: number) =>
  replyQuery(client, ["decisions", "last", filter, limit], listDecisions, { query: { ...filter, limit } });

/** One decision without what would change it: what was refused, and whether it can be asked for. */
export const outcomeQuery = (client: Client, id: string) => ({
  ...replyQuery(client, ["decisions", "outcome", id], getDecision, { params: { id }, query: {} }),
  staleTime: 60_000,
});

/** One decision, as far as this person may know, with the smallest change that would allow it. */
export const decisionRecordQuery = (client: Client, id: string) =>
  queryOptions({
    queryKey: ["decisions", "one", id],
    queryFn: async ({ signal }) => {
      try {
        return await client.ask(getDecision, { params: { id }, query: { remedy: "true" }, signal });
      } catch (error) {
        // Another decision point decided: what would change its answer is not known here, the rest is.
        if (!hasCode(error, "not_supported")) throw error;
        return client.ask(getDecision, { params: { id }, query: {}, signal });
      }
    },
    staleTime: 60_000,
  });

/**
 * The gateway's batch of questions. The reply is taken as it comes: reading it strictly, so that nothing but a clean
 * yes is one, is the reader's work, and a reply of the wrong form must not spoil the others.
 */
const facadeEvaluations = { ...evaluateMany, body: z.looseObject({ evaluations: z.array(z.unknown()) }), reply: z.unknown() };

const TIMEOUT_MS = 8_000;

export const sendBatch = async (client: Client, items: readonly Readonly<Record<string, unknown>>[]): Promise<unknown> =>
  await client.ask(facadeEvaluations, { body: { evaluations: [...items] }, signal: AbortSignal.timeout(TIMEOUT_MS) });
