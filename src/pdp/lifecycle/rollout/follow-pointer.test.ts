import assert from "node:assert/strict";
import { test } from "node:test";
import type { EvaluationReply } from "#contract/authzen.ts";
import type { ProblemBody } from "#contract/problem.ts";
import { SqlError } from "#store/sql-error.ts";
import { statement, type Database } from "#store/database.ts";
import { openPostgres } from "#testing/postgres-database.ts";
import { cleanUp } from "#testing/clean-up.ts";
import { forPostgres, testDatabase } from "#testing/database.ts";
import { pdpModules, pdpWorld, type PdpWorld } from "#testing/pdp.ts";
import { administer, askFor, opensOperations, readJson } from "#testing/rollout.ts";
import { until } from "#testing/until.ts";

const openFor = async (world: PdpWorld, login = "cleo"): Promise<boolean> =>
  (await askFor(world, login, "pages", "view", "operations")).decision;

/** A database of which one statement can be made to fail, and whose hints can be lost. */
const breakable = (inner: Database) => {
  const broken = { pointer: false, deaf: false };
  const database: Database = {
    ...inner,
    run: async (named, values) => {
      if (broken.pointer && named.name === "pdp.pointer.read")
        throw new SqlError({ code: "57P01", message: "gone", constraint: undefined, table: undefined });
      return inner.run(named, values);
    },
    transaction: (work, options) => inner.transaction(work, options),
    listen: async (channel, received) => (broken.deaf ? async () => {} : inner.listen(channel, received)),
    [Symbol.asyncDispose]: () => inner[Symbol.asyncDispose](),
  };
  return { database, broken };
};

forPostgres(
  "two decision points on one PostgreSQL decide by the same version soon after one of them activated it",
  pdpModules,
  async (t, url) => {
    const open = async (): Promise<Database> => {
      const opened = await openPostgres(url);
      cleanUp(t, () => opened[Symbol.asyncDispose]());
      return opened;
    };
    const one = await pdpWorld(t, { parts: {}, database: await open() });
    const other = await pdpWorld(t, { over: one, parts: { database: await open() } });
    const admin = administer(one);
    assert.deepEqual([await openFor(one), await openFor(other)], [false, false]);
    const { rollout } = await admin.draft(opensOperations);
    for (const round of [1, 2, 3]) {
      if (round === 1) await admin.activate(rollout.version);
      else await admin.rollBack();
      const started = performance.now();
      assert.equal(await openFor(one), round % 2 === 1, "who activated follows before it answers");
      await until(
        () => openFor(other),
        (is) => is === (round % 2 === 1),
      );
      t.diagnostic(`the other replica followed after ${Math.round(performance.now() - started)} ms`);
    }
    const listed = await readJson<{ version: string }>(await administer(other).call(""));
    assert.equal(listed.version, rollout.version);
  },
);

forPostgres("of two activations at once, one is told that the other was first", pdpModules, async (t, url) => {
  const database = await openPostgres(url);
  cleanUp(t, () => database[Symbol.asyncDispose]());
  const world = await pdpWorld(t, { database });
  const admin = administer(world);
  const { rollout } = await admin.draft(opensOperations);
  await admin.activate(rollout.version);
  const answers = await Promise.all([1, 2, 3, 4].map(() => admin.call("/rollouts/v1/rollback", {})));
  const codes = await Promise.all(
    answers.map(async (answer) => (answer.status === 200 ? "ok" : ((await answer.json()) as ProblemBody).code)),
  );
  assert.equal(codes.filter((code) => code === "ok").length, 1);
  assert.ok(
    codes.every((code) => ["ok", "stale_version", "conflict"].includes(code)),
    codes.join(),
  );
});

test("a replica whose hints are lost follows by looking", async (t) => {
  const { database, broken } = breakable(await testDatabase(t, pdpModules));
  const one = await pdpWorld(t, { database });
  broken.deaf = true;
  const deaf = await pdpWorld(t, { over: one, parts: { follow: { pollMs: 50 } } });
  const admin = administer(one);
  const { rollout } = await admin.draft(opensOperations);
  await admin.activate(rollout.version);
  await until(() => openFor(deaf));
});

test("a replica blind to the pointer for ten seconds decides nothing until it sees again", async (t) => {
  const { database, broken } = breakable(await testDatabase(t, pdpModules));
  let elapsed = 0;
  const world = await pdpWorld(t, { database, parts: { follow: { pollMs: 20, elapsedMs: () => elapsed } } });
  const ask = async () =>
    world.ask("/access/v1/evaluation", await world.serviceToken(), {
      subject: { type: "identity", id: "person:cleo", properties: { tenant: "tenant:acme" } },
      action: { name: "view" },
      resource: { type: "pages", id: "people" },
    });
  broken.pointer = true;
  elapsed = 9_999;
  assert.equal((await ask()).status, 200);
  elapsed = 20_000;
  const refused = await ask();
  assert.equal(refused.headers.get("retry-after"), "1");
  assert.equal((await readJson<ProblemBody>(refused, 503)).code, "pdp_unavailable");
  const ready = await readJson<{ reasons: readonly string[] }>(await world.ask("/health/ready", undefined), 503);
  assert.deepEqual(ready.reasons, ["policies"]);
  broken.pointer = false;
  await until(
    async () => (await ask()).status,
    (status) => status === 200,
  );
  assert.equal((await world.ask("/health/ready", undefined)).status, 200);
});

test("a version that cannot be read takes nobody's place: the last good one decides, and soon the replica says so", async (t) => {
  const { database } = breakable(await testDatabase(t, pdpModules));
  let elapsed = 0;
  const world = await pdpWorld(t, { database, parts: { follow: { pollMs: 20, elapsedMs: () => elapsed } } });
  const admin = administer(world);
  const { rollout } = await admin.draft({ "policies/pages.cedar": "permit (" });
  await database.run(statement("testing.point_at", "update pdp.pointer set active = $1, epoch = epoch + 1"), [rollout.version]);
  assert.equal((await askFor(world, "cleo", "pages", "view", "people")).decision, true);
  elapsed = 11_000;
  const refused = await world.ask("/access/v1/policies", await world.personToken("ada"));
  assert.equal((await readJson<ProblemBody>(refused, 503)).code, "pdp_unavailable");
  await database.run(
    statement("testing.point_back", "update pdp.pointer set active = (select version from pdp.bundle where seq = 1), epoch = epoch + 1"),
  );
  await until(
    async () => (await world.ask("/health/ready", undefined)).status,
    (status) => status === 200,
  );
});

test("under load with activations every request is decided by one version from its first item to its last", async (t) => {
  // A slow machine is not what is tested here.
  const world = await pdpWorld(t, { settings: { PDP_RECORD_TIMEOUT_MS: "60000" }, parts: { follow: { blindMs: 600_000 } } });
  const admin = administer(world);
  const { rollout } = await admin.draft(opensOperations);
  await admin.activate(rollout.version);
  const first = (await admin.rollBack()).version;
  const token = await world.serviceToken();
  const item = {
    subject: { type: "identity", id: "person:cleo", properties: { tenant: "tenant:acme" } },
    action: { name: "view" },
    resource: { type: "pages", id: "operations" },
  };
  // Long enough that each batch yields in the middle, and few enough that an activation is not starved.
  const BATCH = 40;
  let turning = true;
  let mixed = 0;
  const seen = new Set<boolean>();
  const load = async (): Promise<void> => {
    while (turning) {
      const response = await world.ask("/access/v1/evaluations", token, { evaluations: Array.from({ length: BATCH }, () => item) });
      const { evaluations } = await readJson<{ readonly evaluations: readonly EvaluationReply[] }>(response);
      const decisions = new Set(evaluations.map(({ decision }) => decision));
      if (decisions.size !== 1) mixed += 1;
      for (const decision of decisions) seen.add(decision);
    }
  };
  const turns = async (): Promise<void> => {
    try {
      // A turn may be over before a batch is: as many as it takes for both versions to have decided one.
      for (let turn = 0; turn < 6 || (seen.size < 2 && turn < 200); turn++) await admin.rollBack();
    } finally {
      turning = false;
    }
  };
  await Promise.all([turns(), load(), load()]);
  assert.equal(mixed, 0);
  assert.deepEqual([...seen].toSorted(), [false, true]);
  // On record too: every call names one version, and its items are what that version says.
  // Permits to view are written soon after they are answered; who reads the list finds them written.
  assert.equal((await world.ask("/access/v1/decisions", await world.personToken("ada"))).status, 200);
  const rows = await world.database.run(
    statement<{ readonly policy_version: string; readonly decision: string; readonly calls: bigint }>(
      "testing.versions_of_calls",
      `select policy_version, i ->> 'decision' as decision, count(distinct call_id) as calls from pdp.call, jsonb_array_elements(items) i
       where pep = 'service:gateway' group by 1, 2 order by 1, 2`,
    ),
  );
  assert.deepEqual(
    rows.map(({ policy_version: version, decision }) => [version, decision]),
    [
      [first, "false"],
      [rollout.version, "true"],
    ],
  );
  t.diagnostic(`${rows.reduce((sum, { calls }) => sum + Number(calls), 0)} batches of ${BATCH} over 6 activations`);
});
