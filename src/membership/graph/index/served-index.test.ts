import assert from "node:assert/strict";
import type { TestContext } from "node:test";
import { setTimeout as pause } from "node:timers/promises";
import type { FactAsk } from "#contract/facts.ts";
import { silentLog } from "#telemetry/log.ts";
import { createMetrics } from "#telemetry/metrics.ts";
import type { Database } from "#store/database.ts";
import { cleanUp } from "#testing/clean-up.ts";
import { forEachDatabase } from "#testing/database.ts";
import { graphModules, graphWorld, servedWorld, type GraphWorld } from "#testing/membership.ts";
import { until } from "#testing/until.ts";
import { recordDelegation } from "#membership/delegations/put-delegation.ts";
import { createWriteGraph } from "#membership/graph/write.ts";
import { wholeGraph } from "#membership/graph/tenant-scope.ts";
import { createFeed } from "./feed.ts";
import { createIndexReader } from "./index-reader.ts";

const PIP = "/api/v1/pip/membership";
const CAPABILITIES = `${PIP}/capabilities?user_id=person:ben&agent_id=agent:hr-assistant`;
const questions = [
  CAPABILITIES,
  `${PIP}/delegations?user_id=person:ben`,
  `${PIP}/data-scope?subject_id=person:ben&resource_type=employee`,
  `${PIP}/step-up?subject_id=person:ben`,
  `${PIP}/chain-eligibility?user_id=person:ben&agent_id=agent:hr-assistant&tool_id=people.demo.get_employee`,
];
const auto = { environment: { MEMBERSHIP_READER: "auto", GRAPH_POLL_MS: "20", GRAPH_STALENESS_BOUND_MS: "60000" } };
const revoke = { scopes: ["membership.delegate"], body: { reason: "No longer needed" } };

forEachDatabase("PIP answers out of memory what the database says, with its own word of where from", graphModules, async (t, database) => {
  const indexed = await servedWorld(t, database, auto);
  const plain = await servedWorld(t, database);
  const ask = (world: typeof plain, path: string, headers = {}) => world.call("service:pdp", "GET", path, { headers });
  await until(async () => (await ask(indexed, CAPABILITIES)).headers.get("x-graph-source") === "index");
  for (const path of questions) {
    const [own, kept] = [await ask(indexed, path), await ask(plain, path)];
    assert.deepEqual([own.headers.get("x-graph-source"), kept.headers.get("x-graph-source")], ["index", "sql"], path);
    assert.deepEqual(own.body, kept.body, path);
    for (const name of ["x-graph-version", "x-valid-until", "etag"])
      assert.equal(own.headers.get(name), kept.headers.get(name), `${path} ${name}`);
  }
  const health = await indexed.call(undefined, "GET", "/api/v1/health");
  assert.deepEqual([health.body.reader, health.body.index.state], ["index", "ready"]);
  const version = Number(health.body.graph_version);
  assert.equal((await ask(indexed, CAPABILITIES, { "x-graph-min-version": String(version) })).status, 200);
  const ahead = await ask(indexed, CAPABILITIES, { "x-graph-min-version": String(version + 1) });
  assert.deepEqual([ahead.status, ahead.body.code], [503, "graph_behind"]);
});

forEachDatabase("what a replica wrote counts there when it is answered", graphModules, async (t, database) => {
  const world = await servedWorld(t, database, auto);
  const capabilities = () => world.call("service:pdp", "GET", CAPABILITIES);
  await until(async () => (await capabilities()).headers.get("x-graph-source") === "index");
  assert.equal((await capabilities()).body.capabilities.length, 3);
  for (const [act, left] of [
    ["pause", 0],
    ["resume", 3],
    ["revoke", 0],
  ] as const) {
    const before = await world.call("ben", "GET", "/api/v1/delegations/delegation:ben-hr", { scopes: ["membership.read"] });
    const reply = await world.call("ben", "POST", `/api/v1/delegations/delegation:ben-hr/${act}`, {
      ...revoke,
      headers: { "if-match": before.headers.get("etag") ?? "" },
    });
    assert.equal(reply.status, 200, JSON.stringify(reply.body));
    assert.deepEqual((await capabilities()).body.capabilities.length, left, act);
  }
});

/** A database whose hints do not come through. */
const deaf = (database: Database): Database => ({ ...database, listen: async () => async () => {} });

const replica = async (t: TestContext, database: Database, timing: { readonly pollMs: number; readonly boundMs: number }) => {
  const metrics = createMetrics();
  const feed = await createFeed({ database, log: silentLog, metrics, ...timing });
  cleanUp(t, () => feed[Symbol.asyncDispose]());
  return feed;
};

const dataScope = { unknownType: "tenants", refused: () => {} } as const;

/** Ends Ben's delegation, as another process does; resolves to the version. */
const revokeAway = async (world: GraphWorld, written?: (version: bigint) => Promise<void>): Promise<bigint> => {
  const write = createWriteGraph({ change: world.change, metrics: world.metrics, ...(written === undefined ? {} : { written }) });
  const { version } = await write({ actor: "person:ben", source: "api", correlationId: "test", tenantId: "tenant:acme" }, async (tx) => {
    await tx.sql.run({
      name: "testing.revoke_away",
      text: "update membership.delegation set status = 'revoked', ended_at = now() where id = 'delegation:ben-hr'",
    });
    await recordDelegation(tx, "delegation:ben-hr");
    return { value: undefined };
  });
  return version;
};

forEachDatabase(
  "facts of a delegation are of no older graph than the database had when they were asked for",
  graphModules,
  async (t, database) => {
    const world = await graphWorld(database);
    const feed = await replica(t, deaf(database), { pollMs: 600_000, boundMs: 600_000 });
    const index = createIndexReader({ feed, sql: world.reader, database, dataScope });
    await until(() => feed.state().state === "ready");
    const asks: readonly FactAsk[] = [
      {
        subject_id: "person:ben",
        action: "tools/call",
        resource: { type: "tool", external_id: "people.demo.list_employees" },
        agent_ids: ["agent:hr-assistant"],
      },
    ];
    const reported = async () => {
      const { value, source } = await index.facts(wholeGraph, asks);
      return [value[0]?.delegation?.status, value[0]?.capability, source];
    };
    assert.deepEqual(await reported(), ["active", true, "index"]);
    const version = await revokeAway(world);
    // Nothing was heard of it, and the next look is ten minutes off: the question itself makes the index look, or SQL answers it.
    assert.deepEqual((await reported()).slice(0, 2), ["revoked", false]);
    await until(() => feed.state().version === version);
    assert.deepEqual(await reported(), ["revoked", false, "index"]);
  },
);

forEachDatabase(
  "a revocation elsewhere holds here, by a hint, by a look, or because an old look counts for nothing",
  graphModules,
  async (t, database, { second }) => {
    const world = await graphWorld(database);
    const elsewhere = second === undefined ? database : await second();
    const { reader } = world;
    const timings = {
      // Never looks by itself while the test runs: what it hears of comes by the hint alone.
      hinted: { database: elsewhere, pollMs: 600_000, boundMs: 600_000 },
      looking: { database: deaf(elsewhere), pollMs: 20, boundMs: 600_000 },
      // Stands still, as a stopped process does: one look, and the bound passes.
      stopped: { database: deaf(elsewhere), pollMs: 600_000, boundMs: 200 },
    };
    const feeds = {
      hinted: await replica(t, timings.hinted.database, timings.hinted),
      looking: await replica(t, timings.looking.database, timings.looking),
      stopped: await replica(t, timings.stopped.database, timings.stopped),
    };
    const readers = Object.entries(feeds).map(
      ([name, feed]) => [name, createIndexReader({ feed, sql: reader, database: elsewhere, dataScope })] as const,
    );
    const ask = { userId: "person:ben", agentId: "agent:hr-assistant" };
    for (const feed of Object.values(feeds)) await until(() => feed.state().version >= 0n);
    for (const [name, index] of readers) assert.equal((await index.capabilities(wholeGraph, ask)).value.length, 3, name);

    const writer = await replica(t, database, { pollMs: 50, boundMs: 500 });
    const version = await revokeAway(world, writer.written);
    await pause(timings.stopped.boundMs);
    for (const [name, index] of readers) {
      // The embedded database has one process, which hears of its own writes and sends nobody hints.
      if (name === "hinted" && database.kind === "pglite") continue;
      if (name !== "stopped") {
        // SQL answers as long as the index cannot, and knows the version at once.
        await until(async () => {
          const { version: reported, source } = await index.capabilities(wholeGraph, ask);
          return reported >= version && source === "index";
        });
      }
      const answered = await index.capabilities(wholeGraph, ask);
      assert.deepEqual([name, answered.value, answered.source], [name, [], name === "stopped" ? undefined : "index"]);
    }
  },
);

forEachDatabase(
  "a change log that does not lead on, and a graph that was put back, are read anew from the rows",
  graphModules,
  async (t, database) => {
    const world = await graphWorld(database);
    const feed = await replica(t, database, { pollMs: 20, boundMs: 60_000 });
    const look = () => {
      const seen = feed.look();
      return typeof seen === "string" ? undefined : seen;
    };
    const first = await until(look);
    await world.put({ id: "group:of-late", kind: "Group", name: "g", tenant_id: "tenant:acme" });
    await world.sql("delete from membership.graph_change_op where version = (select version from membership.graph_head)");
    const known = await until(() => ((seen) => (seen !== undefined && seen.version > (first?.version ?? 0n) ? seen : undefined))(look()));
    assert.notEqual(known?.graph.nodes.names.find("group:of-late"), -1);
    await world.sql("update membership.graph_head set version = 1");
    await until(() => look()?.version === 1n);
  },
);

forEachDatabase("nothing is asked of the database while nobody asks", graphModules, async (t, database) => {
  await graphWorld(database);
  let asked = 0;
  const counted: Database = {
    ...database,
    run: (one, values) => {
      asked++;
      return database.run(one, values);
    },
  };
  const feed = await replica(t, counted, { pollMs: 1, boundMs: 500 });
  await until(() => feed.state().version >= 0n && feed.state().state === "ready");
  await pause(50);
  const before = asked;
  await pause(100);
  assert.equal(asked, before);
  feed.look();
  await until(() => asked > before + 2);
});
