import type { z } from "zod";
import type { Endpoint } from "#contract/endpoint.ts";
import { Problem } from "#contract/problem.ts";
import { requireAgentMay, type LivingDelegations } from "#authn/model/agent-rule.ts";
import { requireScope, type Caller } from "#authn/model/caller.ts";
import type { VerifyBearer } from "#authn/keys/service-identity.ts";

/** Makes a caller of the request's bearer token and holds it against what the endpoint asks. */
export type Authenticate = (request: Request, endpoint: Endpoint<z.ZodType, z.ZodType, z.ZodType, z.ZodType>) => Promise<Caller>;

/**
 * Authentication of every service behind the gateway: bearer tokens only. On an endpoint with auth `none` the credential is not
 * looked at and there is no caller (`undefined`). A `session` endpoint is never for a bearer. An agent's token gets what the endpoint
 * says that it gets.
 */
export const createAuthenticate = (parts: { readonly verify: VerifyBearer; readonly lives: LivingDelegations }): Authenticate => {
  return async (request, endpoint) => {
    if (endpoint.auth === "none") return undefined as unknown as Caller;
    if (endpoint.auth === "session") throw new Problem("session_required");
    const caller = await parts.verify(request);
    await requireAgentMay(endpoint.agents, caller, parts.lives);
    requireScope(caller, endpoint.scope ?? []);
    return caller;
  };
};
