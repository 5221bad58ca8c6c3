import { forEachDatabase } from "#testing/database.ts";
import { graphModules, graphWorld } from "#testing/membership.ts";
import { findsShortestPaths, readsLikeTheRows, searchesLikeReadingAll, tellsNothingForeign } from "./graph-reader.contract.ts";

forEachDatabase("the SQL reader reads like the rows", graphModules, async (_t, database) =>
  readsLikeTheRows(await graphWorld(database, { demo: false }), 30),
);
forEachDatabase("the SQL reader searches like reading all", graphModules, async (_t, database) =>
  searchesLikeReadingAll(await graphWorld(database)),
);
forEachDatabase("the SQL reader finds shortest paths", graphModules, async (_t, database) =>
  findsShortestPaths(await graphWorld(database), 8),
);
forEachDatabase("the SQL reader tells nothing foreign", graphModules, async (_t, database) =>
  tellsNothingForeign(await graphWorld(database)),
);
