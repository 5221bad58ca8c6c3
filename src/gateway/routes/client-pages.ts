import { pages, screens, type PageGate, type PageRow, type ScreenRow } from "#contract/screens.ts";
import { parsePattern, type RoutePattern } from "#gateway/routes/route-pattern.ts";
import { createSegmentTrie } from "#gateway/routes/segment-trie.ts";

/** A page of the web client: the client gates it by the same. */
export interface ClientPage {
  /** `undefined`: anybody signed in may open it. */
  readonly gate: PageGate | undefined;
}

/** Paths below these never get the client's page: the route's own answer, or 404. */
const reserved = ["/api", "/access", "/auth", "/oauth", "/mcp", "/metrics", "/.well-known", "/assets", "/events", "/v0.1"] as const;

export const isReserved = (path: string): boolean => reserved.some((prefix) => path === prefix || path.startsWith(`${prefix}/`));

const trie = createSegmentTrie<ClientPage>();
const gates: Readonly<Record<string, ScreenRow>> = screens;
for (const [path, { screen }] of Object.entries<PageRow>(pages))
  trie.add(parsePattern(path) as RoutePattern, { gate: screen && gates[screen] });

/** The page of a path, or `undefined`. */
export const clientPageAt = (path: string): ClientPage | undefined => trie.find(path)?.values[0];
