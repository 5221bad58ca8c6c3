import assert from "node:assert/strict";
import { test } from "node:test";
import type { Database } from "#store/database.ts";
import { testDatabase } from "#testing/database.ts";
import { graphModules, graphWorld } from "#testing/membership.ts";
import { statement } from "#store/database.ts";
import { dropNode } from "./drop-node.ts";
import { lockNodes } from "./put-node.ts";
import { wholeGraph } from "./tenant-scope.ts";
import { createAgentOfClient } from "./agent-of-client.ts";

test("a client is the agent that names it, suspended or not, and no client is two agents", async (t) => {
  const world = await graphWorld(await testDatabase(t, graphModules));
  const agentOf = createAgentOfClient(world.database);
  assert.equal(await agentOf("agent:hr-assistant"), "agent:hr-assistant");
  for (const other of ["sallyport-web", "service:crud", "person:ben", "", "a\u0000b", "agent:hr-assistant' or '1'='1"])
    assert.equal(await agentOf(other), undefined);
  const second = {
    id: "agent:second",
    kind: "AIAgent",
    name: "Second",
    tenant_id: "tenant:acme",
    props: { client_id: "agent:hr-assistant" },
  } as const;
  await world.put(second);
  await assert.rejects(agentOf("agent:hr-assistant"), { code: "identity_rejected" });
  await world.put({ ...second, state: "disabled" });
  assert.equal(await agentOf("agent:hr-assistant"), "agent:hr-assistant");
  await world.database.run(statement("test.suspend", "update membership.node set state = 'disabled' where kind = 'AIAgent'"));
  assert.equal(await agentOf("agent:hr-assistant"), "agent:hr-assistant", "an agent stays one");
});

test("the client of an agent that was removed stays an agent's, and no other client becomes one", async (t) => {
  const world = await graphWorld(await testDatabase(t, graphModules));
  const agentOf = createAgentOfClient(world.database);
  const draft = (id: string, client_id: string, kind: "AIAgent" | "Group" = "AIAgent") =>
    ({ id, kind, name: id, tenant_id: "tenant:acme", props: kind === "AIAgent" ? { client_id } : {} }) as const;
  const rows = [
    [draft("agent:own", "agent:own"), "agent:own", "agent:own"],
    [draft("web:portal", "agent:portal"), "web:portal", undefined],
    [draft("group:g", "", "Group"), "group:g", undefined],
  ] as const;
  for (const [node, client, agent] of rows) {
    await world.put(node);
    await world.write({ actor: "person:ada", source: "api", correlationId: "test", tenantId: null, roles: "platform" }, async (tx) => {
      const row = (await lockNodes(tx.sql, [node.id])).get(node.id);
      assert.ok(row !== undefined);
      await dropNode(tx, wholeGraph, row, false);
      return { value: undefined };
    });
    assert.equal(await agentOf(client), agent, client);
  }
  await world.put(draft("agent:own", "agent:own"));
  assert.equal(await agentOf("agent:own"), "agent:own", "back again");
});

test("those that ask while it is read share the next read, which begins after all of them", async () => {
  const reads: PromiseWithResolvers<readonly { id: string; active: boolean }[]>[] = [];
  const asked: unknown[] = [];
  const run = (_statement: unknown, values: unknown) => {
    asked.push(values);
    const reading = Promise.withResolvers<readonly { id: string; active: boolean }[]>();
    reads.push(reading);
    return reading.promise;
  };
  const agentOf = createAgentOfClient({ run: run as Database["run"] });
  const first = agentOf("a");
  const later = [agentOf("a"), agentOf("a"), agentOf("a")];
  const other = agentOf("b");
  assert.deepEqual(asked, [["a"], ["b"]]);
  reads[0]!.resolve([{ id: "agent:old", active: true }]);
  assert.equal(await first, "agent:old");
  assert.deepEqual(asked, [["a"], ["b"], ["a"]], "the next one began only now");
  const latest = agentOf("a");
  reads[2]!.resolve([{ id: "agent:new", active: true }]);
  assert.deepEqual(await Promise.all(later), ["agent:new", "agent:new", "agent:new"]);
  // A read that fails says so to whom it was for, and to nobody else.
  reads[1]!.reject(new Error("the database is away"));
  await assert.rejects(other, /is away/);
  const again = agentOf("b");
  await new Promise(setImmediate);
  reads[3]!.reject(new Error("the database is away"));
  await assert.rejects(latest, /is away/);
  reads[4]!.resolve([]);
  assert.equal(await again, undefined);
  assert.equal(asked.length, 5);
  const anew = agentOf("a");
  assert.equal(asked.length, 6, "nothing is kept");
  reads[5]!.resolve([{ id: "agent:new", active: true }]);
  assert.equal(await anew, "agent:new");
});
