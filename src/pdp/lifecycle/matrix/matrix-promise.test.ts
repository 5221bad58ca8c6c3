import assert from "node:assert/strict";
import { readFile } from "node:fs/promises";
import { test } from "node:test";
import { deploymentActs } from "#pdp-client/deployment-acts.ts";
import { builtInTools } from "#pdp-client/pairs.ts";
import { matrixFile } from "#testing/decision-matrix.ts";

/**
 * What the demo world is said to allow, written by hand: `matrix.txt` is drawn from the policies and follows whatever they say.
 * Rows, and their cells: ada ben cleo dan eve, then (`---` unless written) ben+hr ben+rep cleo+rep.
 */
type Promised = readonly [rows: readonly string[], persons: string, agents?: string];

const of = (type: string, ...rest: readonly string[]): string[] => rest.map((one) => `${type}:${one}`);
const secrets = (uri: string, ...actions: readonly string[]): string[] => actions.map((action) => `secret:${action} yaml://secret/${uri}`);
const strong = (rows: readonly string[]): string[] => rows.map((row) => `${row} +mfa`);
/** Called, and shown in the list. */
const tool = (name: string, persons: string, agents?: string, listed = persons): Promised[] => [
  [[`tool:tools/call ${name}`], persons, agents],
  [[`tool:tools/list ${name}`], listed, agents?.replaceAll("S", "Y")],
];

const ownId = (method: string): string => `${method} own id`;

const byAdmin = ["delete", "undelete", "read", "owner_update", "read_audit"];
const bySteward = ["read_metadata", "write", "rotate"];
const byAdminSteppedUp = ["destroy_versions"];

const deployments = deploymentActs.map(({ type, action }) => `${type}:${action}`);

const promised: readonly Promised[] = [
  [["pages:view_all", "tasks:view_all", "tasks:view_summary"], "YYY-Y"],
  [of("pages", "view people", "view my-work"), "YYY--"],
  [["pages:view operations"], "YRR--"],
  [of("page.widget", "view people:grid:employees", "view my-work:action:delegate"), "YYY--"],
  [["page.widget:view people:action:offboard"], "-Y---"],
  [["page.widget:view operations:grid:runs"], "Y----"],
  [["workflows:view_all", "tools:view_all", "agents:view_all", "delegations:view_all"], "YYY--"],
  [["registry:view mcp:people", "forms:view onboarding", "plugin.route:view acme.hello", "plugin.widget:view acme.hello:Hello"], "YYY--"],
  [["workflows:execute_quick", "graph:diagnose", "budgets:view_team"], "YY---"],
  [of("tasks", "view an approval", "complete an approval", "delegate an approval"), "YYY--"],
  [of("tasks", "view another kind", "complete another kind", "delegate another kind"), "-----"],
  [of("tasks", "view another kind, assigned", "complete another kind, assigned", "delegate another kind, assigned"), "YYYYY"],
  [of("workflows", "view_runs", "operate", "signal"), "Y----"],
  [["plugins:view_all", "registry:edit", ...of("system", "view", "edit", "delete", "test")], "Y----"],
  [["config:read", "config:write", "configs:view_all", "tool:approve_definition", "kill_switch:set"], "Y----"],
  [["tool:approve_definition of a system of their own"], "YYYYY"],
  [["agents:control", "agents:suspend", "graph:edit", "graph:export", "resources:assign_owner", "rtrs:assign"], "Y----"],
  [["roles:assign", "scim:manage", "links:manage", "credentials:manage"], "S----"],
  [["roles:assign +mfa", "scim:manage +mfa", "links:manage +mfa", "credentials:manage +mfa"], "Y----"],
  [["links:view", "credentials:view"], "Y----"],
  [["policybindings:edit", "gateway.routes:explain", "outbox:manage", ...of("policies", "view", "view_all")], "Y----"],
  [deployments, "S----"],
  [strong(deployments), "Y----"],
  [[...of("audit", "view", "verify"), ...of("sessions", "view_all", "revoke")], "Y----"],
  [["decisions:view_all", "activity:view_all", "tool:explain", "budgets:view_tenant", "budgets:edit"], "Y----"],
  [["identities:view_all"], "YYY-Y"],
  [of("identities", "view person:ben", "view agent:reporter"), "YYY--"],
  [["identities:view person:dan"], "YYYY-"],
  [["identities:view person:eve"], "----Y"],
  [["delegations:view delegation:ben-hr", "delegations:revoke delegation:ben-hr", "decisions:explain of ben"], "YY---"],
  [["delegations:view delegation:cleo-rep", "delegations:revoke delegation:cleo-rep"], "Y-Y--"],
  [of("decisions", "explain of cleo", "explain of cleo through the reporter"), "Y-Y--"],
  [["delegations:create agent:hr-assistant"], "-Y---"],
  [["delegations:create agent:reporter"], "--Y--"],
  [["streams:config"], "YYYYY"],
  [["streams:workflow", "streams:activity"], "YYY-Y"],
  [["idplatform:view"], "YY---"],
  [["idplatform:execute"], "-Y---"],
  ...Object.values(builtInTools).flatMap((name) => tool(name, "YYYYY", "YYY")),
  ...tool("people.demo.list_employees", "-YY-Y", "Y-Y"),
  ...tool("people.demo.get_employee", "-Y---", "Y--"),
  ...tool("people.demo.update_salary", "-S---", "S--", "-Y---"),
  [["tool:tools/call people.demo.update_salary +mfa"], "-Y---", "Y--"],
  [["employee:list"], "-YY-Y", "Y-Y"],
  [["employee:read_salary", "employee:update_salary to 150000"], "-Y---", "Y--"],
  [["employee:read_birth_date"], "-Y---"],
  [of("employee", "update_salary to 150001", "update_salary not stated"), "-R---", "R--"],
  ...tool("sallyport.local.search_identities", "YYY-Y"),
  ...tool("sallyport.local.shortest_path", "YY---"),
  ...tool("memory.demo.read_graph", "YY---"),
  ...tool("workflow.grant_access", "YY---"),
  ...tool("workflow.offboard", "-Y---"),
  [["workflows:start grant_access"], "YY---"],
  [["workflows:start offboard"], "-Y---"],
  [
    of(
      "mcp_server",
      ...["initialize", "server/discover", "tools/list", "resources/list", "resources/templates/list", "prompts/list"].map(ownId),
      ...["tasks/list", "subscriptions/listen", "logging/setLevel"].map(ownId),
    ),
    "YYYYY",
    "YYY",
  ],
  [["secrets:view_all", ...secrets("people/demo", ...bySteward)], "YY---"],
  [secrets("people/demo", ...byAdmin), "Y----"],
  [secrets("people/demo", ...byAdminSteppedUp), "S----"],
  [strong(secrets("people/demo", ...byAdminSteppedUp)), "Y----"],
  // One that nobody is steward of.
  [secrets("else/where", ...bySteward, ...byAdmin), "Y----"],
  [secrets("else/where", ...byAdminSteppedUp), "S----"],
  [strong(secrets("else/where", ...byAdminSteppedUp)), "Y----"],
  [[...secrets("people/demo", "use"), ...secrets("else/where", "use")], "-----"],
];

/** Where an administrator of another tenant is answered otherwise than ada, who runs the deployment and keeps her tenant's security. */
const otherwise: readonly (readonly [rows: readonly string[], cell: string])[] = [
  [[...deployments, ...strong(deployments), "policies:view_all", "gateway.routes:explain"], "-"],
  [["decisions:view_all", "activity:view_all", "budgets:view_tenant", "budgets:edit"], "-"],
  [of("decisions", "explain of ben", "explain of cleo", "explain of cleo through the reporter"), "-"],
  [of("delegations", ...["view", "revoke"].flatMap((act) => [`${act} delegation:ben-hr`, `${act} delegation:cleo-rep`])), "-"],
  [of("identities", "view person:ben", "view person:dan", "view agent:reporter"), "-"],
  [["identities:view person:eve"], "Y"],
  [of("pages", "view people", "view my-work", "view operations"), "-"],
  [of("page.widget", "view people:grid:employees", "view my-work:action:delegate", "view operations:grid:runs"), "-"],
  [of("tool", ...["tools/call", "tools/list"].flatMap((act) => [`${act} memory.demo.read_graph`, `${act} workflow.grant_access`])), "-"],
  [["workflows:start grant_access"], "-"],
];

test("each cell of matrix.txt is what the demo world promises, and no row is without a promise", async () => {
  const lines = (await readFile(matrixFile, "utf8")).split("\n").slice(3, -1);
  const drawn = new Map(
    lines.map((line) => line.split(" |").map((cell) => cell.trim())).map(([name = "", ...cells]) => [name, cells.slice(0, 9).join("")]),
  );
  const others = new Map(otherwise.flatMap(([rows, cell]) => rows.map((row) => [row, cell] as const)));
  const wanted = new Map(
    promised.flatMap(([rows, persons, agents = "---"]) =>
      rows.map((row): [string, string] => [row, persons + agents + (others.get(row) ?? persons.slice(0, 1))]),
    ),
  );
  const inOrder = (cells: ReadonlyMap<string, string>) => [...cells].map(([row, said]) => `${said} ${row}`).toSorted();
  assert.deepEqual(inOrder(drawn), inOrder(wanted));
});
