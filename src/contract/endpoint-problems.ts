import type { Agents, Auth, Endpoint, ServiceName } from "./endpoint.ts";
import { problemCodes, type ProblemCode } from "./problem.ts";

/**
 * What an endpoint may answer besides its reply, from the rules that hold for all of a listener and what the endpoint itself
 * declares. The code refuses with these lists and the reference is made from them.
 */

/** How a service calls input that does not fit its endpoint. */
export interface InputCodes {
  readonly repeatedParameter: ProblemCode;
  readonly unknownParameter: ProblemCode;
  readonly wrongParameter: ProblemCode;
  readonly badEncoding?: ProblemCode;
  readonly wrongMedia: ProblemCode;
  readonly unreadableBody: ProblemCode;
  readonly largeBody: ProblemCode;
  readonly repeatedMember: ProblemCode;
  readonly deepBody: ProblemCode;
  readonly unknownMember: ProblemCode;
  readonly wrongBody: ProblemCode;
}

const instance = {
  repeatedParameter: "ambiguous_query",
  unknownParameter: "unknown_parameter",
  wrongParameter: "unprocessable",
  wrongMedia: "unsupported_media_type",
  unreadableBody: "body_unreadable",
  largeBody: "body_too_large",
  repeatedMember: "duplicate_member",
  deepBody: "body_unreadable",
  unknownMember: "unknown_member",
  wrongBody: "invalid_body",
} as const satisfies InputCodes;

export const inputCodes = {
  gateway: { ...instance, unknownParameter: "invalid_query", wrongParameter: "invalid_query", unknownMember: "invalid_body" },
  // OpenID AuthZEN wants 400 where the rest of Sallyport says 422.
  pdp: {
    ...instance,
    unknownParameter: "invalid_query",
    wrongParameter: "invalid_query",
    wrongMedia: "invalid_request",
    unknownMember: "invalid_request",
    wrongBody: "invalid_request",
  },
  crud: instance,
  membership: instance,
  secrets: {
    ...instance,
    repeatedParameter: "query_repeated",
    unknownParameter: "query_unknown",
    badEncoding: "query_encoding",
    repeatedMember: "body_ambiguous",
    deepBody: "value_too_deep",
  },
} as const satisfies Readonly<Record<ServiceName, InputCodes>>;

/** What each listener answers before anybody looks at the path. */
export const listenerCodes = [
  "ambiguous_target",
  "bad_framing",
  "headers_too_large",
  "request_timeout",
] as const satisfies readonly ProblemCode[];
export type ListenerCode = (typeof listenerCodes)[number];

/** What the gateway's ingress answers on whatever path, besides. */
export const ingressCodes = [
  "ambiguous_headers",
  "body_not_allowed",
  "expectation_failed",
  "misdirected_host",
  "overloaded",
  "rate_limited",
  "stopping",
  "target_too_long",
] as const satisfies readonly ProblemCode[];
export type IngressCode = (typeof ingressCodes)[number];

const bearer = [
  "unauthenticated",
  "invalid_token",
  "identity_rejected",
  "unknown_person",
  "tenant_required",
  "identity_provider_unavailable",
] as const;
const session = ["unauthenticated", "session_store_unavailable"] as const;
const byAuth: Readonly<Record<Auth, readonly ProblemCode[]>> = {
  none: [],
  bearer,
  session,
  "session+bearer": [...bearer, ...session, "ambiguous_credentials"],
};
/** What an agent's token meets, by what the endpoint gives it. */
const byAgents: Readonly<Record<Agents, readonly ProblemCode[]>> = {
  never: ["person_required"],
  own: ["delegation_inactive"],
  decided: [],
};
const ofDecision = ["access_denied", "step_up_required", "decision_unavailable"] as const;
/** Each caller of the decision point has so many calls a second; and it decides itself who sees what it keeps. */
const ofPoint = [
  "rate_limited",
  "decision_not_recorded",
  "engine_failed",
  "membership_unavailable",
  "graph_unavailable",
  "pdp_unavailable",
  "pdp_bad_answer",
] as const;
const ofDatabase = ["store_unavailable", "event_backlog_full"] as const;
const safeMethods: ReadonlySet<string> = new Set(["GET"]);

const inputOf = ({ service, query, body, ownBody, textBody }: Endpoint): readonly ProblemCode[] => {
  const codes: InputCodes = inputCodes[service];
  // A query is refused where none is asked for, too; the gateway looks at those that it asks for alone.
  const ofQuery = [codes.repeatedParameter, codes.unknownParameter, ...(codes.badEncoding === undefined ? [] : [codes.badEncoding])];
  return [
    ...(query === undefined && service === "gateway" ? [] : ofQuery),
    ...(query === undefined ? [] : [codes.wrongParameter]),
    ...(textBody === undefined ? [] : ["unsupported_media_type" as const, "rate_limited" as const, codes.unreadableBody, codes.largeBody]),
    ...(body === undefined || ownBody !== undefined
      ? []
      : [
          codes.wrongMedia,
          // So many large bodies of one caller are read at a time.
          "rate_limited" as const,
          // A body that is compressed.
          "unsupported_media_type" as const,
          codes.unreadableBody,
          codes.largeBody,
          codes.repeatedMember,
          codes.deepBody,
          codes.unknownMember,
          codes.wrongBody,
        ]),
  ];
};

const ofService = ({ service, auth, method }: Endpoint): readonly ProblemCode[] => {
  if (service === "gateway")
    return [...ingressCodes, ...(auth.startsWith("session") && !safeMethods.has(method) ? ["csrf_failed" as const] : [])];
  if (service !== "pdp") return [];
  // An X-Request-ID that is none.
  return ["invalid_request", ...(auth === "none" ? [] : ofPoint)];
};

/** Every code that an endpoint may answer, each once. */
export const problemsOf = (endpoint: Endpoint): readonly ProblemCode[] => [
  ...new Set<ProblemCode>([
    "internal",
    ...listenerCodes,
    ...ofDatabase,
    ...ofService(endpoint),
    ...byAuth[endpoint.auth],
    ...(endpoint.scope === undefined || endpoint.scope.length === 0 ? [] : (["insufficient_scope"] as const)),
    ...(endpoint.agents === undefined ? [] : byAgents[endpoint.agents]),
    ...(endpoint.decision === undefined ? [] : ofDecision),
    ...(endpoint.params === undefined ? [] : (["not_found"] as const)),
    ...inputOf(endpoint),
    ...(endpoint.problems ?? []),
    ...(endpoint.conflicts ?? []),
    ...(endpoint.limits ?? []),
  ]),
];

/** Status with which an endpoint answers one of its codes. */
export const statusOf = (endpoint: Endpoint, code: ProblemCode): number =>
  endpoint.conflicts?.includes(code) === true ? 409 : endpoint.limits?.includes(code) === true ? 429 : problemCodes[code].status;
