import type { z } from "zod";
import { ask } from "#contract/ask.ts";
import type { Endpoint } from "#contract/endpoint.ts";
import { searchNodesWithMetadata, shortestPath } from "#contract/membership.ts";
import { Problem } from "#contract/problem.ts";
import { onBehalfOf, type MembershipParts } from "#crud/model/ask-membership.ts";
import { UpstreamError } from "#crud/model/upstream-error.ts";
import type { Connector } from "#crud/tools/tool.ts";

type Readable = Endpoint<z.ZodType, z.ZodType, z.ZodUndefined, z.ZodType>;

/** Endpoints of this deployment that a loopback operation may name. Reads only; what each needs of a token stands beside it. */
export const loopbackEndpoints: Readonly<Record<string, { readonly endpoint: Readable; readonly scopes: readonly string[] }>> = {
  search_identities: { endpoint: searchNodesWithMetadata as Readable, scopes: ["membership.read"] },
  shortest_path: { endpoint: shortestPath as Readable, scopes: ["membership.read"] },
};

/**
 * Calls an endpoint of Sallyport as the person who calls the tool, never as a service: what they may not see there, the
 * tool does not show. An agent reaches nothing but tools, and this tool was permitted to it: so the token says that this
 * service, not the agent, acts for the person, and names the call and its decision in headers.
 */
export const createLoopbackConnector = (parts: MembershipParts, name: string): Connector => {
  const row = loopbackEndpoints[name];
  if (row === undefined) throw new TypeError(`no loopback endpoint ${name}`);
  return async (call) => {
    const { sub, tenant, amr, acr, authTime } = call.caller;
    const { clientId } = parts.identity;
    const person = { sub, tenant, scopes: row.scopes, actors: [clientId], clientId, amr, acr, authTime };
    const headers = await onBehalfOf(parts, person, call.correlationId);
    const value = await ask(parts.membership, row.endpoint, {
      query: call.arguments,
      headers: {
        ...headers,
        "x-tool-id": call.toolName,
        "x-decision-id": call.decisionId,
        ...(call.delegationId === undefined ? {} : { "x-delegation-id": call.delegationId }),
      },
      signal: call.signal,
    }).catch((error: unknown) => {
      throw new UpstreamError(issueOf(error), "failed", error instanceof Problem ? { status: error.status } : {});
    });
    return { value, status: 200 };
  };
};

/** A refusal keeps its code where a tool's caller may know it; anything else is the upstream's error. */
const issueOf = (error: unknown): Problem => {
  if (!(error instanceof Problem)) return new Problem("upstream_error", { cause: error });
  if (error.code === "not_found" || error.code === "access_denied") return new Problem(error.code, { cause: error });
  if (error.code === "unprocessable" || error.code === "unknown_parameter")
    return new Problem("invalid_arguments", { errors: error.options.errors ?? [] });
  return new Problem(error.status === 503 ? "membership_unavailable" : "upstream_error", { cause: error });
};
