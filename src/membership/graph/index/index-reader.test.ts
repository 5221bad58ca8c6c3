import assert from "node:assert/strict";
import { setTimeout as pause } from "node:timers/promises";
import {
  readsLikeTheRows,
  findsShortestPaths,
  searchesLikeReadingAll,
  tellsNothingForeign,
  type ReadWorld,
} from "#membership/graph/graph-reader.contract.ts";
import { createWriteGraph } from "#membership/graph/write.ts";
import type { Database } from "#store/database.ts";
import { silentLog } from "#telemetry/log.ts";
import { cleanUp } from "#testing/clean-up.ts";
import { forEachDatabase } from "#testing/database.ts";
import { graphModules, graphWorld } from "#testing/membership.ts";
import { until } from "#testing/until.ts";
import type { TestContext } from "node:test";
import { buildGraph } from "./build-graph.ts";
import { createFeed, type Seen } from "./feed.ts";
import { createIndexReader } from "./index-reader.ts";
import { changeWorld, makeWorld, pickBy, requireEqual, spend, worldOf, type Reported } from "./index-reader.contract.ts";

const dataScope = { unknownType: "tenants", refused: () => {} } as const;
/** Each is compared at two versions of its own; docs/explanation/identity-graph.md has the command for thousands. */
const WORLDS = Number(process.env["INDEX_WORLDS"] ?? 6);
const FIRST = Number(process.env["INDEX_FIRST_WORLD"] ?? 0);
/** A few worlds are asked everything. Of many each is asked every so many'th question, by chance: another world finds more than another question. */
const SHARE = WORLDS > 50 ? 10 : 1;
/** So many that the planner's counts of a table are no longer true. */
const GROWN = 100;

const WORDS = [
  "capabilities",
  "delegations",
  "rows",
  "level",
  "chain",
  "path",
  "near",
  '"capability":true',
  '"granted":true',
  '"active":true',
];

/** A world read out of memory, which is built anew whenever it is settled. */
const builtWorld = async (database: Database, options?: { readonly demo: boolean }): Promise<ReadWorld> => {
  const world = await graphWorld(database, options);
  let seen: Seen | undefined;
  const settle = async (): Promise<void> => {
    const graph = await buildGraph(database, () => undefined, new AbortController().signal);
    await graph.settle(() => undefined);
    const { version } = await world.reader.version();
    seen = { graph, version, now: Date.now() };
  };
  await settle();
  const feed = { look: () => seen ?? "building", reached: async () => true } as const;
  return { ...world, settle, reader: createIndexReader({ feed, sql: world.reader, database, dataScope }) };
};

forEachDatabase("the index reads like the rows", graphModules, async (_t, database) =>
  readsLikeTheRows(await builtWorld(database, { demo: false }), 20),
);
forEachDatabase("the index finds shortest paths", graphModules, async (_t, database) => findsShortestPaths(await builtWorld(database), 8));
forEachDatabase("the index tells nothing foreign", graphModules, async (_t, database) => tellsNothingForeign(await builtWorld(database)));
forEachDatabase("searches are answered beside the index", graphModules, async (_t, database) =>
  searchesLikeReadingAll(await builtWorld(database)),
);

const followed = async (t: TestContext, database: Database, timing = { pollMs: 20, boundMs: 60_000 }) => {
  const world = await graphWorld(database);
  const { metrics, change } = world;
  const feed = await createFeed({ database, log: silentLog, metrics, ...timing });
  cleanUp(t, () => feed[Symbol.asyncDispose]());
  await until(() => typeof feed.look() !== "string");
  return {
    ...world,
    feed,
    write: createWriteGraph({ change, metrics, written: feed.written }),
    index: createIndexReader({ feed, sql: world.reader, database, dataScope }),
  };
};

const equalWhileWriting = async (t: TestContext, database: Database): Promise<void> => {
  const started = performance.now();
  const { index, reader, write, feed } = await followed(t, database);
  let isOver = false;
  const reported: Reported = new Map();
  const pace = { tries: 1 };
  const shares = Array.from({ length: SHARE }, (_none, share) => share);
  const other = worldOf(1_000_000);
  const otherPick = pickBy(99);
  await makeWorld(write, other, otherPick);
  // Another process: nobody here is told of its versions.
  const silent = createWriteGraph({ change: (await graphWorld(database)).change, metrics: (await graphWorld(database)).metrics });
  const writing = (async () => {
    while (!isOver) {
      await changeWorld(silent, other, otherPick);
      await pause(100 * pace.tries);
    }
  })();
  try {
    for (let n = FIRST; n < FIRST + WORLDS; n++) {
      const pick = pickBy(5_000 + n);
      const world = worldOf(n);
      const isAsked = (): boolean => pick(shares) === 0;
      if (n % GROWN === GROWN - 1) await database.script("analyze membership.node; analyze membership.edge; analyze membership.delegation");
      await makeWorld(write, world, pick);
      await spend(database, world);
      await requireEqual(index, reader, world, { reported, pace, isAsked });
      for (let step = 0; step < 2; step++) await changeWorld(write, world, pick);
      await requireEqual(index, reader, world, { reported, pace, isAsked });
    }
  } finally {
    isOver = true;
    await writing;
  }
  // A few tell much of everything. Of a chain, where each is asked a tenth, about every fortieth tells: of a hundred it may be none.
  const least = SHARE === 1 ? Math.min(WORLDS / 2, 3 + WORLDS / 10) : WORLDS / 100 - 5;
  for (const word of WORDS) assert.ok((reported.get(word) ?? 0) >= least, `${word} was told ${reported.get(word) ?? 0} times`);
  // What followed the log is what the rows themselves make.
  const seen = feed.look();
  assert.ok(typeof seen !== "string");
  const rebuilt = await followed(t, database);
  await requireEqual(rebuilt.index, reader, other);
  t.diagnostic(`${WORLDS} worlds from ${FIRST} equal at two versions each: ${((performance.now() - started) / 1000).toFixed(1)} s`);
};
forEachDatabase("the index equals the database at every version, while others write", graphModules, equalWhileWriting, {
  timeout: 240_000 + WORLDS * 15_000,
});
