import assert from "node:assert/strict";
import { test } from "node:test";
import { cleanUp } from "#testing/clean-up.ts";
import { requireProgram } from "#testing/programs.ts";
import { startRedisServer } from "#testing/redis-server.ts";
import { until } from "#testing/until.ts";
import { signInPerson } from "./sign-in.ts";
import { startTestHouse } from "./test-house.ts";

test("a house with a Redis counts what it asks it, and shows sign-ins and ends at once", async (t) => {
  const program = requireProgram(t, "redis-server");
  if (program === undefined) return;
  const redis = await startRedisServer(t, program);
  const house = await startTestHouse({ environment: { SESSION_STORE: "redis", REDIS_URL: redis.url } });
  cleanUp(t, async () => {
    await house.kill();
    await house.stop();
  });
  const shown = async (): Promise<string> => (await fetch(`${house.origin}/metrics`)).text();
  const sumOf = async (name: string): Promise<number> =>
    (await shown())
      .split("\n")
      .filter((line) => line.startsWith(`${name}{`) || line.startsWith(`${name} `))
      .reduce((sum, line) => sum + Number(line.slice(line.lastIndexOf(" ") + 1)), 0);
  const living = () => sumOf("bff_active_sessions_total");

  assert.equal(await living(), 0);
  const before = [await sumOf("bff_redis_operations_total"), await sumOf("bff_redis_latency_seconds_count")] as const;
  const ben = await signInPerson(house.origin, "ben");
  await until(living, (now) => now === 1);
  await signInPerson(house.origin, "ada");
  await until(living, (now) => now === 2);
  assert.ok((await sumOf("bff_redis_operations_total")) > before[0]);
  assert.ok((await sumOf("bff_redis_latency_seconds_count")) > before[1]);
  assert.match(await shown(), /^bff_redis_operations_total\{operation="[a-z_]+",status="ok"\} [1-9]/m);
  const out = await fetch(`${house.origin}/auth/logout`, { method: "POST", headers: ben.headers, body: "{}" });
  assert.equal(out.status, 200);
  await until(living, (now) => now === 1);

  // What is asked while it is away is counted too, as what it is.
  await redis.kill();
  await until(async () => (await fetch(`${house.origin}/api/configs/ui`, { headers: { cookie: ben.cookie } })).status === 503);
  await until(async () => /^bff_redis_operations_total\{operation="[a-z_]+",status="(?!ok")[a-z_]+"\} [1-9]/m.test(await shown()));
});
