import { Problem } from "#contract/problem.ts";
import { parseStrictJson } from "#http/strict-json.ts";
import type { PointCall } from "#pdp-client/ask-point.ts";
import type { Inbound } from "#gateway/model/inbound.ts";
import { guardContentType, readBody } from "#gateway/model/read-body.ts";
import type { Recognised } from "#gateway/steps/recognise.ts";
import { parseRequestId } from "./request-id.ts";

/** Somebody's question as it was sent: its body read once, as a value and byte for byte. */
export interface Asked {
  readonly who: Exclude<Recognised, { readonly kind: "none" }>;
  readonly value: unknown;
  readonly bytes: Uint8Array<ArrayBuffer>;
  readonly call: Pick<PointCall<unknown>, "correlationId" | "requestId" | "signal">;
}

/** A request to the facade, and who it comes from. */
export interface Asking {
  readonly inbound: Inbound;
  readonly who: Recognised;
}

/** Bytes, nesting, and members of a body. */
export interface BodyLimits {
  readonly bodyBytes: number;
  readonly depth: number;
  readonly members?: number | undefined;
}

type PointOfItsOwn = Extract<Recognised, { readonly kind: "bearer" }>;

/** Enforcement points of their own speak the standard to the decision point, through the gateway. */
export const isEnforcementPoint = (who: Recognised): who is PointOfItsOwn => who.kind === "bearer" && who.caller.scopes.has("authzen.pep");

/** What is not sent as JSON is 415 to a browser; to an enforcement point it is 400, as at the decision point itself. */
const guardJson = (inbound: Inbound, who: Recognised): void => {
  try {
    guardContentType(inbound, ["application/json"]);
  } catch (error) {
    if (!isEnforcementPoint(who)) throw error;
    throw new Problem("invalid_request", { errors: [{ path: "header.content-type", message: "must be application/json" }] });
  }
};

/**
 * Reads a question of the facade and answers it; nothing of it may be kept. Throws `unauthenticated`, and what is wrong with the request's
 * id, its content type and its body.
 */
export const answerFacade = async (
  { inbound, who }: Asking,
  limits: BodyLimits,
  work: (asked: Asked) => Promise<{ readonly value: unknown; readonly headers: Readonly<Record<string, string>> }>,
): Promise<Response> => {
  const requestId = parseRequestId(inbound);
  if (who.kind === "none") throw new Problem("unauthenticated");
  guardJson(inbound, who);
  const bytes = await readBody(inbound, limits.bodyBytes);
  const { depth, members } = limits;
  const read = parseStrictJson(bytes, { depth, members, keepsUnfit: true });
  const call = { correlationId: inbound.correlationId, requestId, signal: inbound.signal };
  const { value, headers } = await work({ who, value: read, bytes, call });
  return new Response(JSON.stringify(value), {
    headers: { "content-type": "application/json", "cache-control": "no-store", ...headers },
  });
};
