import { queryOptions } from "@tanstack/react-query";
import { z } from "zod";
import { evaluateMany } from "#contract/authzen.ts";
import { decisionValues, getDecision, type listDecisions } from "#contract/decisions.ts";
import type { SentQuery } from "#contract/endpoint.ts";
import type { Client } from "./client.ts";
import type { Suggestions } from "../ui/suggest-input.tsx";
import { hasCode } from "../model/gateway-error.ts";

/** What of a decision can be looked for with suggestions. */
export type DecisionValue = "subject" | "agent" | "action" | "resource_type" | "resource";

export type DecisionFilter = SentQuery<typeof listDecisions>;

/** What there is to be found by, the last used first. */
export const decisionSuggestions = (client: Client, of: DecisionValue, text: string): Suggestions => ({
  key: ["decisions", "values", of, text],
  read: async (signal) => {
    const { values } = await client.ask(decisionValues, { query: { of, text: text || undefined }, signal });
    return values.map(({ value, name }) => ({ value, label: name }));
  },
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
