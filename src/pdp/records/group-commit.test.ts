import assert from "node:assert/strict";
import { test } from "node:test";
import { Problem } from "#contract/problem.ts";
import { createGroupCommit } from "./group-commit.ts";

const options = {
  make: (row: number) => row,
  lost: () => assert.fail("a row was lost"),
  windowMs: 1,
  deferMs: 5,
  maxRows: 3,
  timeoutMs: 1000,
  maxWaiting: 10,
};
const isNotRecorded = (error: unknown): boolean => error instanceof Problem && error.code === "decision_not_recorded";

test("rows of several callers share a transaction, in order, and none resolves before its own is written", async () => {
  const groups: number[][] = [];
  const queue = createGroupCommit<number>({
    ...options,
    write: async (rows) => {
      await new Promise((resolve) => setTimeout(resolve, 2));
      groups.push([...rows]);
    },
  });
  await Promise.all(
    [1, 2, 3, 4, 5].map(async (row) => {
      await queue.commit(row);
      assert.ok(groups.flat().includes(row));
    }),
  );
  assert.deepEqual(groups, [
    [1, 2, 3],
    [4, 5],
  ]);
});

test("a row that cannot be written is refused, and the next one is tried afresh", async () => {
  let broken = true;
  const queue = createGroupCommit<number>({ ...options, write: async () => (broken ? Promise.reject(new Error("down")) : undefined) });
  await assert.rejects(queue.commit(1), isNotRecorded);
  assert.equal(queue.isWritable(), false);
  broken = false;
  await queue.commit(2);
  assert.equal(queue.isWritable(), true);
});

test("deferred rows survive a failure: further ones are refused until the store takes them again", async () => {
  let broken = true;
  const written: number[] = [];
  const queue = createGroupCommit<number>({
    ...options,
    write: async (rows) => {
      if (broken) throw new Error("down");
      written.push(...rows);
    },
  });
  queue.defer(1);
  await queue.flush();
  assert.throws(() => queue.defer(2), isNotRecorded);
  broken = false;
  await queue.flush();
  queue.defer(3);
  await queue.flush();
  assert.deepEqual(written, [1, 3]);
});

test("a store that never answers makes a refusal, not a wait", async () => {
  const queue = createGroupCommit<number>({ ...options, timeoutMs: 10, write: () => new Promise(() => {}) });
  await assert.rejects(queue.commit(1), isNotRecorded);
});

test("a row that cannot be made is refused alone, or told of when nobody waits for it; the others are written", async () => {
  const written: string[] = [];
  const lost: unknown[] = [];
  const unfit = new Error("unfit");
  const queue = createGroupCommit<number, string>({
    ...options,
    make: (row) => {
      if (row < 0) throw unfit;
      return String(row);
    },
    lost: (cause) => lost.push(cause),
    write: async (rows) => void written.push(...rows),
  });
  queue.defer(-1);
  queue.defer(1);
  const [refused, kept] = await Promise.allSettled([queue.commit(-2), queue.commit(2)]);
  assert.ok(refused.status === "rejected" && isNotRecorded(refused.reason));
  assert.equal(kept.status, "fulfilled");
  assert.deepEqual(written, ["1", "2"]);
  assert.deepEqual(lost, [unfit]);
  assert.equal(queue.isWritable(), false);
  assert.throws(() => queue.defer(3), isNotRecorded, "the loss is not passed over in silence");
  assert.equal(queue.isWritable(), true);
  queue.defer(4);
  await queue.flush();
  assert.deepEqual(written, ["1", "2", "4"]);
});

test("a row is made once, however often its group is tried, and a large group lets others have a turn", async () => {
  const made: number[] = [];
  let broken = true;
  let turns = 0;
  const queue = createGroupCommit<number>({
    ...options,
    maxRows: 100,
    maxWaiting: 100,
    make: (row) => {
      made.push(row);
      // Takes its time: each is a slice of its own.
      for (const end = performance.now() + 5; performance.now() < end;);
      return row;
    },
    write: async () => (broken ? Promise.reject(new Error("down")) : undefined),
  });
  for (const row of [1, 2, 3]) queue.defer(row);
  let counting = true;
  const count = (): void => {
    turns += 1;
    if (counting) setImmediate(count);
  };
  setImmediate(count);
  await queue.flush();
  counting = false;
  broken = false;
  await queue.flush();
  assert.deepEqual(made, [1, 2, 3]);
  assert.ok(turns >= 3, `${turns} turns`);
});

test("a row under way of being made is written before the queue is closed, and refuses alone if it fails later on", async () => {
  const written: number[] = [];
  const making = Promise.withResolvers<void>();
  const queue = createGroupCommit<number>({
    ...options,
    make: async (row) => {
      await making.promise;
      if (row === 2) throw new Error("unfit");
      return row;
    },
    write: async (rows) => void written.push(...rows),
  });
  const [first, second] = [queue.commit(1), queue.commit(2)];
  const refused = assert.rejects(second, isNotRecorded);
  queue.defer(3);
  const closed = queue.close();
  assert.throws(() => queue.defer(4), isNotRecorded);
  making.resolve();
  await closed;
  assert.deepEqual(written, [1, 3]);
  await first;
  await refused;
});

test("what nobody waits for any more leaves the queue, and is never written", async () => {
  const written: number[] = [];
  const store = Promise.withResolvers<void>();
  const queue = createGroupCommit<number>({
    ...options,
    timeoutMs: 20,
    write: async (rows) => {
      await store.promise;
      written.push(...rows);
    },
  });
  const first = queue.commit(1);
  await new Promise((resolve) => setTimeout(resolve, 5));
  // The first is being written; the others never get so far.
  const settled = await Promise.allSettled([first, queue.commit(2), queue.commit(3)]);
  assert.ok(settled.every((one) => one.status === "rejected" && isNotRecorded(one.reason)));
  store.resolve();
  await queue.flush();
  assert.deepEqual(written, [1], "what was sent may land; what was only waiting is gone");
  await queue.commit(4);
  assert.deepEqual(written, [1, 4]);
});

test("the queue is bounded: what comes beyond it is refused at once, and what leaves makes room", async () => {
  let store = Promise.withResolvers<void>();
  const queue = createGroupCommit<{ readonly size: number }>({
    ...options,
    make: (row) => row,
    timeoutMs: 50,
    maxWaiting: 10,
    weigh: ({ size }) => size,
    write: () => store.promise,
  });
  const taken = [4, 3, 3].map((size) => queue.commit({ size }));
  const outcomes = Promise.allSettled(taken);
  await assert.rejects(queue.commit({ size: 1 }), isNotRecorded);
  assert.throws(() => queue.defer({ size: 1 }), isNotRecorded);
  let isOver = false;
  void outcomes.then(() => (isOver = true));
  await assert.rejects(queue.commit({ size: 1 }), isNotRecorded);
  assert.equal(isOver, false, "it was not refused for being late");
  await outcomes;
  // What is being written counts until the store has said something.
  await assert.rejects(queue.commit({ size: 1 }), isNotRecorded);
  store.resolve();
  store = Promise.withResolvers();
  store.resolve();
  await queue.flush();
  await queue.commit({ size: 11 });
  await Promise.all([5, 5].map((size) => queue.commit({ size })));
});
