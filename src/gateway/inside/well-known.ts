import type { JSONWebKeySet } from "jose";
import { Problem } from "#contract/problem.ts";
import type { BuiltInHandler } from "#gateway/built-in.ts";
import type { Inbound } from "#gateway/front-door/inbound.ts";

export interface WellKnownParts {
  readonly jwks: () => Promise<JSONWebKeySet>;
  /** Where clients get their tokens. */
  readonly authorizationServers: readonly string[];
}

const json = (value: unknown, cacheControl: string): Response =>
  new Response(JSON.stringify(value), {
    headers: { "content-type": "application/json", "cache-control": cacheControl, "access-control-allow-origin": "*" },
  });

const originOf = (inbound: Inbound): string => {
  if (inbound.origin === undefined) throw new Problem("misdirected_host");
  return inbound.origin;
};

/** Public documents about this house: its keys, its decision point, and what a token for it must name. */
export const createWellKnown = (parts: WellKnownParts): Readonly<Record<"jwks" | "authzen" | "resource" | "mcp", BuiltInHandler>> => {
  const resource = (inbound: Inbound, path: string, more: Readonly<Record<string, unknown>>): Response =>
    json(
      {
        resource: `${originOf(inbound)}${path}`,
        authorization_servers: parts.authorizationServers,
        bearer_methods_supported: ["header"],
        ...more,
      },
      "public, max-age=300",
    );
  return {
    jwks: async () => json(await parts.jwks(), "public, max-age=300"),
    authzen: async ({ inbound }) => {
      const origin = originOf(inbound);
      return json(
        {
          policy_decision_point: origin,
          access_evaluation_endpoint: `${origin}/access/v1/evaluation`,
          access_evaluations_endpoint: `${origin}/access/v1/evaluations`,
          search_subject_endpoint: `${origin}/access/v1/search/subject`,
          search_resource_endpoint: `${origin}/access/v1/search/resource`,
          search_action_endpoint: `${origin}/access/v1/search/action`,
        },
        "public, max-age=300",
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
