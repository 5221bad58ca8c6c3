import type { Change } from "#events/changes/change.ts";
import type { Metrics } from "#telemetry/metrics.ts";
import type { NewDelegation } from "#membership/delegations/put-delegation.ts";
import type { DataScopeRule } from "#contract/data-scope-rules.ts";
import type { EdgeDraft } from "#membership/graph/put-edge.ts";
import type { NodeDraft } from "#membership/graph/put-node.ts";
import { seedWorld, type SeedWorld } from "#membership/seed/seed.ts";
import { createWriteGraph } from "#membership/graph/write.ts";

/** The demo world: two tenants, five persons, two agents, and what lies between them. Ids are fixed; tests rely on them. */

const ACME = "tenant:acme";
const GLOBEX = "tenant:globex";

const PEOPLE_TOOLS = ["people.demo.list_employees", "people.demo.get_employee", "people.demo.update_salary"] as const;
const MEMORY_TOOLS = [
  "create_entities",
  "create_relations",
  "add_observations",
  "delete_entities",
  "delete_observations",
  "delete_relations",
  "read_graph",
  "search_nodes",
  "open_nodes",
].map((name) => `memory.demo.${name}`);
const SECRET = "resource:acme.secret.people.demo";
/** Who may start them is decided here. */
const WORKFLOWS = { grant_access: "Grant access", offboard: "Offboard" } as const;
type Workflow = keyof typeof WORKFLOWS;

const edge = (kind: EdgeDraft["kind"], src: string, dst: string, props?: EdgeDraft["props"]): EdgeDraft => ({
  kind,
  src,
  dst,
  ...(props === undefined ? {} : { props }),
});
const grants = (src: string, targets: readonly string[]): EdgeDraft[] => targets.map((dst) => edge("GRANTS_ACCESS", src, dst));

const tool = (id: string, service: string, tenant: string | null, title: string, props: Readonly<Record<string, unknown>>): NodeDraft => ({
  id,
  kind: "Tool",
  name: id,
  display_name: title,
  system: service,
  tenant_id: tenant,
  props: { service_id: service, title, ...props },
});
const service = (id: string, type: "mcp" | "internal" | "external", tenant: string | null, name: string): NodeDraft => ({
  id,
  kind: "MCPService",
  name: id,
  display_name: name,
  system: id,
  tenant_id: tenant,
  props: { service_type: type, trust: "operator", managed_by: "crud" },
});
/** What the tools of the people directory hide, as `config/demo/systems/people.demo.yaml` says it. */
export const employeeRows = {
  resource_type: "employee",
  masks: [
    { column: "salary", kind: "null", unless_allowed: "read_salary" },
    { column: "birth_date", kind: "year", unless_allowed: "read_birth_date" },
  ],
} as const;
const reads = { annotations: { readOnlyHint: true } };
const writes = { annotations: { readOnlyHint: false } };

const shared: SeedWorld = {
  tenantId: null,
  nodes: [
    service("people.demo", "external", null, "People directory"),
    {
      id: "saas:people",
      kind: "SaaSApp",
      name: "People directory",
      system: "people.demo",
      tenant_id: null,
      props: { audience: "https://people.demo", scopes: ["people.read", "people.write"] },
    },
    tool(PEOPLE_TOOLS[0], "people.demo", null, "List employees", { ...employeeRows, ...reads }),
    tool(PEOPLE_TOOLS[1], "people.demo", null, "Get one employee", { ...employeeRows, ...reads }),
    tool(PEOPLE_TOOLS[2], "people.demo", null, "Change a salary", { ...employeeRows, mfa: true, ...writes }),
  ],
  edges: [
    ...PEOPLE_TOOLS.map((id) => edge("PROVIDES", "people.demo", id)),
    edge("REQUIRES", PEOPLE_TOOLS[0], "saas:people", { scopes: ["people.read"] }),
    edge("REQUIRES", PEOPLE_TOOLS[1], "saas:people", { scopes: ["people.read"] }),
    edge("REQUIRES", PEOPLE_TOOLS[2], "saas:people", { scopes: ["people.read", "people.write"] }),
  ],
};

const tenant = (id: string, name: string): NodeDraft => ({ id, kind: "Tenant", name, tenant_id: id, props: {} });
const group = (id: string, name: string, tenantId: string): NodeDraft => ({
  id,
  kind: "Group",
  name,
  system: "directory",
  tenant_id: tenantId,
  props: {},
});

/** A person, its account, and the group that the account is in. */
const person = (
  login: string,
  names: readonly [given: string, family: string],
  tenantId: string,
  groupId: string,
): { nodes: NodeDraft[]; edges: EdgeDraft[] } => {
  const company = tenantId.slice("tenant:".length);
  const account = `account:${login}@${company}`;
  return {
    nodes: [
      {
        id: `person:${login}`,
        kind: "Person",
        name: names.join(" "),
        system: "directory",
        tenant_id: tenantId,
        props: { email: `${login}@${company}.example`, given_name: names[0], family_name: names[1], mfa_level: "none" },
      },
      {
        id: account,
        kind: "Account",
        name: `${login}@${company}`,
        system: "directory",
        tenant_id: tenantId,
        props: { login, system: "directory" },
      },
    ],
    edges: [edge("BELONGS_TO", `person:${login}`, account), edge("MEMBER_OF", account, groupId)],
  };
};
const agent = (id: string, name: string): NodeDraft => ({
  id,
  kind: "AIAgent",
  name,
  system: "sallyport",
  tenant_id: ACME,
  props: { client_id: id },
});
const resource = (id: string, type: string, externalId: string, name: string, more: Readonly<Record<string, unknown>> = {}): NodeDraft => ({
  id,
  kind: "Resource",
  name,
  system: "sallyport",
  external_id: externalId,
  tenant_id: ACME,
  props: { type, ...more },
});
const page = (id: string, name: string): NodeDraft => resource(`resource:acme.pages.${id}`, "pages", id, name);
const widget = (pageId: string, rest: string, name: string, restricted = false): NodeDraft =>
  resource(`resource:acme.widget.${pageId}.${rest.replaceAll(":", ".")}`, "page.widget", `${pageId}:${rest}`, name, {
    restricted,
    attributes: { page: pageId },
  });

/** A workflow, and the tool that starts it: two nodes, granted to the same groups. */
const workflow = (name: Workflow): NodeDraft[] => [
  resource(`resource:acme.workflows.${name}`, "workflows", name, WORKFLOWS[name]),
  {
    id: `workflow.${name}`,
    kind: "Tool",
    name: `workflow.${name}`,
    display_name: `Start ${name}`,
    system: "sallyport",
    tenant_id: ACME,
    props: { title: `Start ${name}`, description: `Starts the workflow ${name}.` },
  },
];
const starting = (...names: readonly Workflow[]): string[] =>
  names.flatMap((name) => [`resource:acme.workflows.${name}`, `workflow.${name}`]);

const acmePersons = [
  person("ada", ["Ada", "Admin"], ACME, "group:platform-admins"),
  person("ben", ["Ben", "Baker"], ACME, "group:people-ops"),
  person("cleo", ["Cleo", "Chen"], ACME, "group:analysts"),
  person("dan", ["Dan", "Diaz"], ACME, "group:contractors"),
];
const acmeGroups: readonly (readonly [id: string, name: string])[] = [
  ["group:platform-admins", "Platform administrators"],
  ["group:people-ops", "People operations"],
  ["group:analysts", "Analysts"],
  ["group:contractors", "Contractors"],
];
const everyday = ["resource:acme.pages.people", "resource:acme.pages.my-work"];

/** Salaries are hidden and birth dates cut to the year for everybody outside the named group. */
const employees = (group: readonly string[]): Partial<DataScopeRule> => ({
  masks: [
    { column: "salary", kind: "null", unless_member_of: [...group] },
    { column: "birth_date", kind: "year", unless_member_of: [...group] },
  ],
});

const DAY_MS = 86_400_000;

const delegations = (now: Date): readonly NewDelegation[] => {
  const ends = new Date(now.getTime() + 30 * DAY_MS);
  const base = { validFrom: null, expiresAt: ends };
  return [
    {
      ...base,
      id: "delegation:ben-hr",
      delegatorId: "person:ben",
      agentId: "agent:hr-assistant",
      capabilities: PEOPLE_TOOLS,
      limitMicro: 5_000_000n,
      limitSteps: 50,
      purpose: "Look after employee records",
      createdBy: "person:ben",
    },
    {
      ...base,
      id: "delegation:cleo-rep",
      delegatorId: "person:cleo",
      agentId: "agent:reporter",
      capabilities: [PEOPLE_TOOLS[0]],
      limitMicro: 100_000n,
      limitSteps: 5,
      purpose: "Count employees for the monthly report",
      createdBy: "person:cleo",
    },
    {
      ...base,
      id: "delegation:ben-old",
      delegatorId: "person:ben",
      agentId: "agent:reporter",
      capabilities: [PEOPLE_TOOLS[0]],
      limitMicro: 1_000_000n,
      limitSteps: 10,
      purpose: "Last quarter's headcount",
      createdBy: "person:ben",
      ended: { at: now, reason: "The quarter is closed" },
    },
  ];
};

const acme = (now: Date): SeedWorld => ({
  tenantId: ACME,
  isOperators: true,
  nodes: [
    tenant(ACME, "Acme"),
    ...acmeGroups.map(([id, name]) => group(id, name, ACME)),
    ...acmePersons.flatMap(({ nodes }) => nodes),
    agent("agent:hr-assistant", "HR assistant"),
    agent("agent:reporter", "Reporter"),
    service("memory.demo", "mcp", ACME, "Memory"),
    ...MEMORY_TOOLS.map((id) => tool(id, "memory.demo", ACME, id.slice("memory.demo.".length).replaceAll("_", " "), {})),
    page("people", "People"),
    page("my-work", "My work"),
    page("operations", "Operations"),
    widget("people", "grid:employees", "Employees"),
    widget("people", "action:offboard", "Offboard", true),
    widget("my-work", "action:delegate", "Delegate"),
    widget("operations", "grid:runs", "Runs"),
    ...workflow("grant_access"),
    ...workflow("offboard"),
    resource(SECRET, "secret", "yaml://secret/people/demo", "Key of the people directory", { sensitivity: "high" }),
  ],
  edges: [
    ...acmeGroups.map(([id]) => edge("MEMBER_OF", id, ACME)),
    edge("MEMBER_OF", "group:platform-admins", "role:administrator"),
    edge("MEMBER_OF", "group:platform-admins", "role:platform"),
    edge("MEMBER_OF", "group:platform-admins", "role:security"),
    edge("MEMBER_OF", "group:people-ops", "role:member"),
    edge("MEMBER_OF", "group:people-ops", "role:operator"),
    edge("MEMBER_OF", "group:analysts", "role:member"),
    ...acmePersons.flatMap(({ edges }) => edges),
    ...MEMORY_TOOLS.map((id) => edge("PROVIDES", "memory.demo", id)),
    edge("CONTROLLED_BY", "agent:hr-assistant", "person:ben", { level: "primary" }),
    edge("CONTROLLED_BY", "agent:reporter", "person:cleo", { level: "primary" }),
    ...[...PEOPLE_TOOLS, "sallyport.local.search_identities"].map((id) =>
      edge("HAS_CAPABILITY", "agent:hr-assistant", id, { granted_by: "person:ben" }),
    ),
    edge("HAS_CAPABILITY", "agent:reporter", PEOPLE_TOOLS[0], { granted_by: "person:cleo" }),
    ...grants("group:platform-admins", [
      ...everyday,
      "resource:acme.pages.operations",
      ...MEMORY_TOOLS,
      ...starting("grant_access"),
      SECRET,
    ]),
    ...grants("group:people-ops", [
      ...everyday,
      ...PEOPLE_TOOLS,
      ...MEMORY_TOOLS,
      ...starting("grant_access", "offboard"),
      SECRET,
      "resource:acme.widget.people.action.offboard",
    ]),
    ...grants("group:analysts", [...everyday, PEOPLE_TOOLS[0]]),
    edge("OWNS_RESOURCE", "person:ada", "resource:acme.pages.operations", { level: "primary" }),
  ],
  delegations: delegations(now),
  rules: { employee: employees(["group:people-ops"]) },
});

const eve = person("eve", ["Eve", "Evans"], GLOBEX, "group:globex-staff");
const globex: SeedWorld = {
  tenantId: GLOBEX,
  nodes: [tenant(GLOBEX, "Globex"), group("group:globex-staff", "Staff", GLOBEX), ...eve.nodes],
  edges: [edge("MEMBER_OF", "group:globex-staff", GLOBEX), ...eve.edges, ...grants("group:globex-staff", [PEOPLE_TOOLS[0]])],
  rules: { employee: employees([]) },
};

/**
 * Puts the demo world into the graph at every start: what somebody changed or took away stays as it is; what this version of
 * Sallyport adds or says otherwise comes to an older folder.
 */
export const seedDemo = async (parts: { readonly change: Change; readonly metrics: Metrics; readonly now: () => Date }): Promise<void> => {
  const write = createWriteGraph(parts);
  for (const world of [shared, acme(parts.now()), globex])
    await seedWorld(write, world, { actor: "service:membership", source: "demo", correlationId: "demo-world" });
};
