import { statement, type Database } from "#store/database.ts";
import type { GraphReader } from "./graph-reader.ts";
import { readFacts } from "./facts.ts";
import { readDataScope, type DataScopeOptions } from "./sql-data-scope.ts";
import { countEdgeKinds, countKinds } from "./sql-counts.ts";
import { readNear } from "./sql-near.ts";
import { readEdges, readNode } from "./sql-nodes.ts";
import { readPath } from "./sql-path.ts";
import { createSearches } from "./sql-search.ts";
import { readAssurance, readCapabilities, readChain, readDelegations } from "./sql-pip.ts";

const VERSION = statement<{ version: bigint; at: string }>("membership.graph_version", "select version, at from membership.graph_head");

/** Answers from the database itself: never stale, one statement a question (a path takes one a level, in one snapshot). */
export const createSqlReader = (parts: { readonly database: Database; readonly dataScope: DataScopeOptions }): GraphReader => {
  const { database } = parts;
  const reader: GraphReader = {
    capabilities: (scope, ask) => readCapabilities(database, scope, ask),
    delegations: (scope, ask) => readDelegations(database, scope, ask),
    dataScope: (scope, ask) => readDataScope(database, scope, ask, parts.dataScope),
    assurance: (scope, subjectId) => readAssurance(database, scope, subjectId),
    chain: (scope, ask) => readChain(database, scope, ask),
    facts: (scope, asks) => readFacts(database, scope, asks, parts.dataScope),
    node: (scope, id) => readNode(database, scope, id),
    edges: (scope, ask) => readEdges(database, scope, ask),
    ...createSearches(database),
    kindCounts: (scope) => countKinds(database, scope),
    path: (scope, ask) => database.transaction((sql) => readPath(sql, scope, ask), { isolation: "repeatable read", readOnly: true }),
    near: (scope, ask) => database.transaction((sql) => readNear(sql, scope, ask), { isolation: "repeatable read", readOnly: true }),
    edgeKindCounts: (scope) => countEdgeKinds(database, scope),
    since: async () => reader,
    version: async () => {
      const [row] = await database.run(VERSION);
      return { version: row?.version ?? 0n, at: row?.at ?? "" };
    },
  };
  return reader;
};
