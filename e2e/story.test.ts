import assert from "node:assert/strict";
import { test } from "node:test";
import { findFreePorts } from "#testing/free-port.ts";
import { testServer } from "#testing/postgres-database.ts";
import { requirePostgresGround } from "./postgres-ground.ts";
import { liveTheStory } from "./story.ts";
import { startTestInstance, type TestInstance } from "./test-instance.ts";

test("the story is lived in one process on PGlite", async () => {
  const instance = await startTestInstance();
  try {
    await liveTheStory(instance.port);
  } finally {
    assert.equal(await instance.stop(), 0);
  }
});

const server = testServer();

test("the same story is lived with each service in its own process on one PostgreSQL", async (t) => {
  const ground = await requirePostgresGround(t, server);
  if (ground === undefined) return;
  const { environment } = ground;
  const port = await findFreePorts();
  const instances: TestInstance[] = [];
  try {
    for (const serve of ["issuer", "membership", "pdp", "secrets", "crud", "gateway"]) {
      instances.push(await startTestInstance({ port, serve, environment }));
    }
    await liveTheStory(port);
  } catch (error) {
    for (const instance of instances) t.diagnostic(instance.output());
    throw error;
  } finally {
    for (const instance of instances.toReversed()) assert.equal(await instance.stop(), 0);
  }
});
