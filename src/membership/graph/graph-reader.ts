import type { ColumnMask } from "#contract/data-scope.ts";
import type { Delegation } from "#contract/delegations.ts";
import type { FactAsk, Facts } from "#contract/facts.ts";
import type { Sql } from "#store/database.ts";
import type { NodeRow } from "./put-node.ts";
import type { TenantScope } from "./tenant-scope.ts";

/** An answer of one snapshot: the graph's version that it is true at, and until when the clock alone leaves it true. */
export interface Answered<T> {
  readonly version: bigint;
  readonly value: T;
  /** The next moment at which an edge or delegation used here begins or ends; null = never. */
  readonly validUntil?: string | null;
  /** What it was read from; the database itself unless said. */
  readonly source?: "index";
}

export type PipDelegation = Readonly<Pick<Delegation, "delegation_id" | "status" | "max_steps" | "budget_usd" | "expires_at">>;

export interface DataScope {
  readonly tenant_ids: readonly string[];
  readonly row_filter_sql: string;
  readonly column_mask: ColumnMask;
}

export interface GraphNode extends NodeRow {
  /** Raised by each write of it. */
  readonly rev: bigint;
  readonly created_at: string;
  readonly updated_at: string;
  /** Edges by kind, counted where both ends are visible. */
  readonly out: Readonly<Record<string, number>>;
  readonly in: Readonly<Record<string, number>>;
}

/** A node as answers about edges name it. */
export interface NodeBrief {
  readonly id: string;
  readonly name: string;
  readonly node_type: string;
  readonly state: string;
}

export interface EdgeBrief {
  readonly id: string;
  readonly kind: string;
  readonly from: string;
  readonly to: string;
}

export interface NodeFilter {
  readonly kinds: readonly string[];
  readonly search?: string | undefined;
  readonly system?: string | undefined;
}

/** Words to be found, of a person's typing. */
export interface FullTextAsk extends Omit<NodeFilter, "search"> {
  readonly text: string;
}

export interface GraphEdge {
  readonly edge_id: string;
  readonly type: string;
  readonly direction: "in" | "out";
  readonly node: NodeBrief;
  readonly properties: Readonly<Record<string, unknown>>;
}

export interface PathAsk {
  readonly from: string;
  readonly to: string;
  readonly maxHops: number;
  /** Edge kinds that may be walked; empty = all. */
  readonly types: readonly string[];
  readonly directed: boolean;
}

export interface Path {
  readonly found: boolean;
  readonly nodes: readonly NodeBrief[];
  readonly edges: readonly EdgeBrief[];
  readonly explored: number;
  readonly truncated: boolean;
}

export interface NearAsk {
  readonly id: string;
  readonly hops: number;
  /** Edge kinds that may be walked; empty = all. */
  readonly types: readonly string[];
  readonly direction: "in" | "out" | "both";
  /** Most nodes, the first one included. */
  readonly limit: number;
}

export interface Near {
  readonly nodes: readonly (NodeBrief & { readonly distance: number })[];
  readonly edges: readonly (EdgeBrief & { readonly status?: string })[];
  readonly truncated: boolean;
}

/**
 * The only way to read the graph. Every method takes the tenant scope and never tells of what lies outside it: foreign,
 * absent and inactive things are alike. Lists are in byte order of ids.
 */
export interface GraphReader {
  /** Tools reachable from a user over a live delegation and the agent's capabilities. */
  capabilities(scope: TenantScope, ask: { userId: string; agentId?: string | undefined }): Promise<Answered<readonly string[]>>;
  delegations(
    scope: TenantScope,
    ask: { userId: string; agentId?: string | undefined; status?: string | undefined; limit: number; offset: number },
  ): Promise<Answered<readonly PipDelegation[]>>;
  /** Throws `too_many` beyond 1,000 tenants. */
  dataScope(scope: TenantScope, ask: { subjectId: string; resourceType: string }): Promise<Answered<DataScope>>;
  /** The subject's kept assurance level; null for none and for unknown and inactive subjects. */
  assurance(scope: TenantScope, subjectId: string): Promise<Answered<string | null>>;
  /** Audiences and scopes that a delegated tool needs; empty when the tool is not a capability. */
  chain(
    scope: TenantScope,
    ask: { userId: string; agentId: string; toolId: string },
  ): Promise<Answered<readonly { readonly audience: string; readonly scopes: readonly string[] }[]>>;
  /** In the order of the asks; one statement whatever their number. */
  facts(scope: TenantScope, asks: readonly FactAsk[]): Promise<Answered<readonly Facts[]>>;
  node(scope: TenantScope, id: string): Promise<Answered<GraphNode | undefined>>;
  /** `undefined`: no such node. A page is told by how many edges lie before it, or by the one that it begins behind. */
  edges(
    scope: TenantScope,
    ask: {
      id: string;
      type?: string | undefined;
      direction: "in" | "out" | "both";
      limit: number;
      skip: number;
      after?: string | undefined;
    },
  ): Promise<Answered<{ readonly items: readonly GraphEdge[]; readonly total: number } | undefined>>;
  search(
    scope: TenantScope,
    filter: NodeFilter,
    page: { limit: number; skip: number; withTotal: boolean },
  ): Promise<Answered<{ readonly nodes: readonly GraphNode[]; readonly total: number }>>;
  /** Best first, then by id. Throws `not_supported`. */
  fullText(
    scope: TenantScope,
    ask: FullTextAsk,
    page: { limit: number; skip: number },
  ): Promise<Answered<{ readonly nodes: readonly (GraphNode & { readonly score: number })[]; readonly total: number }>>;
  count(scope: TenantScope, filter: NodeFilter): Promise<Answered<number>>;
  /** Visible nodes by kind. */
  kindCounts(scope: TenantScope): Promise<Answered<Readonly<Record<string, number>>>>;
  systems(scope: TenantScope): Promise<Answered<readonly string[]>>;
  /** Fewest edges; among equals the one whose (kind, id) steps come first. `undefined`: an end is not there. */
  path(scope: TenantScope, ask: PathAsk): Promise<Answered<Path | undefined>>;
  /** What is so many edges around a node, nearest first. `undefined`: the node is not there. */
  near(scope: TenantScope, ask: NearAsk): Promise<Answered<Near | undefined>>;
  /** Visible edges by kind. */
  edgeKindCounts(scope: TenantScope): Promise<Answered<Readonly<Record<string, number>>>>;
  /** This reader once it answers from the version or a later one, or one that does. */
  since(version: bigint): Promise<GraphReader>;
  version(): Promise<{ readonly version: bigint; readonly at: string }>;
}

/** What a question is about. */
export type Asked<Q extends keyof GraphReader> = Parameters<GraphReader[Q]>[1];
/** A question as the database itself answers it. */
export type SqlAnswer<Q extends keyof GraphReader> = (sql: Sql, ...asked: Parameters<GraphReader[Q]>) => ReturnType<GraphReader[Q]>;

/** The order of lists: of ids, which are ASCII, UTF-16 units and bytes have the same. */
export const compareTexts = (one: string, other: string): number => (one < other ? -1 : one > other ? 1 : 0);
