import { ask, type AskOptions } from "#contract/ask.ts";
import { listAccessRequests } from "#contract/access-requests.ts";
import { listDefinitions } from "#contract/definitions.ts";
import { listDelegations } from "#contract/delegations.ts";
import type { Endpoint, ReplyOf } from "#contract/endpoint.ts";
import { listRollouts } from "#contract/rollouts.ts";
import { taskSummary } from "#contract/tasks.ts";
import { MAX_WAITING, readWaiting, type Waiting } from "#contract/waiting.ts";
import type { EvaluationQuery, PdpClient } from "#pdp-client/pdp-client.ts";
import type { RoutesInForce } from "#gateway/active-routes/active-routes.ts";
import type { GatewayParts } from "#gateway/model/gateway-parts.ts";
import { reply } from "#gateway/model/reply.ts";
import { speakFor } from "#gateway/proxy/upstream-authorization.ts";
import type { InternalHandler } from "#gateway/steps/route-call.ts";
import { requireSession } from "./session-list.ts";

/** What does not answer by then is not counted. */
const ANSWER_MS = 3000;

type Counted = keyof Waiting;
/** Asks a service in the caller's name. */
type Count = <E extends Endpoint>(endpoint: E, options: AskOptions<E>) => Promise<ReplyOf<E>>;

interface Row {
  /** All must be permitted; nobody is asked where none stand. */
  readonly pairs: readonly (readonly [type: string, action: string])[];
  readonly count: (from: Count, subject: string) => Promise<number>;
}

const rows: Readonly<Record<Counted, Row>> = {
  tasks: { pairs: [["tasks", "view_summary"]], count: async (from) => (await from(taskSummary, {})).mine },
  requests: {
    pairs: [["tasks", "view_all"]],
    count: async (from) =>
      (await from(listAccessRequests, { query: { as: "approver", status: "pending", limit: MAX_WAITING } })).requests.length,
  },
  definitions: {
    pairs: [],
    count: async (from) =>
      (await from(listDefinitions, { query: { state: "drifted", showing: "true" } })).waiting.reduce(
        (sum, { definitions }) => sum + definitions,
        0,
      ),
  },
  policies: {
    pairs: [
      ["policies", "view_all"],
      ["policies", "activate"],
    ],
    count: async (from) => (await from(listRollouts, { query: { state: "shadow", limit: MAX_WAITING } })).rollouts.length,
  },
  delegations: {
    pairs: [["delegations", "view_all"]],
    count: async (from, subject) =>
      (await from(listDelegations, { query: { user_id: subject, status: "active", attention: "true", limit: MAX_WAITING } })).items.length,
  },
};

/**
 * What waits for the caller. It lies at the gateway, for no service may ask all of the others. Each service counts what it would list to the
 * caller; the decision point is asked once which of them to ask, so that nobody is refused for looking at a page. Cost: one batch of
 * questions and at most one call a count, all at once. Throws `decision_unavailable`.
 */
export const createWaiting = (
  parts: Pick<GatewayParts, "identity" | "audiences"> & {
    readonly pdpClient: Pick<PdpClient, "decideMany" | "refusal">;
    readonly peerOf: RoutesInForce["peerOf"];
  },
): InternalHandler => {
  const asks: readonly EvaluationQuery[] = Object.values(rows).flatMap(({ pairs }) =>
    pairs.map(([type, action]) => ({ type, action, context: { showing: true } })),
  );
  return async (call) => {
    const who = requireSession(call);
    const { correlationId } = call.inbound;
    const decided = await parts.pdpClient.decideMany(who.principal, asks, correlationId);
    const permitted = new Set(asks.filter((_ask, at) => decided[at]?.decision === true).map(({ type, action }) => `${type}/${action}`));
    const from: Count = async (endpoint, options) => {
      const { service } = endpoint;
      if (service === "gateway") throw new TypeError("the gateway counts nothing itself");
      const token = await speakFor(parts.identity, who, { audience: parts.audiences[service] });
      const headers = { authorization: `Bearer ${token}`, "x-correlation-id": correlationId };
      return ask(parts.peerOf(service), endpoint, { ...options, headers, signal: AbortSignal.timeout(ANSWER_MS) });
    };
    const counted = Object.entries(rows).map(async ([name, { pairs, count }]) => {
      if (!pairs.every((pair) => permitted.has(pair.join("/")))) return [];
      // What cannot be read now shows no count; the page itself says why.
      const number = await count(from, who.principal.sub).catch(() => undefined);
      return number === undefined ? [] : [[name, Math.min(number, MAX_WAITING)] as const];
    });
    return reply(readWaiting, Object.fromEntries((await Promise.all(counted)).flat()));
  };
};
