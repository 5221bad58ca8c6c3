import { Problem } from "#contract/problem.ts";
import { scopes } from "#crud/mcp/tool-desk.ts";

export interface ProtectedResource {
  /** Public URL of the endpoint or of one view of it. */
  resource(view: string): string;
  /** RFC 9728 metadata. */
  metadata(view: string): Readonly<Record<string, unknown>>;
  /** The 401 and 403 challenges of RFC 6750 and RFC 9728, naming where the metadata is. */
  challenge(view: string, problem: Problem): Problem;
}

/** This endpoint as an OAuth resource server. */
export const createProtectedResource = (options: {
  readonly publicUrl: string;
  readonly authorizationServers: readonly string[];
}): ProtectedResource => {
  const base = options.publicUrl.replace(/\/$/, "");
  const suffix = (view: string): string => (view === "" ? "/mcp" : `/mcp/${view}`);
  const all = Object.values(scopes);
  return {
    resource: (view) => `${base}${suffix(view)}`,
    metadata: (view) => ({
      resource: `${base}${suffix(view)}`,
      authorization_servers: options.authorizationServers,
      scopes_supported: all,
      bearer_methods_supported: ["header"],
      resource_name: view === "" ? "Sallyport tools" : `Sallyport tools: ${view}`,
    }),
    challenge: (view, problem) => {
      if (problem.status !== 401 && problem.code !== "insufficient_scope") return problem;
      const error = problem.code === "invalid_token" || problem.code === "insufficient_scope" ? `error="${problem.code}", ` : "";
      const header = `Bearer ${error}resource_metadata="${base}/.well-known/oauth-protected-resource${suffix(view)}", scope="${all.join(" ")}"`;
      return new Problem(problem.code, { ...problem.options, headers: { ...problem.options.headers, "www-authenticate": header } });
    },
  };
};
