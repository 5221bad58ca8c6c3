import { nodeKindNames, edgeKindNames, isNodeKind } from "#membership/graph/kinds.ts";
import { factsOf } from "#membership/graph/facts.ts";
import { hopsOf } from "#membership/graph/facts-plan.ts";
import type { Answered, GraphReader } from "#membership/graph/graph-reader.ts";
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
  const ask = async <T>(
    scope: TenantScope,
    answer: (view: View) => Answered<T>,
    otherwise: () => Promise<Answered<T>>,
  ): Promise<Answered<T>> => {
    const view = viewFor(scope);
    return view === undefined ? otherwise() : { ...answer(view), source: "index" };
  };
  const countsOf = (counts: ReadonlyMap<number, number>, nameOf: (kind: number) => string): Record<string, number> =>
    Object.fromEntries(
      [...counts]
        .filter(([, count]) => count > 0)
        .map(([kind, count]) => [nameOf(kind), count] as const)
        .sort(([one], [other]) => (one < other ? -1 : 1)),
    );
  const kindCounts = ({ graph: { nodes }, sight }: View): ReadonlyMap<number, number> => nodes.countsSeenBy(sight);

  const facts: GraphReader["facts"] = async (scope, asks) => {
    const hops = asks.flatMap(hopsOf);
    let meters = NO_METERS;
    if (hops.length > 0) {
      const view = viewFor(scope);
      if (view === undefined) return sql.facts(scope, asks);
      const { names } = view.graph.delegations;
      const wanted = new Set(hops.flatMap((hop) => candidatesOf(view, hop)));
      if (wanted.size > 0) {
        const read = await readMeters(
          database,
          Array.from(wanted, (one) => names.nameOf(one)),
        );
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

  const reader: GraphReader = {
    ...sql,
    capabilities: (scope, asked) =>
      ask(
        scope,
        (view) => answerCapabilities(view, asked),
        () => sql.capabilities(scope, asked),
      ),
    delegations: (scope, asked) =>
      ask(
        scope,
        (view) => answerDelegations(view, asked),
        () => sql.delegations(scope, asked),
      ),
    dataScope: (scope, asked) =>
      ask(
        scope,
        (view) => answerDataScope(view, asked, dataScope),
        () => sql.dataScope(scope, asked),
      ),
    assurance: (scope, subjectId) =>
      ask(
        scope,
        (view) => answerAssurance(view, subjectId),
        () => sql.assurance(scope, subjectId),
      ),
    chain: (scope, asked) =>
      ask(
        scope,
        (view) => answerChain(view, asked),
        () => sql.chain(scope, asked),
      ),
    facts,
    path: (scope, asked) =>
      ask(
        scope,
        (view) => answerPath(view, asked),
        () => sql.path(scope, asked),
      ),
    near: (scope, asked) =>
      ask(
        scope,
        (view) => answerNear(view, asked),
        () => sql.near(scope, asked),
      ),
    count: (scope, filter) => {
      if (filter.search !== undefined || filter.system !== undefined) return sql.count(scope, filter);
      const kinds = new Set(filter.kinds.filter(isNodeKind).map(kindNumber));
      return ask(
        scope,
        (view) => ({
          version: view.version,
          value: [...kindCounts(view)].reduce((sum, [kind, count]) => sum + (kinds.has(kind) ? count : 0), 0),
        }),
        () => sql.count(scope, filter),
      );
    },
    kindCounts: (scope) =>
      ask(
        scope,
        (view) => ({ version: view.version, value: countsOf(kindCounts(view), (kind) => nodeKindNames[kind - 1] as string) }),
        () => sql.kindCounts(scope),
      ),
    edgeKindCounts: (scope) =>
      ask(
        scope,
        (view) => ({
          version: view.version,
          value: countsOf(view.graph.edgeKinds(view.sight, view.now), (kind) => edgeKindNames[kind] as string),
        }),
        () => sql.edgeKindCounts(scope),
      ),
    since: async (version) => ((await feed.reached(version, WAIT_MS)) ? reader : sql),
  };
  return reader;
};
