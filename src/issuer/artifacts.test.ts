import assert from "node:assert/strict";
import { randomBytes } from "node:crypto";
import { createSealer } from "#authn/sealing/seal.ts";
import { statement, type Database } from "#store/database.ts";
import { forEachDatabase } from "#testing/database.ts";
import { createArtifacts, sweepExpired } from "./artifacts.ts";

const count = statement<{ readonly n: bigint }>("test.artifacts", "select count(*) as n from authn.oidc_artifact");
const open = (database: Database, sealer = createSealer([randomBytes(32)], "test")) => {
  let now = Date.parse("2026-11-21T10:00:00Z");
  const artifacts = createArtifacts({ database, sealer, now: () => new Date(now), alreadyUsed: () => new Error("used") });
  return { artifacts, sealer, forward: (seconds: number) => void (now += seconds * 1000), now: () => new Date(now) };
};

forEachDatabase("what is kept is found by id and by uid, changed in place, and gone when destroyed", ["authn"], async (_t, database) => {
  const session = open(database).artifacts("Session");
  await session.upsert("id-1", { jti: "id-1", uid: "uid-1", accountId: "person:ben" }, 60);
  assert.deepEqual(await session.find("id-1"), { jti: "id-1", uid: "uid-1", accountId: "person:ben" });
  assert.deepEqual(await session.findByUid("uid-1"), await session.find("id-1"));
  await session.upsert("id-1", { jti: "id-1", uid: "uid-2" }, 60);
  assert.equal(await session.findByUid("uid-1"), undefined);
  assert.deepEqual(await session.findByUid("uid-2"), { jti: "id-1", uid: "uid-2" });
  await session.destroy("id-1");
  assert.equal(await session.find("id-1"), undefined);
});

forEachDatabase("one kind never finds another's", ["authn"], async (_t, database) => {
  const { artifacts } = open(database);
  await artifacts("AuthorizationCode").upsert("x", { jti: "x" }, 60);
  assert.equal(await artifacts("AccessToken").find("x"), undefined);
  await artifacts("AccessToken").destroy("x");
  assert.deepEqual(await artifacts("AuthorizationCode").find("x"), { jti: "x" });
});

forEachDatabase("of many that use a code together one is let through", ["authn"], async (_t, database) => {
  const { artifacts, now } = open(database);
  const codes = artifacts("AuthorizationCode");
  await codes.upsert("code", { jti: "code" }, 60);
  const uses = await Promise.allSettled(Array.from({ length: 8 }, () => codes.consume("code")));
  assert.equal(uses.filter((use) => use.status === "fulfilled").length, 1);
  assert.equal((await codes.find("code"))?.consumed, Math.floor(now().getTime() / 1000));
  await codes.upsert("code", { jti: "code", scope: "x" }, 60);
  assert.ok((await codes.find("code"))?.consumed !== undefined, "a later save does not make it fresh");
});

forEachDatabase("revoking a grant ends what came from it and nothing else", ["authn"], async (_t, database) => {
  const { artifacts } = open(database);
  const tokens = artifacts("RefreshToken");
  await tokens.upsert("a", { jti: "a", grantId: "g1" }, 60);
  await tokens.upsert("b", { jti: "b", grantId: "g1" }, 60);
  await tokens.upsert("c", { jti: "c", grantId: "g2" }, 60);
  await tokens.revokeByGrantId("g1");
  assert.deepEqual([await tokens.find("a"), await tokens.find("b"), (await tokens.find("c"))?.jti], [undefined, undefined, "c"]);
});

forEachDatabase("the expired is forgotten an hour later, the rest stays", ["authn"], async (_t, database) => {
  const { artifacts, forward, now } = open(database);
  const tokens = artifacts("RefreshToken");
  await tokens.upsert("short", { jti: "short" }, 60);
  await tokens.upsert("long", { jti: "long" }, 10_000);
  await tokens.upsert("endless", { jti: "endless" });
  forward(3600);
  await sweepExpired(database, now());
  assert.ok((await tokens.find("short")) !== undefined);
  forward(61);
  await sweepExpired(database, now());
  assert.deepEqual(
    [await tokens.find("short"), (await tokens.find("long"))?.jti, (await tokens.find("endless"))?.jti],
    [undefined, "long", "endless"],
  );
  const [row] = await database.run(count);
  assert.equal(row?.n, 2n);
});

forEachDatabase("what another secret sealed is as if it were not there", ["authn"], async (_t, database) => {
  await open(database).artifacts("Session").upsert("x", { jti: "x", uid: "u" }, 60);
  const other = open(database).artifacts("Session");
  assert.equal(await other.find("x"), undefined);
  assert.equal(await other.findByUid("u"), undefined);
});
