import { builtInTools } from "#pdp-client/pairs.ts";
import assert from "node:assert/strict";
import { test } from "node:test";
import { deploymentActs } from "#pdp-client/deployment-acts.ts";
import { internalAsk, vouchesNothing } from "#pdp/model/ask.ts";
import { readBundle } from "#pdp/bundle/bundle.ts";
import { readPolicyFolder } from "#pdp/bundle/policy-files.ts";
import { createCedar } from "#pdp/decision/cedar.ts";
import type { Verdict } from "#pdp/engine/decision-point.ts";
import { createEngine } from "#pdp/engine/engine.ts";
import { createMetrics } from "#telemetry/metrics.ts";
import { testDatabase } from "#testing/database.ts";
import { policyFolder } from "#testing/decision-matrix.ts";
import { graphModules, graphWorld } from "#testing/membership.ts";
import { readerFacts } from "#testing/pdp.ts";
import { matrixRows, nameOf } from "./matrix.ts";
import { matrixDecisionFacts, matrixDecisions } from "./matrix-facts.ts";

const roles = ["platform", "administrator", "security", "auditor", "operator", "member", "none"] as const;
/** The operator's, and another. */
const tenants = ["acme", "globex"] as const;

const of = (type: string, ...actions: readonly string[]): string[] => actions.map((action) => `${type}:${action}`);
const both = (...names: readonly string[]): string[] => names.flatMap((name) => [`tool:tools/call ${name}`, `tool:tools/list ${name}`]);
const ofSecrets = (...actions: readonly string[]): string[] =>
  actions.flatMap((action) => ["people/demo", "else/where"].map((path) => `secret:${action} yaml://secret/${path}`));
const deployments = deploymentActs.map(({ type, action }) => `${type}:${action}`);
const methods = ["initialize", "server/discover", "tools/list", "resources/list", "resources/templates/list", "prompts/list"];
const tasks = ["view", "complete", "delegate"];

/**
 * What somebody with one role and no grant is answered: platform, administrator, security, auditor, operator, member, none, in the
 * operator's tenant, then in another one. Y permitted, S after a strong sign-in, R after an approval, - denied. No pair is left out.
 */
const expected: readonly (readonly [rows: readonly string[], operators: string, other: string])[] = [
  [deployments, "S------", "-------"],
  [["policies:view_all", "gateway.routes:explain"], "Y------", "-------"],
  [["policies:view"], "YY-----", "-Y-----"],
  [["workflows:view_runs", "workflows:operate", "workflows:signal", "plugins:view_all"], "-Y-----", "-Y-----"],
  [["registry:edit", "graph:edit", "graph:export", ...of("system", "view", "edit", "delete", "test")], "-Y-----", "-Y-----"],
  [["config:read", "config:write", "configs:view_all", "tool:approve_definition", "kill_switch:set"], "-Y-----", "-Y-----"],
  [["agents:control", "agents:suspend", "resources:assign_owner", "rtrs:assign", "policybindings:edit"], "-Y-----", "-Y-----"],
  [["links:view", "credentials:view", "outbox:manage", "sessions:view_all", "sessions:revoke"], "-Y-----", "-Y-----"],
  [["links:manage", "credentials:manage", "roles:assign", "scim:manage"], "-S-----", "-S-----"],
  [["audit:view", "audit:verify"], "-Y-Y---", "-Y-Y---"],
  [["decisions:view_all", "activity:view_all"], "--YY---", "--YY---"],
  [["budgets:view_tenant", "budgets:edit"], "--Y----", "--Y----"],
  [["tool:explain"], "-YY----", "-YY----"],
  [["workflows:execute_quick", "graph:diagnose", "budgets:view_team", "idplatform:view", "secrets:view_all"], "-Y--Y--", "-Y--Y--"],
  [both("sallyport.local.shortest_path"), "-Y--Y--", "-Y--Y--"],
  [["idplatform:execute"], "----Y--", "----Y--"],
  [["pages:view_all", "tasks:view_all", "tasks:view_summary", ...tasks.map((act) => `tasks:${act} an approval`)], "-Y---Y-", "-Y---Y-"],
  [["workflows:view_all", "tools:view_all", "agents:view_all", "delegations:view_all", "identities:view_all"], "-Y---Y-", "-Y---Y-"],
  [["registry:view mcp:people", "forms:view onboarding", "plugin.route:view acme.hello"], "-Y---Y-", "-Y---Y-"],
  [["plugin.widget:view acme.hello:Hello", "streams:workflow", "streams:activity"], "-Y---Y-", "-Y---Y-"],
  [both("sallyport.local.search_identities"), "-Y---Y-", "-Y---Y-"],
  [
    ["streams:config", ...both(...Object.values(builtInTools)), ...tasks.map((act) => `tasks:${act} another kind, assigned`)],
    "YYYYYYY",
    "YYYYYYY",
  ],
  [["tool:approve_definition of a system of their own"], "YYYYYYY", "YYYYYYY"],
  [
    [...methods, "tasks/list", "subscriptions/listen", "logging/setLevel"].map((method) => `mcp_server:${method} own id`),
    "YYYYYYY",
    "YYYYYYY",
  ],
  [ofSecrets("read_metadata", "write", "rotate", "delete", "undelete", "read", "owner_update", "read_audit"), "-Y-----", "-Y-----"],
  [ofSecrets("destroy_versions"), "-S-----", "-S-----"],
  // Things of the operator's tenant, and of the other one.
  [of("pages", "view people", "view my-work", "view operations"), "-R---R-", "-------"],
  [of("identities", "view person:ben", "view person:dan", "view agent:reporter"), "-Y---Y-", "-------"],
  [["identities:view person:eve"], "-------", "-Y---Y-"],
  [
    of("delegations", ...["view", "revoke"].flatMap((act) => [`${act} delegation:ben-hr`, `${act} delegation:cleo-rep`])),
    "-Y-----",
    "-------",
  ],
  [of("decisions", "explain of ben", "explain of cleo", "explain of cleo through the reporter"), "--YY---", "-------"],
  // What a grant, a control, a group or the tool server itself is needed for.
  [tasks.map((act) => `tasks:${act} another kind`), "-------", "-------"],
  [["page.widget:view people:grid:employees", "page.widget:view people:action:offboard"], "-------", "-------"],
  [["page.widget:view my-work:action:delegate", "page.widget:view operations:grid:runs"], "-------", "-------"],
  [
    ["workflows:start grant_access", "workflows:start offboard", ...both("workflow.grant_access", "workflow.offboard")],
    "-------",
    "-------",
  ],
  [of("delegations", "create agent:hr-assistant", "create agent:reporter"), "-------", "-------"],
  [
    both("people.demo.list_employees", "people.demo.get_employee", "people.demo.update_salary", "memory.demo.read_graph"),
    "-------",
    "-------",
  ],
  [of("employee", "list", "read_salary", "read_birth_date"), "-------", "-------"],
  [of("employee", "update_salary to 150000", "update_salary to 150001", "update_salary not stated"), "-------", "-------"],
  [ofSecrets("use"), "-------", "-------"],
];

const cellOf = (plain: Verdict | undefined, strong: Verdict | undefined): string => {
  if (plain?.decision === true) return strong?.decision === true ? "Y" : "a sign-in takes it away";
  return strong?.decision === true ? "S" : plain?.requestable === true ? "R" : "-";
};

test("every pair is answered to every role, in the operator's tenant and in another, as one table says", async (t) => {
  const world = await graphWorld(await testDatabase(t, graphModules));
  for (const tenant of tenants)
    for (const role of roles) {
      const [person, account, own] = [`person:${role}-${tenant}`, `account:${role}@${tenant}`, `tenant:${tenant}`];
      const props = { login: role, system: "directory" };
      await world.put({ id: person, kind: "Person", name: role, tenant_id: own });
      await world.put({ id: account, kind: "Account", name: role, tenant_id: own, props });
      await world.put({ kind: "BELONGS_TO", src: person, dst: account }, { kind: "MEMBER_OF", src: account, dst: own });
      // No writer leads another tenant's person to role:platform: it counts for nothing even where it stands.
      if (role !== "none")
        await world.sql(
          `insert into membership.edge (id, kind, src, dst) values ('edge:${person}', 'MEMBER_OF', '${person}', 'role:${role}')`,
        );
    }
  const engine = createEngine(readBundle(await readPolicyFolder(policyFolder)));
  const now = () => new Date();
  const decisionPoint = createCedar({
    engines: { current: () => ({ version: "v1", epoch: 1n, engine }) },
    facts: readerFacts(world),
    decisions: matrixDecisionFacts,
    metrics: createMetrics(),
    now,
  });
  const found: string[] = [];
  for (const row of matrixRows(matrixDecisions)) {
    const asks = tenants.flatMap((tenant) =>
      roles.flatMap((role) =>
        [{}, { acr: "strong" as const, authTime: Math.floor(now().getTime() / 1000) }].map((assurance) =>
          internalAsk({
            pep: row.could === true ? "service:crud" : "service:gateway",
            bound: "*",
            subject: { type: "identity", id: `person:${role}-${tenant}`, tenant: `tenant:${tenant}` },
            agents: [],
            action: row.action,
            resource: { type: row.type, id: row.id },
            assurance,
            vouched: { ...vouchesNothing, could: row.could === true, toolsScope: true, assigned: row.assigned === true },
            props: row.props ?? {},
            claimed: row.claimed ?? {},
          }),
        ),
      ),
    );
    const { verdicts } = await decisionPoint.evaluateMany(asks, "execute_all");
    const cells = asks.flatMap((_ask, at) => (at % 2 === 0 ? [cellOf(verdicts[at], verdicts[at + 1])] : []));
    found.push(`${cells.slice(0, roles.length).join("")} ${cells.slice(roles.length).join("")} ${nameOf(row)}`);
  }
  const wanted = expected.flatMap(([rows, operators, other]) => rows.map((row) => `${operators} ${other} ${row}`));
  assert.deepEqual(found.toSorted(), wanted.toSorted());
});
