import { createHash } from "node:crypto";
import type { Issue } from "#contract/problem.ts";
import { placeOf } from "#contract/shape-issues.ts";
import type { YamlDocument } from "#parsing/yaml-document.ts";
import { mappingIssues } from "./authz-mapping.ts";
import { nameRows } from "./name-rows.ts";
import type { PointConfig } from "./pdp-config.ts";
import { fillPlaceholders, type Variables } from "./placeholders.ts";
import { readFrame } from "./read-frame.ts";
import { rowIssues, rowWarnings } from "./route-issues.ts";
import { mappingsOf, type SourcedMapping } from "./row-mappings.ts";
import { parsePattern, samplePath, type RoutePattern } from "./route-pattern.ts";
import type { RowMethod, RowShape } from "./route-row.ts";
import { readService, type AddIssue, type RouteService } from "./route-service.ts";
import { createSegmentTrie, type SegmentTrie } from "./segment-trie.ts";

export type RouteTarget =
  | { readonly kind: "internal" }
  | { readonly kind: "service"; readonly service: RouteService; readonly upstreamPath: string }
  | { readonly kind: "forward_auth" };

/** For whom a row's token is: the service that its policy names, or else its upstream. */
export interface TokenTarget {
  /** The logical key. */
  readonly service: string;
  readonly audience: string | undefined;
}

/** A row of the table, ready to serve. */
export interface Route {
  readonly id: string;
  readonly row: RowShape;
  readonly pattern: RoutePattern;
  readonly target: RouteTarget;
  readonly mappings: ReadonlyMap<RowMethod, SourcedMapping>;
  /** Audiences that a token for this row may have; one that begins with `/` lies under each public origin. */
  readonly audiences: readonly string[];
  /** Absent without an upstream service. */
  readonly tokenTarget?: TokenTarget;
  readonly file: string;
  readonly line: number;
}

/** All rows at the most specific pattern of a path, and what the pattern captured (by position). */
export interface RouteHit {
  readonly routes: readonly Route[];
  readonly captured: readonly string[];
}

export interface RouteTable {
  readonly routes: readonly Route[];
  readonly services: ReadonlyMap<string, RouteService>;
  /** Digest of the file and of the decision point's mappings. */
  readonly revision: string;
  find(path: string): RouteHit | undefined;
  /** Rows that protect another host by forward-auth. */
  findForward(host: string, path: string): RouteHit | undefined;
}

/** Sallyport that a table is read for. */
export interface TableContext {
  readonly variables: Variables;
  readonly internalAudiences: readonly string[];
  readonly publicHosts: ReadonlySet<string>;
  /** Services on other machines are reached over TLS alone. */
  readonly requiresTls?: boolean;
  readonly handlers: readonly string[];
  /** True for a path that the gateway serves by itself, so that no row may lie there. */
  readonly isBuiltIn: (path: string) => boolean;
}

const isCredentialPair = (one: RowShape, other: RowShape): boolean =>
  new Set([one.auth, other.auth, "session", "bearer"]).size === 2 && one.auth !== other.auth;

/** Two rows of one shape that share a method, unless the credential tells them apart; a third one always clashes. */
const clashIssues = (routes: readonly { readonly route: Route; readonly index: number }[], add: AddIssue): void => {
  const placed = routes.flatMap((one) =>
    (one.route.row.hosts ?? [""]).map((host) => ({ ...one, place: `${host} ${one.route.pattern.shape}` })),
  );
  const clashing = new Map<number, string>();
  for (const group of Map.groupBy(placed, ({ place }) => place).values()) {
    for (const method of new Set(group.flatMap(({ route }) => route.row.methods))) {
      const sharing = group.filter(({ route }) => route.row.methods.includes(method));
      const [first, second, third] = sharing;
      if (!first || !second || (third === undefined && isCredentialPair(first.route.row, second.route.row))) continue;
      for (const { index } of sharing.slice(1))
        if (!clashing.has(index)) clashing.set(index, `serves ${method} of the same paths as row ${first.route.id}`);
    }
  }
  for (const [index, message] of clashing) add(["routes", index, "path"], message);
};

/**
 * Reads and checks the whole route table. Answers the table, with warnings, or every issue at once with its file, line
 * and column; a table with one issue serves nothing.
 */
export const readRouteTable = (
  parts: TableContext & {
    readonly source: YamlDocument;
    /** All that the table is made of, for its revision. */
    readonly text: string;
    /** Whether the decision point knows a `resource/action` pair. */
    readonly knowsPair: (pair: string) => boolean;
    readonly pdp: PointConfig;
  },
):
  | { readonly table: RouteTable; readonly warnings: readonly Issue[]; readonly issues: readonly [] }
  | { readonly issues: readonly Issue[] } => {
  const { source } = parts;
  const issues: Issue[] = [];
  const frame = readFrame(source);
  issues.push(...frame.issues);
  const warnings: Issue[] = [];
  const add: AddIssue = (at, message) => issues.push(source.issue(at, message));
  const services = new Map<string, RouteService>();
  for (const [name, shape] of frame.services) services.set(name, readService(name, shape, { ...parts, add }));
  if (frame.serviceNames.has("internal")) add(["services", "internal"], "is the name of the gateway's own handlers");
  const fill = (text: string, at: readonly PropertyKey[]): string => fillPlaceholders(text, parts.variables, (message) => add(at, message));
  const audiences = frame.audiences.map((text, index) => fill(text, ["audiences", index]));
  const compiled: { route: Route; index: number }[] = [];
  const ids = new Set<string>();
  for (const [index, row, bad] of frame.rows) {
    const at = ["routes", index];
    if (!bad.has("id")) {
      if (ids.has(row.id)) add([...at, "id"], "is used by another row");
      ids.add(row.id);
    }
    const parsed = bad.has("path") ? undefined : parsePattern(row.path);
    if (typeof parsed === "string") add([...at, "path"], parsed);
    const pattern = typeof parsed === "string" ? undefined : parsed;
    const service = row.target_service === undefined ? undefined : services.get(row.target_service);
    const policy = row.token_policy;
    const tokenService = services.get(policy?.service ?? "");
    const tokenAudience = policy?.audience ?? tokenService?.audience ?? service?.audience;
    const addHere: AddIssue = (where, message) => add([...at, ...where], message);
    rowIssues({
      row,
      bad,
      pattern,
      service,
      tokenService,
      tokenAudience,
      // A service with issues of its own is named all the same.
      isKnownService: frame.serviceNames.has(row.target_service ?? ""),
      audiences,
      internalAudiences: parts.internalAudiences,
      handlers: parts.handlers,
      publicHosts: parts.publicHosts,
      isBuiltIn: row.hosts === undefined && !bad.has("hosts") && pattern !== undefined && parts.isBuiltIn(samplePath(pattern.segments)),
      add: addHere,
    });
    // What is mapped, and which rows clash, is told by path and methods; without them there is nothing more to see.
    if (pattern === undefined || ["methods", "auth", "hosts"].some((word) => bad.has(word))) continue;
    for (const [method, mapping] of Object.entries(row.authz_map ?? {}))
      for (const issue of mappingIssues(mapping, pattern, ["authz_map", method])) addHere(issue.at, issue.message);
    const mappings = mappingsOf(row, pattern, parts.pdp, {
      file: source.file,
      lineOf: (method) => source.placeOf([...at, "authz_map", method]).line,
    });
    for (const [method, { mapping, source: from, file, line, column }] of mappings) {
      const pair = `${mapping.resource}/${mapping.action}`;
      const isKnown = parts.knowsPair(pair);
      const unknown = `${pair} is not a pair that the decision point knows`;
      if (from === "derived") {
        if (!isKnown) addHere(["path"], `${method} is mapped by the derived defaults, and ${unknown}`);
      } else if (from === "authz_map") {
        if (!isKnown) addHere(["authz_map", method], unknown);
      } else {
        const path = placeOf(["endpoint_map", row.path, method]);
        const at = { file, line, column };
        if (isKnown) warnings.push({ path, message: `maps row ${row.id}; prefer its authz_map`, ...at });
        else issues.push({ path, message: `row ${row.id}: ${unknown}`, ...at });
      }
    }
    for (const warning of rowWarnings(row)) warnings.push(source.issue([...at, ...warning.at], warning.message));
    for (const method of row.authz === "pdp" && !bad.has("authz_map") ? row.methods : []) {
      if (method === "OPTIONS" || mappings.has(method)) continue;
      const issue = source.issue([...at, "methods"], `no decision is mapped for ${method}`);
      (parts.pdp.validationStrict ? issues : warnings).push(issue);
    }
    const target: RouteTarget =
      row.hosts !== undefined
        ? { kind: "forward_auth" }
        : service === undefined
          ? { kind: "internal" }
          : { kind: "service", service, upstreamPath: row.upstream_path ?? row.path.replace(/\*$/, "{path}") };
    const accepted = (row.bearer?.audiences ?? ["/"]).map((text, position) => fill(text, [...at, "bearer", "audiences", position]));
    compiled.push({
      route: {
        id: row.id,
        row,
        pattern,
        target,
        mappings,
        audiences: accepted,
        tokenTarget: service && { service: policy?.service ?? service.name, audience: tokenAudience },
        file: source.file,
        line: source.placeOf(at).line,
      },
      index,
    });
  }
  clashIssues(compiled, add);
  if (issues.length > 0) return { issues: nameRows(issues, source) };
  return {
    table: buildTable(
      compiled.map(({ route }) => route),
      services,
      parts.text,
    ),
    warnings: nameRows(warnings, source),
    issues: [],
  };
};

const buildTable = (routes: readonly Route[], services: ReadonlyMap<string, RouteService>, text: string): RouteTable => {
  const trie = createSegmentTrie<Route>();
  const forward = new Map<string, SegmentTrie<Route>>();
  for (const route of routes) {
    if (route.target.kind !== "forward_auth") trie.add(route.pattern, route);
    for (const host of route.row.hosts ?? []) {
      const own = forward.get(host) ?? createSegmentTrie<Route>();
      forward.set(host, own);
      own.add(route.pattern, route);
    }
  }
  const hit = (found: ReturnType<SegmentTrie<Route>["find"]>): RouteHit | undefined =>
    found === undefined ? undefined : { routes: found.values, captured: found.captured };
  return {
    routes,
    services,
    revision: createHash("sha256").update(text).digest("hex").slice(0, 12),
    find: (path) => hit(trie.find(path)),
    findForward: (host, path) => hit(forward.get(host)?.find(path)),
  };
};

/** Services outside that are sent the token of a session as it is: what the provider makes it for. */
export const sessionAudiences = (table: RouteTable): readonly string[] => [
  ...new Set(
    table.routes.flatMap(({ row, tokenTarget }) =>
      row.auth === "session" && row.token_policy?.mode === "session_passthrough" && tokenTarget?.audience !== undefined
        ? [tokenTarget.audience]
        : [],
    ),
  ),
];

/** What a hit captured, by the names of one of its rows. */
export const capturesOf = ({ pattern }: Pick<Route, "pattern">, captured: readonly string[]): ReadonlyMap<string, string> => {
  const names = pattern.segments.filter((segment) => segment.kind !== "literal").map((segment) => segment.name);
  return new Map(names.map((name, index) => [name, captured[index] ?? ""]));
};
