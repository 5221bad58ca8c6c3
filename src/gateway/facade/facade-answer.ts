import type { Inbound } from "#gateway/front-door/inbound.ts";
import { parseRequestId } from "./request-id.ts";

/** Answers a question of the facade; nothing of it may be kept. */
export const answerFacade = async (
  inbound: Inbound,
  work: (requestId: string | undefined) => Promise<{ readonly value: unknown; readonly headers: Readonly<Record<string, string>> }>,
): Promise<Response> => {
  const { value, headers } = await work(parseRequestId(inbound));
  return new Response(JSON.stringify(value), {
    headers: { "content-type": "application/json", "cache-control": "no-store", ...headers },
  });
};
