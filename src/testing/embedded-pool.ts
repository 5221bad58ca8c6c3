import type { Database } from "#store/database.ts";
import type { PgliteDatabase } from "#store/pglite.ts";
import { storeUnavailable } from "#store/sql-error.ts";
import { noteLent, readFirstState, restoreFirstState, type FirstState, type Lent } from "./first-state.ts";
import { atEndOfProcess } from "./shared.ts";

/**
 * Embedded databases that outlive a test: starting one costs most of a second of CPU, emptying one a twentieth. The next test of the
 * file gets it with the rows that its migrations made and nothing else; one whose schema was changed, or that somebody still works
 * on, is closed instead.
 */

/** How many of one schema wait for the next test. */
const MAX_IDLE = 2;

interface Kept {
  readonly database: PgliteDatabase;
  readonly first: FirstState;
  readonly laid: Lent["laid"];
}

const idle = new Map<string, Kept[]>();

/** Only the test runner's own processes end with a hook that closes what waits. */
const isPooling = process.env["NODE_TEST_CONTEXT"] !== undefined;
let isOver = false;
atEndOfProcess(async () => {
  // What tests of a process share is given back in the same moments, before or after this.
  isOver = true;
  const all = [...idle.values()].flat();
  idle.clear();
  await Promise.all(all.map(({ database }) => database[Symbol.asyncDispose]()));
});

const giveBack = async (key: string, kept: Kept): Promise<void> => {
  const waiting = idle.get(key) ?? [];
  idle.set(key, waiting);
  if (!isOver && waiting.length < MAX_IDLE && (await restoreFirstState(kept.database, kept.first).catch(() => false))) waiting.push(kept);
  else await kept.database[Symbol.asyncDispose]();
};

/** The database as one test has it: closed for that test when it is given back, whoever still holds it. */
const lend = (key: string, kept: Kept): Database => {
  const { database } = kept;
  const lent: Lent = { isUntouched: true, laid: kept.laid };
  let closed = false;
  let underWay = 0;
  const listening = new Set<() => Promise<void>>();
  const track = <T>(work: () => Promise<T>): Promise<T> => {
    if (closed) return Promise.reject(storeUnavailable(new Error("the database is closed")));
    lent.isUntouched = false;
    // What it refuses at once it refuses before anything is under way.
    const done = work();
    underWay += 1;
    return done.finally(() => {
      underWay -= 1;
    });
  };
  const given: Database = {
    kind: database.kind,
    run: (one, values) => track(() => database.run(one, values)),
    transaction: (work, options) => track(() => database.transaction(work, options)),
    script: (text) => track(() => database.script(text)),
    listen: (channel, received, regained) =>
      track(async () => {
        const stop = await database.listen(channel, (payload) => closed || received(payload), regained);
        listening.add(stop);
        return () => (listening.delete(stop) ? stop() : Promise.resolve());
      }),
    isListening: () => !closed && database.isListening(),
    notify: (channel, payload) => track(() => database.notify(channel, payload)),
    ready: () => track(() => database.ready()),
    [Symbol.asyncDispose]: async () => {
      if (closed) return;
      closed = true;
      await Promise.all([...listening].map((stop) => stop()));
      await (underWay > 0 ? database[Symbol.asyncDispose]() : giveBack(key, kept));
    },
  };
  noteLent(given, lent);
  return given;
};

/** One from the pool, else what `open` makes. `key` names the schema. */
export const borrowDatabase = async (key: string, open: () => Promise<PgliteDatabase>): Promise<Database> => {
  if (!isPooling) return open();
  const waiting = idle.get(key)?.pop();
  if (waiting !== undefined) return lend(key, waiting);
  const database = await open();
  return lend(key, { database, first: await readFirstState(database), laid: new Map() });
};
