import { findProgram } from "#testing/programs.ts";
import { startRedisServer } from "#testing/redis-server.ts";
import { describeReplicas } from "./replicas-suite.ts";

// Installed by the test command: requireProgram(t, "redis-server").
describeReplicas("Redis", async (t) => {
  const program = findProgram("redis-server");
  if (program === undefined) return undefined;
  const redis = await startRedisServer(t, program, { password: "of-the-replicas" });
  return {
    settings: { SESSION_STORE: "redis", REDIS_URL: redis.url },
    reason: "session_store",
    lose: () => redis.kill(),
    giveBack: () => redis.start(),
    freeze: () => redis.freeze(),
    thaw: () => redis.thaw(),
    // Trusted for 3 s after its last heartbeat; a question waits 1 s.
    silenceMs: 4000,
  };
});
