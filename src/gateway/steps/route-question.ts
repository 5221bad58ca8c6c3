import { isIPv4 } from "node:net";
import { issueOfJson } from "#contract/json-members.ts";
import { Problem } from "#contract/problem.ts";
import { parseStrictJson } from "#http/strict-json.ts";
import type { EvaluationQuery } from "#pdp-client/pdp-client.ts";
import { meetsAt } from "#pdp-client/obligations.ts";
import type { InboundMethod } from "#gateway/model/inbound.ts";
import { readsBody, resolveMapping } from "#gateway/routes/authz-mapping.ts";
import type { RowMethod } from "#gateway/routes/route-row.ts";
import type { Route } from "#gateway/routes/route-table.ts";
import type { SourcedMapping } from "#gateway/routes/row-mappings.ts";
import { clientName } from "#gateway/sessions/client-name.ts";
import { coarseNetworkOf } from "#gateway/sessions/session-keys.ts";

/** What a row asks the decision point about one request. */
export interface RouteQuestion {
  readonly question: EvaluationQuery;
  /** The body, where deciding had to read it: those bytes are what is forwarded. */
  readonly body: Uint8Array<ArrayBuffer> | undefined;
}

/** Where a request comes from, coarsely: its network and the name of its program. */
export interface AskingClient {
  readonly address: string;
  readonly userAgent: string;
}

/** Network of an address, /24 or /48, or `unknown`: nearer than that is nobody's business but the audit log's. */
const clientNetwork = (address: string): string => {
  const network = coarseNetworkOf(address);
  if (network === undefined) return "unknown";
  return isIPv4(`${network}.0`) ? `${network}.0/24` : `${network}::/48`;
};

/** The mapping of a method; HEAD uses that of GET. */
export const mappingOf = (route: Route, method: InboundMethod): SourcedMapping | undefined =>
  route.mappings.get((method === "HEAD" ? "GET" : method) as RowMethod);

/**
 * Makes the question of a `pdp` row. The body is read only where the mapping names it. Throws `no_mapping`,
 * `reserved_resource_id`, and the faults of the body.
 */
export const askOfRoute = async (
  request: {
    readonly route: Route;
    readonly method: InboundMethod;
    readonly captures: ReadonlyMap<string, string>;
    readonly client: AskingClient;
  },
  readBody: () => Promise<Uint8Array<ArrayBuffer>>,
): Promise<RouteQuestion> => {
  const { route, method, captures, client } = request;
  const mapped = mappingOf(route, method);
  if (mapped === undefined) throw new Problem("no_mapping");
  const body = readsBody(mapped.mapping) ? await readBody() : undefined;
  const resolved = resolveMapping(mapped.mapping, route.pattern, captures, body && parseStrictJson(body, { depth: 64, keepsUnfit: true }));
  const unfit = issueOfJson(resolved.claimed);
  if (unfit !== undefined) throw new Problem("invalid_request", { errors: [{ path: "", message: unfit }] });
  const question: EvaluationQuery = {
    type: resolved.type,
    action: resolved.action,
    meets: metByRow,
    properties: resolved.properties,
    context: {
      route: route.id,
      method,
      client: { network: clientNetwork(client.address), user_agent: clientName(client.userAgent) },
    },
    id: resolved.id,
    claimed: Object.keys(resolved.claimed).length === 0 ? undefined : resolved.claimed,
  };
  return { question, body };
};

export const metByRow = meetsAt<"gateway">({
  data_scope: "The service behind cuts it out.",
  session_termination: "The session ends before the service behind is called: `end-by-decision.ts`.",
});
