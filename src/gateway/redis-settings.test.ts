import assert from "node:assert/strict";
import { test } from "node:test";
import { redisFaults } from "./config.ts";

for (const [sessionStore, redisUrl, environment, wanted] of [
  ["database", undefined, "production", []],
  ["redis", undefined, "dev", ["must be set with SESSION_STORE=redis"]],
  ["redis", "redis://127.0.0.1:6379", "production", []],
  ["redis", "redis://redis.example:6379", "dev", []],
  ["redis", "rediss://:word@redis.example:6379", "production", []],
  ["redis", "rediss://redis.example:6379", "production", ["must hold a password unless on loopback"]],
  ["database", "redis://:word@redis.example:6379", "production", ["must be rediss:// (TLS) unless on loopback"]],
] as const)
  test(`sessions in ${sessionStore}, Redis ${redisUrl ?? "unset"}, ${environment}: ${wanted.join() || "fine"}`, () => {
    assert.deepEqual(
      redisFaults({ sessionStore, redisUrl }, environment).map(({ message }) => message),
      wanted,
    );
  });
