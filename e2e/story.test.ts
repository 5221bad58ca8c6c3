import assert from "node:assert/strict";
import { randomBytes } from "node:crypto";
import { mkdtemp, rm, writeFile } from "node:fs/promises";
import { tmpdir } from "node:os";
import { dirname, join } from "node:path";
import { test } from "node:test";
import { freshDatabase, testServer } from "#testing/postgres-database.ts";
import { liveTheStory } from "./story.ts";
import { findFreePorts } from "#testing/free-port.ts";
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
  const url = await server.url();
  if (url === undefined) {
    assert.notEqual(process.env["REQUIRE_REAL"], "1", server.why());
    t.skip(`NO POSTGRESQL: ${server.why()}`);
    return;
  }
  const database = await freshDatabase(t, url, []);
  const port = await findFreePorts();
  const secret = randomBytes(32).toString("base64");
  const kek = join(await mkdtemp(join(tmpdir(), "sallyport-kek-")), "audit-kek");
  await writeFile(kek, randomBytes(32).toString("base64"), { mode: 0o600 });
  t.after(() => rm(dirname(kek), { recursive: true }));
  const environment = { DATABASE_URL: database, SESSION_SECRETS: secret, AUDIT_KEK_FILE: kek };
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
