import { infiniteQueryOptions, queryOptions } from "@tanstack/react-query";
import { z } from "zod";
import { evaluateMany, type Reason } from "#contract/authzen.ts";
import { getDecision, listDecisions } from "#contract/decisions.ts";
import type { Client } from "./client.ts";
import { GatewayError } from "./gateway-error.ts";

export interface DecisionFilter {
  readonly subject?: string;
  readonly agent?: string;
  readonly action?: string;
  readonly resource_type?: string;
  readonly decision?: "true" | "false";
  readonly enforced?: "true" | "false";
  readonly reason?: Reason;
  readonly correlation_id?: string;
}

export const decisionPagesQuery = (client: Client, filter: DecisionFilter) =>
  infiniteQueryOptions({
    queryKey: ["decisions", "pages", filter],
    queryFn: async ({ pageParam, signal }) =>
      await client.ask(listDecisions, { query: { ...filter, limit: 50, ...(pageParam === "" ? {} : { cursor: pageParam }) }, signal }),
    initialPageParam: "",
    getNextPageParam: (page) => page.nextCursor,
  });

/** The newest few of a filter. */
export const lastDecisionsQuery = (client: Client, filter: DecisionFilter, limit: number) =>
  queryOptions({
    queryKey: ["decisions", "last", filter, limit],
    queryFn: async ({ signal }) => await client.ask(listDecisions, { query: { ...filter, limit }, signal }),
  });

/** One decision, as far as this person may know, with the smallest change that would allow it. */
export const decisionQuery = (client: Client, id: string) =>
  queryOptions({
    queryKey: ["decisions", "one", id],
    queryFn: async ({ signal }) => {
      try {
        return await client.ask(getDecision, { params: { id }, query: { remedy: "true" }, signal });
      } catch (error) {
        // Another decision point decided: what would change its answer is not known here, the rest is.
        if (!(error instanceof GatewayError) || error.problem.code !== "not_supported") throw error;
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
