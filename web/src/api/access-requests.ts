import { useInfiniteQuery } from "@tanstack/react-query";
import { z } from "zod";
import { accessRequestDraft, accessRequestOffer, listAccessRequests, type AccessRequestStatus } from "#contract/access-requests.ts";
import { evaluate } from "#contract/authzen.ts";
import { useEndpoint } from "./use-endpoint.ts";
import type { Client } from "./client.ts";

export const REQUESTS = "requests";

/** How old what is on screen may become: no event of requests reaches the page. */
export const REREAD_MS = 4_000;

/** Requests of the person, or that wait for the person's answer, page by page. */
export const useRequests = (as: "requester" | "approver", status: AccessRequestStatus | undefined) =>
  useInfiniteQuery({ ...useEndpoint(listAccessRequests).pages({ query: { as, limit: 50, status } }), refetchInterval: REREAD_MS });

const denial = accessRequestDraft.pick({ subject: true, resource: true, action: true, denial: true });

/** All that a request needs but the words of who asks. */
export type Denial = z.infer<typeof denial>;

export interface Requestable {
  readonly denial: Denial;
  readonly display: { readonly title: string; readonly message: string };
}

const toolOffer = accessRequestOffer.extend({
  evaluation_id: z.string(),
  subject: denial.shape.subject,
  resource: denial.shape.resource,
  action: denial.shape.action,
});

/** Reads what the refusal of a tool call offers; `undefined`: nothing can be asked for. */
export const readToolOffer = (data: Readonly<Record<string, unknown>>): Requestable | undefined => {
  const read = toolOffer.safeParse(data["access_request"]);
  if (!read.success) return undefined;
  const { subject, resource, action, evaluation_id, expires_at, binding_token, display } = read.data;
  return { denial: { subject, resource, action, denial: { evaluation_id, expires_at, binding_token } }, display };
};

const answered = z.looseObject({
  decision: z.boolean(),
  context: z
    .looseObject({ reason: z.string().optional(), evaluation_id: z.string().optional(), access_request: accessRequestOffer.optional() })
    .optional(),
});

/** The gateway says who asks, so nothing is sent for it. */
const askOneself = { ...evaluate, body: z.looseObject({}), reply: answered };

export type AskedAgain =
  | { readonly kind: "allowed" }
  | { readonly kind: "requestable"; readonly requestable: Requestable }
  | { readonly kind: "denied"; readonly reason: string | undefined };

/** Puts a question once more for the signed-in person: a denial can be asked to be lifted only while it is fresh. */
export const askAgain = async (
  client: Client,
  subjectId: string,
  action: string,
  resource: { readonly type: string; readonly id: string },
): Promise<AskedAgain> => {
  const { decision, context } = await client.ask(askOneself, { body: { action: { name: action }, resource } });
  if (decision) return { kind: "allowed" };
  const offer = context?.access_request;
  const evaluationId = context?.evaluation_id;
  if (offer === undefined || evaluationId === undefined) return { kind: "denied", reason: context?.reason };
  const { expires_at, binding_token, display } = offer;
  return {
    kind: "requestable",
    requestable: {
      denial: {
        subject: { type: "identity", id: subjectId },
        action: { name: action },
        resource,
        denial: { evaluation_id: evaluationId, expires_at, binding_token },
      },
      display,
    },
  };
};
