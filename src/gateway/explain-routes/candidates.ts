import type { Explanation } from "#contract/routes.ts";
import type { Route, RouteTable } from "#gateway/routes/route-table.ts";
import { createSegmentTrie } from "#gateway/routes/segment-trie.ts";

type Candidate = Explanation["candidates"][number];

const matches = (route: Route, path: string): boolean => {
  const trie = createSegmentTrie<Route>();
  trie.add(route.pattern, route);
  return trie.find(path) !== undefined;
};

/**
 * Every row whose pattern fits a path: first those of the most specific pattern, which alone count, then the others in the
 * order of the file; with a host those that protect it, else the gateway's own. None is chosen yet.
 */
export const candidatesOf = (table: RouteTable, path: string, method: string, host?: string): Candidate[] => {
  const best = (host === undefined ? table.find(path) : table.findForward(host, path))?.routes ?? [];
  const isAsked = ({ row }: Route): boolean => (host === undefined ? row.hosts === undefined : row.hosts?.includes(host) === true);
  const others = table.routes.filter((route) => isAsked(route) && !best.includes(route) && matches(route, path));
  const view = (route: Route, why: string): Candidate => ({
    id: route.id,
    path: route.row.path,
    methods: [...route.row.methods],
    auth: route.row.auth,
    line: route.line,
    chosen: false,
    why,
  });
  const listed = (route: Route): boolean => (route.row.methods as string[]).includes(method === "HEAD" ? "GET" : method);
  return [
    ...best.map((route) => view(route, listed(route) ? "the other credential chooses it" : `does not take ${method}`)),
    ...others.map((route) =>
      view(route, best[0] === undefined ? "a narrower row has this path without its slash" : `${best[0].row.path} is more specific`),
    ),
  ];
};

/** The same with the row that was chosen. */
export const withChosen = (candidates: readonly Candidate[], route: Route): Candidate[] =>
  candidates.map((one) =>
    one.id === route.id ? { ...one, chosen: true, why: "the most specific pattern, and it takes the method" } : one,
  );
