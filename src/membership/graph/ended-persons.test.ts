import assert from "node:assert/strict";
import { test } from "node:test";
import { Problem } from "#contract/problem.ts";
import type { Database } from "#store/database.ts";
import { testDatabase } from "#testing/database.ts";
import { graphModules, graphWorld } from "#testing/membership.ts";
import { dropNode } from "./drop-node.ts";
import { createHasEnded } from "./ended-persons.ts";
import { lockNodes, type NodeDraft } from "./put-node.ts";
import { wholeGraph } from "./tenant-scope.ts";

test("a person has ended who is not active, was removed, or is of a tenant that is not active; nobody else has", async (t) => {
  const world = await graphWorld(await testDatabase(t, graphModules), { demo: false });
  const ended = createHasEnded(world.database, () => new Date());
  const hasEnded = (id: string, of = "tenant:a"): Promise<boolean> => ended(id, of);
  const tenant = (id: string, state = "active"): NodeDraft => ({ id, kind: "Tenant", name: id, tenant_id: id, state });
  const node = (id: string, state: string, more: Partial<NodeDraft> = {}): NodeDraft => ({
    id,
    kind: "Person",
    name: id,
    tenant_id: "tenant:a",
    state,
    ...more,
  });
  await world.put(tenant("tenant:a"), tenant("tenant:b"));
  const rows: readonly (readonly [string, NodeDraft | undefined, boolean, tenant?: string])[] = [
    ["person:active", node("person:active", "active"), false],
    ["person:suspended", node("person:suspended", "suspended"), true],
    ["person:disabled", node("person:disabled", "disabled"), true],
    ["person:elsewhere", node("person:elsewhere", "active", { tenant_id: "tenant:b" }), true, "tenant:b"],
    ["person:another-tenants", node("person:another-tenants", "suspended", { tenant_id: "tenant:b" }), false],
    ["agent:suspended", node("agent:suspended", "suspended", { kind: "AIAgent" }), false],
    ["person:never-known", undefined, false],
    ["service:crud", undefined, false],
  ];
  for (const [, put] of rows) if (put !== undefined) await world.put(put);
  await world.put(tenant("tenant:b", "disabled"));
  for (const [id, , expected, of] of rows) assert.equal(await hasEnded(id, of), expected, id);

  const by = { actor: "person:ada", source: "api", correlationId: "test", tenantId: null, roles: "platform" } as const;
  const drop = (id: string) =>
    world.write(by, async (tx) => {
      const row = (await lockNodes(tx.sql, [id])).get(id);
      assert.ok(row !== undefined);
      await dropNode(tx, wholeGraph, row, false);
      return { value: undefined };
    });
  for (const id of ["person:active", "person:another-tenants", "agent:suspended"]) await drop(id);
  assert.deepEqual([await hasEnded("person:active"), await hasEnded("agent:suspended")], [true, false], "removed");
  assert.equal(await hasEnded("person:another-tenants"), false, "removed by another tenant");
  for (const [what, taken] of [
    ["another tenant's person", { tenant_id: "tenant:b" }],
    ["another tenant's group", { tenant_id: "tenant:b", kind: "Group" }],
    ["a group", { kind: "Group" }],
  ] as const) {
    await world.put(node("person:active", "active", taken));
    assert.equal(await hasEnded("person:active"), true, `the id became ${what}`);
    await drop("person:active");
    assert.equal(await hasEnded("person:active"), true, `the id was ${what}`);
  }
  await world.put(node("person:active", "active"));
  assert.equal(await hasEnded("person:active"), false, "back again");
});

test("while the database is away what was last known counts for five minutes, and of others nothing is known", async () => {
  let isAway = false;
  const clock = { now: 0 };
  const run = async (_statement: unknown, [person]: readonly unknown[]) => {
    if (isAway) throw new Problem("store_unavailable");
    return [{ ended: person === "person:gone" }];
  };
  const hasEnded = createHasEnded({ run: run as Database["run"] }, () => new Date(clock.now));
  const ask = () => Promise.all(["person:here", "person:gone"].map((person) => hasEnded(person, "tenant:a")));
  assert.deepEqual(await ask(), [false, true]);
  isAway = true;
  clock.now = 299_999;
  assert.deepEqual(await ask(), [false, true]);
  await assert.rejects(hasEnded("person:other", "tenant:a"), { code: "store_unavailable" });
  clock.now = 300_000;
  await assert.rejects(hasEnded("person:here", "tenant:a"), { code: "store_unavailable" });
});
