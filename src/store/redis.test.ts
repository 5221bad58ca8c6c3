import assert from "node:assert/strict";
import { mkdtemp, rm, writeFile } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { test, type TestContext } from "node:test";
import { cleanUp } from "#testing/clean-up.ts";
import { freePort } from "#testing/free-port.ts";
import { requireProgram } from "#testing/programs.ts";
import { startRedisServer, type RedisServerOptions } from "#testing/redis-server.ts";
import { selfSigned } from "#testing/self-signed.ts";
import { until } from "#testing/until.ts";
import type { StoreLog } from "./database.ts";
import { openRedis, redisScript, type Redis, type RedisOptions } from "./redis.ts";

const world = async (t: TestContext, options: RedisServerOptions = {}, more: Partial<RedisOptions> = {}) => {
  const program = requireProgram(t, "redis-server");
  if (program === undefined) return undefined;
  const server = await startRedisServer(t, program, options);
  const lines: string[] = [];
  const write = (event: string, fields?: Readonly<Record<string, unknown>>) => void lines.push(JSON.stringify({ event, ...fields }));
  const log: StoreLog = { info: write, warn: write, error: write };
  const seen: string[] = [];
  const open = async (): Promise<Redis> => {
    const redis = await openRedis({
      url: server.url,
      log,
      observe: (operation, status) => void seen.push(`${operation} ${status}`),
      ...more,
    });
    cleanUp(t, () => redis[Symbol.asyncDispose]());
    return redis;
  };
  return { server, open, lines, seen, log };
};

const isUp = (redis: Redis): Promise<boolean> =>
  redis.ready().then(
    () => true,
    () => false,
  );

test("commands and scripts run, and each is measured by its name", async (t) => {
  const made = await world(t);
  if (made === undefined) return;
  const redis = await made.open();
  await redis.run("put", ["SET", "a", "1"]);
  const add = redisScript("add", "return redis.call('INCRBY', KEYS[1], ARGV[1])");
  assert.equal(await redis.script(add, ["a"], [2]), 3);
  assert.equal(await redis.script(add, ["a"], [2]), 5, "known to the server by now");
  await redis.run("flush", ["SCRIPT", "FLUSH"]);
  assert.equal(await redis.script(add, ["a"], [2]), 7, "and loaded again when it has forgotten");
  await assert.rejects(redis.run("bad", ["INCR"]), { name: "RedisError" });
  assert.deepEqual(made.seen, ["put ok", "add ok", "add ok", "flush ok", "add ok", "bad error"]);
});

test("what one process publishes another hears, until it stops listening", async (t) => {
  const made = await world(t);
  if (made === undefined) return;
  const [one, other] = [await made.open(), await made.open()];
  const received: string[] = [];
  const stop = await other.subscribe("news", (message) => received.push(message));
  await one.publish("news", "first");
  await until(() => received.length === 1);
  await stop();
  await one.publish("news", "second");
  await one.ready();
  await other.ready();
  assert.deepEqual(received, ["first"]);
});

test("a killed server fails at once and comes back by itself, its subscriptions with it", async (t) => {
  const made = await world(t);
  if (made === undefined) return;
  const redis = await made.open();
  const received: string[] = [];
  let regained = 0;
  await redis.subscribe(
    "news",
    (message) => received.push(message),
    () => void (regained += 1),
  );
  await redis.run("put", ["SET", "kept", "1"]);
  await made.server.kill();
  await until(async () => !(await isUp(redis)));
  await assert.rejects(redis.run("get", ["GET", "kept"]), { name: "RedisError" });
  await made.server.start();
  await until(() => isUp(redis));
  assert.equal(await redis.run("get", ["GET", "kept"]), "1");
  await until(() => regained > 0);
  await until(async () => {
    await redis.publish("news", "again");
    return received.includes("again");
  });
  assert.ok(made.lines.some((line) => line.includes("redis_lost")) && made.lines.some((line) => line.includes("redis_back")));
});

test("a server that is there and silent is refused after the answer time, and used again when it speaks", async (t) => {
  const made = await world(t, {}, { answerTimeoutMs: 100 });
  if (made === undefined) return;
  const redis = await made.open();
  made.server.freeze();
  await assert.rejects(redis.ready(), /did not answer in 100 ms/);
  made.server.thaw();
  await until(() => isUp(redis));
});

test("a password is sent and never said", async (t) => {
  const made = await world(t, { password: "se/cret-word" });
  if (made === undefined) return;
  const redis = await made.open();
  assert.equal(await isUp(redis), true);
  const wrong = made.server.url.replace("se%2Fcret-word", "wrong-word");
  await assert.rejects(openRedis({ url: wrong, log: made.log, openTimeoutMs: 500 }), (error: Error) => {
    assert.match(error.message, new RegExp(`127\\.0\\.0\\.1:${made.server.port} does not let us in: .*(WRONGPASS|invalid)`));
    return !/wrong-word|cret-word/.test(error.message);
  });
  await made.server.kill();
  await until(async () => !(await isUp(redis)));
  assert.ok(made.lines.length > 0);
  assert.doesNotMatch(made.lines.join("\n"), /wrong-word|cret-word/);
});

test("nobody there: the start says where", async (t) => {
  if (requireProgram(t, "redis-server") === undefined) return;
  const port = await freePort();
  const log: StoreLog = { info: () => {}, warn: () => {}, error: () => {} };
  await assert.rejects(
    openRedis({ url: `redis://127.0.0.1:${port}`, log, openTimeoutMs: 300 }),
    new RegExp(`127.0.0.1:${port}.*ECONNREFUSED`),
  );
});

test("over TLS the server's certificate is checked", async (t) => {
  const tls = await selfSigned(t, ["127.0.0.1"]);
  const made = await world(t, { tls });
  if (made === undefined) return;
  const folder = await mkdtemp(join(tmpdir(), "redis-ca-"));
  cleanUp(t, () => rm(folder, { recursive: true, force: true }));
  await writeFile(join(folder, "ca.pem"), tls.cert);
  await assert.rejects(openRedis({ url: made.server.url, log: made.log, openTimeoutMs: 500 }), /self-signed certificate/);
  const redis = await openRedis({ url: made.server.url, caFile: join(folder, "ca.pem"), log: made.log });
  cleanUp(t, () => redis[Symbol.asyncDispose]());
  await redis.ready();
});
