/**
 * The words of authorization: every resource type with the actions that may be asked of it. Routes, services and the web
 * client use these and no others; the policies' schema holds the same list (a test compares them).
 */

/**
 * What the pair is asked of: `all` the whole collection (an id is recorded, but means nothing); `node` one thing that must
 * stand in the identity graph; `named` one thing that need not.
 */
type Of = "all" | "node" | "named";

export interface Pair {
  readonly type: string;
  readonly action: string;
  /** `<type>:<action>`, the action in Cedar. */
  readonly key: string;
  readonly of: Of;
  /** Entity type of the resource in Cedar. */
  readonly entity: string;
}

type Row = readonly [type: string, of: Of, entity: string, actions: readonly string[]];

const all = (type: string, ...actions: readonly string[]): Row => [type, "all", "Collection", actions];
const node = (type: string, entity: string, ...actions: readonly string[]): Row => [type, "node", entity, actions];
const named = (type: string, entity: string, ...actions: readonly string[]): Row => [type, "named", entity, actions];

const rows: readonly Row[] = [
  all("pages", "view_all"),
  node("pages", "Page", "view"),
  named("page.widget", "PageWidget", "view"),
  all("tasks", "view_all", "view_summary"),
  named("tasks", "Task", "view", "complete", "delegate"),
  all("workflows", "view_all", "execute_quick", "view_runs", "operate", "signal"),
  node("workflows", "Workflow", "start"),
  all("tools", "view_all"),
  all("agents", "view_all", "control", "suspend"),
  all("delegations", "view_all"),
  node("delegations", "Delegation", "view", "revoke"),
  node("delegations", "DelegateAgent", "create"),
  named("registry", "Registry", "view"),
  all("registry", "edit"),
  named("forms", "Form", "view"),
  named("plugin.route", "PluginRoute", "view"),
  named("plugin.widget", "PluginWidget", "view"),
  all("plugins", "view_all", "manage"),
  all("graph", "diagnose", "edit", "export"),
  all("budgets", "view_team", "view_tenant", "edit"),
  all("system", "view", "edit", "delete", "test"),
  all("config", "read", "write"),
  all("configs", "view_all"),
  all("tool", "approve_definition", "explain"),
  node("tool", "Tool", "tools/call"),
  all("kill_switch", "set"),
  all("resources", "assign_owner"),
  all("rtrs", "assign"),
  all("links", "view", "manage"),
  all("credentials", "view", "manage"),
  all("roles", "assign"),
  all("scim", "manage"),
  all("policybindings", "edit"),
  all("gateway.routes", "explain", "reload"),
  all("outbox", "manage"),
  all("policies", "view", "view_all", "edit", "activate"),
  all("deployment", "reload_config", "edit_systems", "edit_views", "edit_graph", "manage_events"),
  all("audit", "view", "verify"),
  all("sessions", "view_all", "revoke"),
  all("decisions", "view_all"),
  named("decisions", "Decision", "explain"),
  all("activity", "view_all"),
  all("identities", "view_all"),
  node("identities", "Identity", "view"),
  all("streams", "config", "workflow", "activity"),
  all("idplatform", "view", "execute"),
  all("employee", "list", "read_salary", "read_birth_date", "update_salary"),
  named(
    "mcp_server",
    "McpServer",
    "initialize",
    "server/discover",
    "tools/list",
    "resources/list",
    "resources/templates/list",
    "prompts/list",
    "tasks/list",
    "subscriptions/listen",
    "logging/setLevel",
  ),
  all("secrets", "view_all"),
  named(
    "secret",
    "Secret",
    "read_metadata",
    "write",
    "rotate",
    "delete",
    "undelete",
    "read",
    "owner_update",
    "read_audit",
    "destroy_versions",
    "use",
  ),
];

export const pairs: readonly Pair[] = rows.flatMap(([type, of, entity, actions]) =>
  actions.map((action) => ({ type, action, key: `${type}:${action}`, of, entity })),
);

const byKey: ReadonlyMap<string, Pair> = new Map(pairs.map((pair) => [pair.key, pair]));

/** The pair of these two words, if it is one of ours. */
export const pairOf = (type: string, action: string): Pair | undefined => byKey.get(`${type}:${action}`);

/** Tools of Sallyport itself: every instance has them, everybody may call them, and no graph need know them. */
export const builtInTools = {
  health: "system.health",
  find: "system.find_tools",
  runStatus: "workflow.status",
  resumeRun: "workflow.resume",
  cancelRun: "workflow.cancel",
  simulateRun: "workflow.simulate",
} as const;
const builtInToolNames: ReadonlySet<string> = new Set(Object.values(builtInTools));

export const isBuiltInTool = ({ type }: Pick<Pair, "type">, id: string): boolean => type === "tool" && builtInToolNames.has(id);
