import type { metadata } from "#contract/authzen.ts";
import type { ReplyOf } from "#contract/endpoint.ts";
import { eventSchemaOf, readEventSchema } from "#contract/event-schemas.ts";
import { Problem } from "#contract/problem.ts";
import type { BuiltInHandler } from "#gateway/steps/built-in.ts";
import { requireOrigin, type Inbound } from "#gateway/model/inbound.ts";
import type { GatewayParts } from "#gateway/model/gateway-parts.ts";
import { reply } from "#gateway/model/reply.ts";
import { createKeptAnswer } from "./stored-answer.ts";

/** The standard's members and the paths under which the gateway has them. */
const endpointPaths = {
  access_evaluation_endpoint: "/access/v1/evaluation",
  access_evaluations_endpoint: "/access/v1/evaluations",
  search_subject_endpoint: "/access/v1/search/subject",
  search_resource_endpoint: "/access/v1/search/resource",
  search_action_endpoint: "/access/v1/search/action",
  access_request_endpoint: "/access/v1/requests",
} as const;

/** How long the decision point's word on what it serves is believed: as long as it says itself. Away, it is left alone a while. */
const KEPT = { goodMs: 60_000, failedMs: 1000, whileFailed: "last_answer" } as const;

const json = (value: unknown, cacheControl: string): Response =>
  new Response(JSON.stringify(value), {
    headers: { "content-type": "application/json", "cache-control": cacheControl, "access-control-allow-origin": "*" },
  });

/** What consumers of events hold their data against; the same for everybody. */
export const readSchema: BuiltInHandler = async ({ captures }) => {
  const schema = eventSchemaOf(captures.get("type") ?? "");
  if (schema === undefined) throw new Problem("not_found");
  return reply(readEventSchema, { ...schema, title: String(schema["title"]) }, { headers: { "cache-control": "public, max-age=300" } });
};

/** Public documents about this deployment: its keys, its decision point, and what a token for it must name. */
export const createWellKnown = (
  parts: Pick<GatewayParts, "jwks" | "now"> & {
    /** What the decision point says it serves. */
    readonly pointMetadata: () => Promise<ReplyOf<typeof metadata>>;
    /** Whether the table of this moment has a row for a POST to the path. */
    readonly isRouted: (path: string) => boolean;
    /** Where clients get their tokens. */
    readonly authorizationServers: readonly string[];
  },
): Readonly<Record<"jwks" | "authzen" | "resource" | "mcp", BuiltInHandler>> => {
  // What it served a while ago is a better word than none.
  const served = createKeptAnswer(parts.pointMetadata, KEPT, () => parts.now().getTime());
  const pointMetadata = () =>
    served().catch((cause: unknown) => {
      throw new Problem("pdp_unavailable", { cause, headers: { "retry-after": "1" } });
    });

  const resource = (inbound: Inbound, path: string, more: Readonly<Record<string, unknown>>): Response =>
    json(
      {
        resource: `${requireOrigin(inbound)}${path}`,
        authorization_servers: parts.authorizationServers,
        bearer_methods_supported: ["header"],
        ...more,
      },
      "public, max-age=300",
    );
  return {
    jwks: async () => json(await parts.jwks(), "public, max-age=300"),
    authzen: async ({ inbound }) => {
      const origin = requireOrigin(inbound);
      const point = await pointMetadata();
      const endpoints = Object.entries(endpointPaths).filter(
        ([member, path]) => point[member as keyof typeof endpointPaths] !== undefined && parts.isRouted(path),
      );
      return json(
        { policy_decision_point: origin, ...Object.fromEntries(endpoints.map(([member, path]) => [member, `${origin}${path}`])) },
        "public, max-age=60",
      );
    },
    resource: async ({ inbound }) => resource(inbound, "", { resource_name: "Sallyport" }),
    mcp: async ({ inbound, captures }) => {
      const view = captures.get("view");
      return resource(inbound, view === undefined ? "/mcp" : `/mcp/${view}`, {
        scopes_supported: ["mcp.tools.discovery", "mcp.tools.invoke"],
        resource_name: view === undefined ? "Sallyport tools" : `Sallyport tools: ${view}`,
      });
    },
  };
};
