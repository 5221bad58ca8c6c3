import assert from "node:assert/strict";
import { test } from "node:test";
import { createLocalBuckets, stepBucket } from "#http/token-buckets.ts";
import { testRateBuckets } from "./rate-buckets.contract.ts";
import { openRedis } from "#store/redis.ts";
import { silentLog } from "#telemetry/log.ts";
import { cleanUp } from "#testing/clean-up.ts";
import { until } from "#testing/until.ts";
import { requireProgram } from "#testing/programs.ts";
import { startRedisServer } from "#testing/redis-server.ts";
import { createFallbackBuckets, createRedisBuckets } from "./redis-buckets.ts";
import { defaultRates, parseRates } from "#gateway/model/rate-classes.ts";
import { createClientAddress, siteOf } from "./client-address.ts";

testRateBuckets("local buckets", async () => {
  const buckets = createLocalBuckets();
  return { one: buckets, other: buckets };
});

testRateBuckets("Redis buckets", async (t) => {
  const program = requireProgram(t, "redis-server");
  if (program === undefined) return undefined;
  const { url } = await startRedisServer(t, program);
  const open = async () => {
    const redis = await openRedis({ url, log: silentLog });
    cleanUp(t, () => redis[Symbol.asyncDispose]());
    return createRedisBuckets(redis);
  };
  return { one: await open(), other: await open() };
});

test("a Redis that dies in the middle leaves each process its own buckets, and none is refused for it", async (t) => {
  const program = requireProgram(t, "redis-server");
  if (program === undefined) return;
  const server = await startRedisServer(t, program);
  const redis = await openRedis({ url: server.url, log: silentLog });
  cleanUp(t, () => redis[Symbol.asyncDispose]());
  let now = 0;
  const buckets = createFallbackBuckets(createRedisBuckets(redis), createLocalBuckets(), { now: () => now, onLost: () => undefined });
  const rate = { perSecond: 0.001, burst: 2 };
  assert.equal((await buckets.take("a", rate)).remaining, 1);
  await server.kill();
  assert.equal((await buckets.take("a", rate)).remaining, 1, "the own bucket is a full one");
  assert.equal((await buckets.take("a", rate)).remaining, 0);
  assert.equal((await buckets.take("a", rate)).isAllowed, false);
  await server.start();
  now = 60_000;
  await until(async () => {
    now += 2000;
    return (
      (await buckets.take("b", rate)).isAllowed &&
      (await redis.ready().then(
        () => true,
        () => false,
      ))
    );
  });
  now += 2000;
  assert.equal((await buckets.take("a", rate)).remaining, 0, "what Redis knew, it knows again");
});

test("in the long run a bucket gives exactly its rate, whatever the steps between", () => {
  const rate = { perSecond: 7, burst: 3 };
  let fullAt: number | undefined;
  let given = 0;
  for (let now = 0; now <= 60_000; now += 1) {
    const step = stepBucket(fullAt, rate, now);
    if (step.isAllowed) {
      given += 1;
      fullAt = step.fullAt;
    }
  }
  assert.equal(given, 60 * 7 + 3);
});

test("full buckets are not kept: a million clients cost no more than those of the last moments", () => {
  let now = 0;
  const buckets = createLocalBuckets(() => now);
  for (let index = 0; index < 250_000; index++) {
    now += 1;
    buckets.take(`client-${index}`, { perSecond: 100, burst: 10 });
  }
  assert.ok(buckets.size <= 100_000);
});

test("when all buckets are in use, those that were touched longest ago make room", () => {
  let now = 0;
  const buckets = createLocalBuckets(() => now);
  const slow = { perSecond: 0.0001, burst: 2 };
  buckets.take("busy", slow);
  buckets.take("quiet", slow);
  const others = (from: number, to: number): void => {
    for (let index = from; index < to; index++) buckets.take(`client-${index}`, slow);
  };
  others(0, 50_000);
  now = 10_000;
  assert.equal(buckets.take("busy", slow).remaining, 0);
  others(50_000, 100_000);
  assert.equal(buckets.take("busy", slow).isAllowed, false, "it was touched since");
  assert.equal(buckets.take("quiet", slow).remaining, 1, "it begins anew");
});

test("shared buckets that fail are replaced by the process's own, and asked again after a moment", async () => {
  let now = 0;
  let isLost = false;
  let asked = 0;
  const lost: unknown[] = [];
  const shared = {
    take: async () => {
      asked += 1;
      if (isLost) throw new Error("connection lost");
      return { isAllowed: true, remaining: 9, retryAfterMs: 0 };
    },
  };
  const buckets = createFallbackBuckets(
    shared,
    createLocalBuckets(() => now),
    { now: () => now, onLost: (cause) => lost.push(cause) },
  );
  const rate = { perSecond: 1, burst: 1 };
  assert.equal((await buckets.take("a", rate)).remaining, 9);
  isLost = true;
  assert.equal((await buckets.take("a", rate)).isAllowed, true, "the own bucket was full");
  assert.equal((await buckets.take("a", rate)).isAllowed, false, "and is a bucket");
  assert.deepEqual([asked, lost.length], [2, 1], "what is known to be gone is not waited for");
  isLost = false;
  now = 1001;
  assert.equal((await buckets.take("a", rate)).remaining, 9);
});

test("what is not set is what the manual says", () => {
  assert.deepEqual(parseRates(""), {
    login: { perSecond: 1 / 6, burst: 10 },
    anonymous: { perSecond: 20, burst: 100 },
    ingest: { perSecond: 10, burst: 50 },
    session: { perSecond: 100, burst: 200 },
    bearer: { perSecond: 100, burst: 200 },
  });
});

test("the setting overrides the classes it names", () => {
  assert.deepEqual(parseRates("login=30/min, session=50/s:100"), {
    ...defaultRates,
    login: { perSecond: 0.5, burst: 30 },
    session: { perSecond: 50, burst: 100 },
  });
});
for (const text of ["logon=1/s", "login=0/s", "login=1", "login=1/h", "login=-1/s", "login=1/s:0", "login=1/s,login=2/s", "login=1.5/s"])
  test(`RATE_LIMITS refuses ${text}`, () => assert.equal(typeof parseRates(text), "string"));

const trusted = createClientAddress((address) => address.startsWith("10.") || address === "2001:db8::1");
for (const [name, peerAddress, forwarded, expected] of [
  ["a peer that nobody trusts is the client, whatever it says", "192.0.2.1", "198.51.100.9", "192.0.2.1"],
  ["a trusted proxy names the client", "10.0.0.1", "198.51.100.9", "198.51.100.9"],
  ["what the client wrote itself does not count", "10.0.0.1", "203.0.113.5, 198.51.100.9", "198.51.100.9"],
  ["a chain of trusted proxies is walked from the right", "10.0.0.1", "198.51.100.9, 10.0.0.2, 10.0.0.3", "198.51.100.9"],
  ["only trusted ones: the leftmost", "10.0.0.1", "10.0.0.9, 10.0.0.2", "10.0.0.9"],
  ["an entry that is no address ends the search", "10.0.0.1", "198.51.100.9, unknown, 10.0.0.2", "10.0.0.2"],
  ["a trusted proxy that names nobody is the client", "10.0.0.1", undefined, "10.0.0.1"],
  ["a mapped address is its IPv4 address", "::ffff:10.0.0.1", "::ffff:198.51.100.9", "198.51.100.9"],
  ["an IPv6 proxy", "2001:db8::1", "2001:db8:7::5", "2001:db8:7::5"],
] as const)
  test(name, () => {
    assert.equal(trusted({ peerAddress, headers: { get: () => forwarded, pairs: [] } }), expected);
  });

for (const [address, network] of [
  ["192.0.2.7", "192.0.2.7"],
  ["2001:db8:1:2:3:4:5:6", "2001:db8:1:2::/64"],
  ["2001:db8:1:2:ffff::1", "2001:db8:1:2::/64"],
  ["2001:0DB8:0001:0002::9", "2001:db8:1:2::/64"],
  ["2001:db8::1", "2001:db8:0:0::/64"],
  ["::1", "0:0:0:0::/64"],
  ["fe80::1%eth0", "fe80:0:0:0::/64"],
] as const)
  test(`${address} belongs to ${network}`, () => assert.equal(siteOf(address), network));
