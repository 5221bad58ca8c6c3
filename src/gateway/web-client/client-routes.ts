import { parsePattern, type RoutePattern } from "#gateway/routes/route-pattern.ts";
import { createSegmentTrie } from "#gateway/routes/segment-trie.ts";

/** What opens a screen of the web client: its module must be on and its pair allowed. The client gates by the same. */
export interface ClientRoute {
  readonly path: string;
  readonly pair?: { readonly type: string; readonly action: string };
  readonly module?: string;
}

const viewAll = (type: string) => ({ type, action: "view_all" });

const viewPolicies = { type: "policies", action: "view" };

/** The screens that there are. One decision or request may be opened by anybody signed in: the server says how much they see. */
const clientRoutes: readonly ClientRoute[] = [
  { path: "/" },
  { path: "/tools", pair: viewAll("tools") },
  { path: "/tools/{name}", pair: viewAll("tools") },
  { path: "/delegations", pair: viewAll("delegations"), module: "agents" },
  { path: "/delegations/new", pair: viewAll("delegations"), module: "agents" },
  { path: "/delegations/{id}", pair: viewAll("delegations"), module: "agents" },
  { path: "/why", pair: viewAll("decisions") },
  { path: "/why/{id}" },
  { path: "/requests", pair: viewAll("tasks") },
  { path: "/requests/{id}" },
  { path: "/policies", pair: viewPolicies, module: "pdp" },
  { path: "/policies/{id}", pair: viewPolicies, module: "pdp" },
  { path: "/policies/versions/{version}", pair: viewPolicies, module: "pdp" },
];

/** Paths below these never get the client's page: the route's own answer, or 404. */
const reserved = ["/api", "/access", "/auth", "/oauth", "/mcp", "/metrics", "/.well-known", "/assets", "/events", "/v0.1"] as const;

export const isReserved = (path: string): boolean => reserved.some((prefix) => path === prefix || path.startsWith(`${prefix}/`));

/** Finds the screen of a path, or `undefined`. */
export const createClientRouteFinder = (routes: readonly ClientRoute[] = clientRoutes): ((path: string) => ClientRoute | undefined) => {
  const trie = createSegmentTrie<ClientRoute>();
  for (const route of routes) trie.add(parsePattern(route.path) as RoutePattern, route);
  return (path) => trie.find(path)?.values[0];
};
