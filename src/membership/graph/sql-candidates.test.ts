import assert from "node:assert/strict";
import type { CandidateAsk } from "#contract/facts.ts";
import { forEachDatabase } from "#testing/database.ts";
import { graphModules, graphWorld } from "#testing/membership.ts";
import { readCandidates } from "./sql-candidates.ts";
import { scopeOfTenant, wholeGraph } from "./tenant-scope.ts";

const of = (more: Partial<CandidateAsk>): CandidateAsk => ({ of: "subject", type: "identity", action: "view", limit: 2000, ...more });

forEachDatabase("candidates of a search come in byte order, and no further than the tenant", graphModules, async (_t, database) => {
  await graphWorld(database);
  const list = async (more: Partial<CandidateAsk>, scope = wholeGraph) => (await readCandidates(database, scope, of(more))).value;
  const everybody = await list({});
  assert.deepEqual(
    everybody,
    everybody.toSorted((a, b) => (a < b ? -1 : 1)),
  );
  assert.ok(everybody.includes("person:eve") && everybody.includes("person:ben") && !everybody.includes("group:people-ops"));
  const globex = await list({ tenant_id: "tenant:globex" });
  assert.ok(globex.includes("person:eve") && !globex.includes("person:ben"));
  assert.deepEqual(await list({}, scopeOfTenant("tenant:globex")), globex);
  assert.deepEqual(await list({ type: "spaceship" }), []);

  const paged: string[] = [];
  for (let after: string | undefined; ; after = paged.at(-1)) {
    const page = await list({ limit: 3, ...(after === undefined ? {} : { after }) });
    paged.push(...page);
    if (page.length < 3) break;
  }
  assert.deepEqual(paged, everybody, "three at a time");

  assert.deepEqual(await list({ of: "resource", type: "pages" }), ["my-work", "operations", "people"]);
  assert.ok((await list({ of: "resource", type: "tool", action: "tools/call" })).includes("people.demo.list_employees"));
  assert.ok((await list({ of: "resource", type: "delegations" })).every((id) => id.startsWith("delegation:")));
  assert.ok((await list({ of: "resource", type: "delegations", action: "create" })).every((id) => id.startsWith("agent:")));
  assert.deepEqual(await list({ of: "resource", type: "pages", tenant_id: "tenant:globex" }), []);
});
