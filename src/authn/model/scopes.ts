import { secretScopes } from "#contract/secret-operations.ts";

/** What OpenID Connect itself knows. */
export const identityScopes = ["openid", "profile", "offline_access"] as const;

/**
 * All that a person's token may carry. A scope only says what a token is for: whether the person may is decided at each
 * act. Never here: `authzen.pep`, `pip.read`, `membership.budget`, `metrics.read`, which are for services.
 */
export const personScopes = [
  "mcp.tools.discovery",
  "mcp.tools.invoke",
  "membership.read",
  "membership.delegate",
  "membership.write",
  "membership.registry",
  "membership.export",
  ...secretScopes,
  "audit.read",
  "pdp.decisions.read",
  "pdp.policies.read",
  "config.read",
  "config.write",
  "outbox.manage",
  "workflows.read",
  "workflows.start",
  "workflows.operate",
  "tasks.read",
  "tasks.complete",
  "forms.read",
] as const;

/** What a service client of a tenant may be given; it acts in its own name, and in that tenant alone. */
export const serviceScopes = ["authzen.pep", "authzen.search", "pip.read"] as const;

/** Most that an agent's token may carry, whatever the person's holds: tools, what they look up for the person, and the runs that it started. */
export const agentScopes = [
  "mcp.tools.discovery",
  "mcp.tools.invoke",
  "membership.read",
  "workflows.read",
  "workflows.operate",
  "tasks.complete",
] as const;
