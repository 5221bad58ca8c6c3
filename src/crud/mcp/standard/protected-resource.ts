import { Problem } from "#contract/problem.ts";
import { scopes } from "#crud/mcp/tool-service.ts";

/**
 * This endpoint as an OAuth resource server. It is one resource to whoever comes through the gateway, which says so, and
 * another at this service's own address; the metadata of each names itself.
 */
export const createProtectedResource = (options: {
  readonly publicUrl: string;
  readonly ownUrl: string;
  readonly authorizationServers: readonly string[];
}) => {
  const baseOf = (request: Request): string =>
    (request.headers.has("x-forwarded-host") ? options.publicUrl : options.ownUrl).replace(/\/$/, "");
  const suffix = (view: string): string => (view === "" ? "/mcp" : `/mcp/${view}`);
  const all = Object.values(scopes);
  return {
    /** RFC 9728 metadata of the endpoint or of one view of it, as the one that sent this request addresses it. */
    metadata: (request: Request, view: string) => ({
      resource: `${baseOf(request)}${suffix(view)}`,
      authorization_servers: options.authorizationServers,
      scopes_supported: all,
      bearer_methods_supported: ["header"],
      resource_name: view === "" ? "Sallyport tools" : `Sallyport tools: ${view}`,
    }),
    /** The 401 and 403 challenges of RFC 6750 and RFC 9728, naming where the metadata is. */
    challenge: (request: Request, view: string, problem: Problem): Problem => {
      if (problem.status !== 401 && problem.code !== "insufficient_scope") return problem;
      const error = problem.code === "invalid_token" || problem.code === "insufficient_scope" ? `error="${problem.code}", ` : "";
      const stepUp = problem.code === "step_up_required" ? problem.options.headers?.["www-authenticate"] : undefined;
      const start = stepUp === undefined ? `Bearer ${error}` : `${stepUp}, `;
      const metadata = `${baseOf(request)}/.well-known/oauth-protected-resource${suffix(view)}`;
      const header = `${start}resource_metadata="${metadata}", scope="${all.join(" ")}"`;
      return new Problem(problem.code, { ...problem.options, headers: { ...problem.options.headers, "www-authenticate": header } });
    },
  };
};
