import assert from "node:assert/strict";
import { test } from "node:test";
import { findFreePorts } from "#testing/free-port.ts";
import { testServer } from "#testing/postgres-database.ts";
import { requirePostgresGround } from "./postgres-ground.ts";
import { liveTheStory } from "./story.ts";
import { startTestHouse, type TestHouse } from "./test-house.ts";

test("the story is lived in one process on PGlite", async () => {
  const house = await startTestHouse();
  try {
    await liveTheStory(house.port);
  } finally {
    assert.equal(await house.stop(), 0);
  }
});

const server = testServer();

test("the same story is lived with each service in its own process on one PostgreSQL", async (t) => {
  const ground = await requirePostgresGround(t, server);
  if (ground === undefined) return;
  const { environment } = ground;
  const port = await findFreePorts();
  const houses: TestHouse[] = [];
  try {
    for (const serve of ["issuer", "membership", "pdp", "secrets", "crud", "gateway"]) {
      houses.push(await startTestHouse({ port, serve, environment }));
    }
    await liveTheStory(port);
  } catch (error) {
    for (const house of houses) t.diagnostic(house.output());
    throw error;
  } finally {
    for (const house of houses.toReversed()) assert.equal(await house.stop(), 0);
  }
});
