import assert from "node:assert/strict";
import { test } from "node:test";
import { cleanUp } from "#testing/clean-up.ts";
import { requireProgram } from "#testing/programs.ts";
import { startRedisServer } from "#testing/redis-server.ts";
import { until } from "#testing/until.ts";
import { signInPerson } from "./sign-in.ts";
import { startTestInstance } from "./test-instance.ts";
import { fetchToken } from "./tokens.ts";

test("an instance with a Redis counts what it asks it, and shows sign-ins and ends at once", async (t) => {
  const program = requireProgram(t, "redis-server");
  if (program === undefined) return;
  const redis = await startRedisServer(t, program);
  const instance = await startTestInstance({ environment: { SESSION_STORE: "redis", REDIS_URL: redis.url } });
  cleanUp(t, async () => {
    await instance.kill();
    await instance.stop();
  });
  const shown = async (): Promise<string> => (await fetch(`${instance.origin}/metrics`)).text();
  const sumOf = async (name: string): Promise<number> =>
    (await shown())
      .split("\n")
      .filter((line) => line.startsWith(`${name}{`) || line.startsWith(`${name} `))
      .reduce((sum, line) => sum + Number(line.slice(line.lastIndexOf(" ") + 1)), 0);
  const living = () => sumOf("bff_active_sessions_total");

  assert.equal(await living(), 0);
  const before = [await sumOf("bff_redis_operations_total"), await sumOf("bff_redis_latency_seconds_count")] as const;
  const ben = await signInPerson(instance.origin, "ben");
  await until(living, (now) => now === 1);
  await signInPerson(instance.origin, "ada");
  await until(living, (now) => now === 2);
  assert.ok((await sumOf("bff_redis_operations_total")) > before[0]);
  assert.ok((await sumOf("bff_redis_latency_seconds_count")) > before[1]);
  assert.match(await shown(), /^bff_redis_operations_total\{operation="[a-z_]+",status="ok"\} [1-9]/m);
  const out = await fetch(`${instance.origin}/auth/logout`, { method: "POST", headers: ben.headers, body: "{}" });
  assert.equal(out.status, 200);
  await until(living, (now) => now === 1);

  // What is asked while it is away is counted too, as what it is.
  await redis.kill();
  await until(async () => (await fetch(`${instance.origin}/api/configs/ui`, { headers: { cookie: ben.cookie } })).status === 503);
  await until(async () => /^bff_redis_operations_total\{operation="[a-z_]+",status="(?!ok")[a-z_]+"\} [1-9]/m.test(await shown()));
});

test("of tokens only those count that the gateway was sent, not those that its services send one another", async (t) => {
  const instance = await startTestInstance();
  cleanUp(t, async () => {
    await instance.kill();
    await instance.stop();
  });
  const checked = async (): Promise<readonly string[]> =>
    (await (await fetch(`${instance.origin}/metrics`)).text())
      .split("\n")
      .filter((line) => line.startsWith('bff_token_validation_total{token_type="jwt"') && !line.endsWith(" 0"));
  const ben = await signInPerson(instance.origin, "ben");
  const token = await fetchToken(instance.port, { user: "ben", agent: "agent:hr-assistant" });
  const before = await checked();
  for (let index = 0; index < 5; index++)
    for (const path of ["/api/v1/stream/health", "/api/configs/ui", "/access/v1/budgets/effective"]) {
      const response = await fetch(`${instance.origin}${path}`, { headers: { cookie: ben.cookie } });
      assert.equal(response.status, 200, await response.text());
    }
  assert.deepEqual(await checked(), before, "a session brings no token, however many Sallyport makes for it");
  for (const [bearer, status] of [
    [token, 200],
    [`${token.slice(0, token.lastIndexOf("."))}.${"A".repeat(86)}`, 401],
  ] as const)
    for (let index = 0; index < 3; index++) {
      const response = await fetch(`${instance.origin}/api/crud/mcp/tools/list`, { headers: { authorization: `Bearer ${bearer}` } });
      assert.equal(response.status, status, await response.text());
    }
  const countOf = (lines: readonly string[], status: string): number =>
    Number(
      lines
        .find((line) => line.includes(`status="${status}"`))
        ?.split(" ")
        .at(-1) ?? 0,
    );
  const after = await checked();
  assert.deepEqual(
    ["ok", "invalid_token"].map((status) => countOf(after, status) - countOf(before, status)),
    [3, 3],
  );
});
