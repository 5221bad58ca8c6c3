import { Problem } from "#contract/problem.ts";
import type { Answer } from "#gateway/model/answer.ts";
import type { Inbound, InboundMethod } from "#gateway/model/inbound.ts";
import type { AddressClass } from "./rate-limit.ts";
import { parsePattern, type RoutePattern } from "#gateway/routes/route-pattern.ts";
import { capturesOf } from "#gateway/routes/route-table.ts";
import { createSegmentTrie } from "#gateway/routes/segment-trie.ts";

export interface BuiltInCall {
  readonly inbound: Inbound;
  readonly captures: ReadonlyMap<string, string>;
}
export type BuiltInHandler = (call: BuiltInCall) => Promise<Answer>;

/** What the gateway serves by itself, whatever the route table says. */
export interface BuiltIn {
  /** Its label in metrics and logs. */
  readonly id: string;
  readonly path: string;
  readonly methods: Partial<Record<Exclude<InboundMethod, "HEAD" | "OPTIONS">, BuiltInHandler>>;
  /** Every method counts as this one; for checks made on behalf of other requests. */
  readonly any?: BuiltInHandler;
  /** How its faults are told; absent: as they are. */
  readonly asProblem?: (error: unknown) => Problem;
  /** Limit by the client's address, per method (HEAD counts as GET); absent = the path is free, or its handler limits. */
  readonly rates?: Partial<Record<InboundMethod, AddressClass>>;
  /** True: its handler looks at the Authorization header, which has a limit of its own; without one that of `rates` counts. */
  readonly hasOwnCredential?: boolean;
  /** True: never shed; probes must tell a busy process from a dead one. */
  readonly isNeverShed?: boolean;
  /** True: served whatever Host was addressed; for probes and scrapers. */
  readonly anyHost?: boolean;
}

export interface BuiltIns {
  find(path: string): { readonly builtIn: BuiltIn; readonly captures: ReadonlyMap<string, string> } | undefined;
}

export const createBuiltIns = (list: readonly BuiltIn[]): BuiltIns => {
  const trie = createSegmentTrie<{ readonly builtIn: BuiltIn; readonly pattern: RoutePattern }>();
  for (const builtIn of list) {
    const pattern = parsePattern(builtIn.path);
    if (typeof pattern === "string") throw new TypeError(`${builtIn.path} ${pattern}`);
    trie.add(pattern, { builtIn, pattern });
  }
  return {
    find: (path) => {
      const hit = trie.find(path);
      const [found] = hit?.values ?? [];
      if (hit === undefined || found === undefined) return undefined;
      return { builtIn: found.builtIn, captures: capturesOf(found, hit.captured) };
    },
  };
};

/** The handler of a method; GET admits HEAD. Throws `method_not_allowed` with what is allowed. */
export const requireHandler = (builtIn: BuiltIn, method: InboundMethod): BuiltInHandler => {
  const handler = builtIn.any ?? (method === "OPTIONS" ? undefined : builtIn.methods[method === "HEAD" ? "GET" : method]);
  if (handler !== undefined) return handler;
  const known = Object.keys(builtIn.methods);
  throw new Problem("method_not_allowed", { headers: { allow: (known.includes("GET") ? [...known, "HEAD"] : known).join(", ") } });
};
