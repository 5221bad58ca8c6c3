import assert from "node:assert/strict";
import { test, type TestContext } from "node:test";
import { openRedis } from "#store/redis.ts";
import { cleanUp } from "#testing/clean-up.ts";
import { requireProgram } from "#testing/programs.ts";
import { startRedisServer } from "#testing/redis-server.ts";
import type { Database } from "#store/database.ts";
import { forEachDatabase } from "#testing/database.ts";
import { createCachedSessionStore } from "./cached-session-store.ts";
import { createDatabaseSessionStore } from "./database-session-store.ts";
import { createRedisSessionStore } from "./redis-session-store.ts";
import { sampleSession, sessionStoreContract } from "./session-store.contract.ts";
import type { SessionChange, SessionFeed, SessionRecord, SessionStore } from "./session-store.ts";

for (const [name, run] of sessionStoreContract) {
  forEachDatabase(`session store: ${name}`, ["gateway"], async (_t, database, { second }) =>
    run([createDatabaseSessionStore(database), createDatabaseSessionStore((await second?.()) ?? database)]),
  );
  forEachDatabase(`session store behind its cache: ${name}`, ["gateway"], async (_t, database, { second }) => {
    const stores = [createDatabaseSessionStore(database), createDatabaseSessionStore((await second?.()) ?? database)] as const;
    const cached = [
      await createCachedSessionStore(stores[0], () => new Date()),
      await createCachedSessionStore(stores[1], () => new Date()),
    ] as const;
    try {
      await run(cached);
    } finally {
      await Promise.all(cached.map((store) => store.stop()));
    }
  });
}

for (const [name, run] of sessionStoreContract) {
  const pair = async (t: TestContext): Promise<readonly [SessionStore, SessionStore] | undefined> => {
    const program = requireProgram(t, "redis-server");
    if (program === undefined) return undefined;
    const { url } = await startRedisServer(t, program);
    const open = async () => {
      const redis = await openRedis({ url, log: { info: () => {}, warn: () => {}, error: () => {} }, answerTimeoutMs: 10_000 });
      cleanUp(t, () => redis[Symbol.asyncDispose]());
      return createRedisSessionStore(redis);
    };
    return [await open(), await open()];
  };
  test(`session store: ${name} (Redis)`, async (t) => {
    const stores = await pair(t);
    if (stores !== undefined) await run(stores);
  });
  test(`session store behind its cache: ${name} (Redis)`, async (t) => {
    const stores = await pair(t);
    if (stores === undefined) return;
    const cached = [
      await createCachedSessionStore(stores[0], () => new Date()),
      await createCachedSessionStore(stores[1], () => new Date()),
    ] as const;
    try {
      await run(cached);
    } finally {
      await Promise.all(cached.map((store) => store.stop()));
    }
  });
}

/** A store of one record whose reads are counted and whose feed is in the test's hands. */
const watchedStore = (record: SessionRecord) => {
  let held: SessionRecord | undefined = record;
  let received: (change: SessionChange) => void = () => {};
  let regained: () => void = () => {};
  const state = { reads: 0, isConnected: true, answers: true };
  const feed: SessionFeed = { isConnected: () => state.isConnected, stop: async () => {} };
  const store = {
    read: async () => {
      state.reads += 1;
      if (!state.answers) throw new Error("away");
      return held;
    },
    touch: async () => {},
    changes: async (listener: (change: SessionChange) => void, back: () => void) => {
      received = listener;
      regained = back;
      return feed;
    },
  } as unknown as SessionStore;
  return { store, state, regain: () => regained(), end: () => ((held = undefined), received({ ref: record.ref, kind: "ended" })) };
};

test("the hot cache answers for 5 s, and not after", async () => {
  const record = sampleSession();
  const { store, state } = watchedStore(record);
  let now = 0;
  const cached = await createCachedSessionStore(store, () => new Date(now));
  await cached.read(record.sidHash);
  now = 1999;
  await cached.read(record.sidHash);
  assert.equal(state.reads, 1);
  state.answers = false;
  now = 4999;
  assert.ok(await cached.read(record.sidHash), "it still answers while it is read ahead");
  await cached.read(record.sidHash);
  assert.equal(state.reads, 2, "one read ahead at a time");
  now = 5000;
  await assert.rejects(cached.read(record.sidHash), /away/);
  assert.equal(state.reads, 3);
});

test("a session in use is read anew before its time in the hot cache is over", async () => {
  const record = sampleSession();
  const { store, state } = watchedStore(record);
  let now = 0;
  const cached = await createCachedSessionStore(store, () => new Date(now));
  for (now = 0; now < 60_000; now += 100) {
    await cached.read(record.sidHash);
    await new Promise(setImmediate);
  }
  assert.ok(state.reads >= 15 && state.reads <= 31, `every two to four seconds: ${state.reads} reads in a minute`);
});

test("what ended while it was read ahead does not come back", async () => {
  const record = sampleSession();
  const { store, state, end } = watchedStore(record);
  let now = 0;
  const cached = await createCachedSessionStore(store, () => new Date(now));
  await cached.read(record.sidHash);
  now = 4500;
  const before = state.reads;
  await cached.read(record.sidHash);
  assert.equal(state.reads, before + 1);
  end();
  await new Promise(setImmediate);
  assert.equal(await cached.read(record.sidHash), undefined);
});

test("a session that ended elsewhere is gone from the hot cache at once", async () => {
  const record = sampleSession();
  const { store, end } = watchedStore(record);
  const cached = await createCachedSessionStore(store, () => new Date());
  assert.ok(await cached.read(record.sidHash));
  end();
  assert.equal(await cached.read(record.sidHash), undefined);
});

test("the hot cache is not used while the change feed is not heard", async () => {
  const record = sampleSession();
  const { store, state } = watchedStore(record);
  const cached = await createCachedSessionStore(store, () => new Date());
  await cached.read(record.sidHash);
  state.isConnected = false;
  await cached.read(record.sidHash);
  assert.equal(state.reads, 2);
});

test("what the hot cache held before the change feed was lost is not used after it is back", async () => {
  const record = sampleSession();
  const { store, state, regain } = watchedStore(record);
  const cached = await createCachedSessionStore(store, () => new Date());
  await cached.read(record.sidHash);
  regain();
  await cached.read(record.sidHash);
  assert.equal(state.reads, 2, "lost and found between two reads");
  state.isConnected = false;
  await cached.read(record.sidHash);
  state.isConnected = true;
  await cached.read(record.sidHash);
  assert.equal(state.reads, 4, "nothing is kept while it is away");
});

test("the hot cache knows at once that a session was seen, and forgets it when that could not be kept", async () => {
  const record = sampleSession();
  const { store, state } = watchedStore(record);
  let isLost = false;
  const touch = async () => {
    if (isLost) throw new Error("connection lost");
  };
  const cached = await createCachedSessionStore({ ...store, touch }, () => new Date(0));
  await cached.read(record.sidHash);
  const after = (date: Date, seconds: number) => new Date(date.getTime() + seconds * 1000);
  const [seenAt, idleAt] = [after(record.lastSeenAt, 60), after(record.idleExpiresAt, 60)];
  const writing = cached.touch(record.sidHash, seenAt, idleAt);
  const during = await cached.read(record.sidHash);
  await writing;
  assert.deepEqual([during?.lastSeenAt, during?.idleExpiresAt, state.reads], [seenAt, idleAt, 1]);
  await cached.touch(record.sidHash, record.lastSeenAt, record.idleExpiresAt);
  assert.deepEqual((await cached.read(record.sidHash))?.lastSeenAt, seenAt, "time does not run back");
  isLost = true;
  await assert.rejects(cached.touch(record.sidHash, after(seenAt, 60), after(idleAt, 60)), /connection lost/);
  assert.deepEqual((await cached.read(record.sidHash))?.lastSeenAt, record.lastSeenAt, "as the store has it");
});

test("a read that overlaps an end does not bring the session back", async () => {
  const record = sampleSession();
  const { store, end } = watchedStore(record);
  let release = () => {};
  const gate = new Promise<void>((resolve) => (release = resolve));
  const slow = { ...store, read: async (sidHash: string) => store.read(sidHash).then((found) => gate.then(() => found)) };
  const cached = await createCachedSessionStore(slow, () => new Date());
  const reading = cached.read(record.sidHash);
  end();
  release();
  assert.ok(await reading, "the read itself began before the end");
  assert.equal(await cached.read(record.sidHash), undefined);
});

test("a store that does not answer is session_store_unavailable", async () => {
  const broken = {
    kind: "pglite",
    run: () => Promise.reject(new Error("gone")),
    ready: () => Promise.reject(new Error("gone")),
  } as unknown as Database;
  const store = createDatabaseSessionStore(broken);
  await assert.rejects(store.read("x"), { code: "session_store_unavailable" });
  await assert.rejects(store.ready(), { code: "session_store_unavailable" });
});
