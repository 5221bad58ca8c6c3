import assert from "node:assert/strict";
import { test } from "node:test";
import type { Caller } from "#authn/model/caller.ts";
import { testAudiences, testIdentity } from "#testing/identity.ts";
import { gatherRowScope } from "./row-scope.ts";

for (const [filter, reads] of [
  ["tenant_id IN ('tenant:acme')", ["tenant"]],
  ["tenant_id IN ('tenant:acme') AND owner_id = 'person:ben'", ["tenant", "owner"]],
  ["1=0", []],
] as const)
  test(`of a row the columns that a filter names are read, however many there are: ${filter}`, async () => {
    const names = ["tenant", "owner", ...Array.from({ length: 200 }, (_none, at) => `m${at}`)];
    const columns = new Map(names.map((name) => [name === "tenant" || name === "owner" ? `${name}_id` : name, [name]]));
    const scope = await gatherRowScope(
      { resourceType: "employee", rows: [], columns },
      { sub: "person:ben", tenant: "tenant:acme" } as Caller,
      [],
      {
        membership: async () => Response.json({ tenant_ids: ["tenant:acme"], row_filter_sql: filter, column_mask: { m7: "null" } }),
        membershipAudience: testAudiences.membership,
        identity: testIdentity().identityOf("crud"),
      },
      "c-1",
    );
    const read: string[] = [];
    const values: Readonly<Record<string, string>> = { tenant: "tenant:acme", owner: "person:ben" };
    const row = Object.defineProperties(
      {},
      Object.fromEntries(names.map((name) => [name, { enumerable: true, get: () => (read.push(name), values[name]) }])),
    );
    assert.equal(scope?.keeps(row), filter !== "1=0");
    assert.deepEqual(read, reads);
    assert.deepEqual(scope?.masks, { m7: "null" });
  });
