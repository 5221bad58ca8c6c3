import { nodeKindNames, edgeKindNames, isNodeKind } from "#membership/model/kinds.ts";
import { factsOf } from "#membership/graph/facts.ts";
import { askedHopsOf } from "#membership/graph/facts-plan.ts";
import { compareTexts, type Answered, type Asked, type GraphReader, type NodeFilter } from "#membership/graph/graph-reader.ts";
import type { DataScopeOptions } from "#membership/graph/sql-data-scope.ts";
import type { TenantScope } from "#membership/graph/tenant-scope.ts";
import type { Sql } from "#store/database.ts";
import { answerDataScope } from "./answer-data-scope.ts";
import { answerNear } from "./answer-near.ts";
import { answerPath } from "./answer-path.ts";
import { answerAssurance, answerCapabilities, answerChain, answerDelegations } from "./answer-pip.ts";
import { candidatesOf, indexFactBatch } from "./fact-batch.ts";
import type { Feed } from "./feed.ts";
import { kindNumber } from "./nodes.ts";
import { readMeters, type Meters } from "./meters.ts";
import { viewOf, type View } from "./view.ts";

export interface IndexReaderParts {
  readonly feed: Pick<Feed, "look" | "reached">;
  /** Answers what the index cannot, or not now. */
  readonly sql: GraphReader;
  readonly database: Sql;
  readonly dataScope: DataScopeOptions;
}

const WAIT_MS = 250;
const NO_METERS: Meters = new Map();

/**
 * Answers out of memory while the index is known to be fresh, else by SQL. An answer is made in one go, so it is of one version. What is left
 * of a delegation is read where it is kept, each time: one look-up for all hops of a batch of facts, which says how new the graph must be too.
 */
export const createIndexReader = ({ feed, sql, database, dataScope }: IndexReaderParts): GraphReader => {
  const viewFor = (scope: TenantScope): View | undefined => {
    const seen = feed.look();
    return typeof seen === "string" ? undefined : viewOf(seen, scope);
  };
  /** From the index, else from the database. */
  const either =
    <Rest extends readonly unknown[], T>(
      answer: (view: View, ...asked: Rest) => Answered<T>,
      otherwise: (scope: TenantScope, ...asked: Rest) => Promise<Answered<T>>,
    ) =>
    async (scope: TenantScope, ...asked: Rest): Promise<Answered<T>> => {
      const view = viewFor(scope);
      return view === undefined ? otherwise(scope, ...asked) : { ...answer(view, ...asked), source: "index" };
    };
  const countsOf = (counts: ReadonlyMap<number, number>, nameOf: (kind: number) => string): Record<string, number> =>
    Object.fromEntries(
      [...counts]
        .filter(([, count]) => count > 0)
        .map(([kind, count]) => [nameOf(kind), count] as const)
        .sort(([one], [other]) => compareTexts(one, other)),
    );
  const kindCounts = ({ graph: { nodes }, sight }: View): ReadonlyMap<number, number> => nodes.countsSeenBy(sight);

  const facts: GraphReader["facts"] = async (scope, asks) => {
    const hops = asks.flatMap(askedHopsOf);
    let meters = NO_METERS;
    if (hops.length > 0) {
      const view = viewFor(scope);
      if (view === undefined) return sql.facts(scope, asks);
      const { names } = view.graph.delegations;
      const wanted = new Set(hops.flatMap((hop) => candidatesOf(view, hop)));
      if (wanted.size > 0) {
        const ids = Array.from(wanted, (one) => names.nameOf(one));
        const read = await readMeters(database, ids);
        // What was revoked by another replica, and answered there, permits nothing here.
        if (read.head > view.version && !(await feed.reached(read.head, WAIT_MS))) return sql.facts(scope, asks);
        ({ meters } = read);
      }
    }
    const view = viewFor(scope);
    // A delegation that came meanwhile has a meter that was not read.
    const isRead =
      view !== undefined &&
      hops.every((hop) => candidatesOf(view, hop).every((one) => meters.has(view.graph.delegations.names.nameOf(one))));
    if (view === undefined || !isRead) return sql.facts(scope, asks);
    const batch = indexFactBatch(view, meters);
    return { version: view.version, value: asks.map((one) => factsOf(one, batch, dataScope)), source: "index" };
  };

  const countKinds = either((view, filter: NodeFilter) => {
    const kinds = new Set(filter.kinds.filter(isNodeKind).map(kindNumber));
    const value = [...kindCounts(view)].reduce((sum, [kind, count]) => sum + (kinds.has(kind) ? count : 0), 0);
    return { version: view.version, value };
  }, sql.count);

  const reader: GraphReader = {
    ...sql,
    capabilities: either(answerCapabilities, sql.capabilities),
    delegations: either(answerDelegations, sql.delegations),
    dataScope: either((view, asked: Asked<"dataScope">) => answerDataScope(view, asked, dataScope), sql.dataScope),
    assurance: either(answerAssurance, sql.assurance),
    chain: either(answerChain, sql.chain),
    facts,
    path: either(answerPath, sql.path),
    near: either(answerNear, sql.near),
    count: (scope, filter) =>
      filter.search === undefined && filter.system === undefined ? countKinds(scope, filter) : sql.count(scope, filter),
    kindCounts: either(
      (view) => ({ version: view.version, value: countsOf(kindCounts(view), (kind) => nodeKindNames[kind - 1] as string) }),
      sql.kindCounts,
    ),
    edgeKindCounts: either(({ version, graph, sight, now }) => {
      return { version, value: countsOf(graph.edgeKinds(sight, now), (kind) => edgeKindNames[kind] as string) };
    }, sql.edgeKindCounts),
    since: async (version) => ((await feed.reached(version, WAIT_MS)) ? reader : sql),
  };
  return reader;
};
