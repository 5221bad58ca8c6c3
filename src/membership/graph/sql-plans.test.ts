import assert from "node:assert/strict";
import { cleanUp } from "#testing/clean-up.ts";
import { forPostgres } from "#testing/database.ts";
import { graphModules } from "#testing/membership.ts";
import { openPostgres } from "#testing/postgres-database.ts";
import { statement, type Database, type SqlValue, type Statement } from "#store/database.ts";
import { readSpend } from "#membership/delegations/read-ledger.ts";
import { createAgentOfClient } from "./agent-of-client.ts";
import { readMeters } from "./index/meters.ts";
import { readReach } from "./sql-pip.ts";
import { createSqlReader } from "./sql-reader.ts";
import { readCandidates } from "./sql-candidates.ts";
import { scopeOfTenant, wholeGraph } from "./tenant-scope.ts";

/** Persons p, each with an account in a group of their tenant, who delegate to agents x with tools. References are checked nowhere here. */
const FILL = `
set session_replication_role = replica;
insert into membership.node (id, kind, tenant_id, name, state, props, fold, digest)
  select v.id, v.kind, 'tenant:t' || v.n % 50, v.id, v.state, v.props, v.id, v.digest from (
    select 'person:p' || n as id, 'Person' as kind, n, 'active' as state, '{}'::jsonb as props, null as digest from generate_series(0, 9999) n
    union all select 'account:a' || n, 'Account', n, 'active', '{}', null from generate_series(0, 9999) n
    union all select 'group:g' || n, 'Group', n, 'active', '{}', null from generate_series(0, 499) n
    union all select 'tenant:t' || n, 'Tenant', n, 'active', '{}', null from generate_series(0, 49) n
    union all select 'agent:x' || n, 'AIAgent', n, 'active', jsonb_build_object('client_id', 'client' || n), null from generate_series(0, 999) n
    union all select 'resource:r' || n, 'Resource', n, 'active', '{"type": "pages"}', null from generate_series(0, 999) n
    union all select 'tool' || n, 'Tool', n, 'approved', '{}', 'd' from generate_series(0, 499) n) v;
update membership.node set tenant_id = null where kind = 'Tool';
update membership.node set external_id = id where kind = 'Resource';
insert into membership.edge (id, kind, src, dst, discr, tenant_id)
  select 'edge:' || row_number() over (), v.kind, v.src, v.dst, '', 'tenant:t' || v.n % 50 from (
    select 'BELONGS_TO' as kind, 'person:p' || n as src, 'account:a' || n as dst, n from generate_series(0, 9999) n
    union all select 'MEMBER_OF', 'account:a' || n, 'group:g' || n % 500, n from generate_series(0, 9999) n
    union all select 'MEMBER_OF', 'group:g' || n, 'tenant:t' || n % 50, n from generate_series(0, 499) n
    union all select 'GRANTS_ACCESS', 'group:g' || n, 'resource:r' || n, n from generate_series(0, 499) n
    union all select 'HAS_CAPABILITY', 'agent:x' || n, 'tool' || (n + t) % 500, n from generate_series(0, 999) n, generate_series(0, 9) t) v;
insert into membership.edge (id, kind, src, dst, discr, tenant_id)
  select 'delegation:d' || n, 'DELEGATES_TO', 'person:p' || n, 'agent:x' || n % 1000, 'delegation:d' || n, 'tenant:t' || n % 50
  from generate_series(0, 9999) n;
insert into membership.delegation (id, delegator_id, agent_id, tenant_id, path, status, purpose, valid_from, created_by)
  select id, src, dst, tenant_id, array[id], 'active', 'test', now(), src from membership.edge where kind = 'DELEGATES_TO';
insert into membership.meter (delegation_id, limit_micro, limit_steps) select id, 1000, 10 from membership.delegation;
set session_replication_role = origin;
analyze;`;

interface Asked {
  readonly statement: Statement<unknown>;
  readonly values: readonly SqlValue[];
}
/** The same database, noting what is asked of it. */
const listening = (database: Database): { readonly database: Database; readonly asked: Asked[] } => {
  const asked: Asked[] = [];
  const noting =
    (run: Database["run"]): Database["run"] =>
    (wanted, values = []) => {
      asked.push({ statement: wanted, values });
      return run(wanted, values);
    };
  const noted: Database = {
    ...database,
    run: noting(database.run),
    transaction: (work, options) => database.transaction((sql) => work({ ...sql, run: noting(sql.run) }), options),
  };
  return { database: noted, asked };
};

/** Tables that the plan reads from end to end. */
const readWhole = (plan: unknown): readonly string[] => {
  if (typeof plan !== "object" || plan === null) return [];
  const { "Node Type": type, "Relation Name": table } = plan as Record<string, unknown>;
  const here = type === "Seq Scan" && ["node", "edge", "delegation"].includes(String(table)) ? [String(table)] : [];
  return [...here, ...Object.values(plan).flatMap(readWhole)];
};

forPostgres("what decisions wait for, and look-ups by id, read no table from end to end", graphModules, async (t, url) => {
  const server = await openPostgres(url);
  cleanUp(t, () => server[Symbol.asyncDispose]());
  await server.script(FILL);
  const { database, asked } = listening(server);
  const reader = createSqlReader({ database, dataScope: { unknownType: "tenants", refused: () => {} } });
  const pair = { userId: "person:p77", agentId: "agent:x77" };
  const ask = {
    subject_id: pair.userId,
    agent_ids: [pair.agentId],
    action: "tools/call",
    resource: { type: "tool", external_id: "tool77" },
  };
  const page = { ...ask, agent_ids: [], action: "view", resource: { type: "pages", external_id: "resource:r77" } };
  const candidates = { of: "resource", type: "delegations", action: "view", limit: 100, tenant_id: "tenant:t27" } as const;
  for (const scope of [wholeGraph, scopeOfTenant("tenant:t27")]) {
    assert.equal((await reader.capabilities(scope, pair)).value.length, 10);
    assert.equal((await reader.delegations(scope, { ...pair, status: undefined, limit: 50, offset: 0 })).value.length, 1);
    assert.deepEqual((await reader.dataScope(scope, { subjectId: pair.userId, resourceType: "employee" })).value.tenant_ids, [
      "tenant:t27",
    ]);
    await reader.assurance(scope, pair.userId);
    await reader.chain(scope, { ...pair, toolId: "tool77" });
    assert.equal((await reader.facts(scope, [ask, page])).value[0]?.delegation?.active, true);
    await readReach(database, scope, pair);
    assert.equal((await reader.node(scope, pair.userId)).value?.id, pair.userId);
    await reader.edges(scope, { id: pair.userId, direction: "both", limit: 50, skip: 0 });
    await reader.near(scope, { id: pair.userId, hops: 2, types: [], direction: "both", limit: 50 });
    await reader.path(scope, { from: pair.userId, to: "group:g77", maxHops: 3, types: [], directed: true });
    await readCandidates(database, scope, candidates);
    await readSpend(database, scope, pair.userId);
  }
  await readMeters(database, ["delegation:d77"]);
  assert.equal(await createAgentOfClient(database)("client77"), "agent:x77");

  assert.ok(new Set(asked.map((one) => one.statement.name)).size > 12);
  const planOf = async ({ statement: { name, text }, values }: Asked): Promise<unknown> => {
    const [row] = await server.run(statement<{ "QUERY PLAN": unknown }>(`explain.${name}`, `explain (format json) ${text}`), values);
    return row?.["QUERY PLAN"];
  };
  const whole = new Set<string>();
  for (const one of asked) for (const table of readWhole(await planOf(one))) whole.add(`${one.statement.name}: ${table}`);
  assert.deepEqual([...whole], []);
  const all = { statement: statement("test.all", "select count(*) from membership.edge where props = $1"), values: ["{}"] };
  assert.deepEqual(readWhole(await planOf(all)), ["edge"], "one that does is seen");
});
