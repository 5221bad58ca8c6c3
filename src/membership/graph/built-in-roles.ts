/** Roles of Sallyport: what the shipped policies speak of. They are shared and read-only; a holder has one in its own tenant alone. */
export const builtInRoles = {
  "role:platform":
    "The deployment's own acts: policies, routes, shared nodes, systems of several tenants; counts in the operator's tenant alone",
  "role:administrator": "Runs Sallyport: configuration, systems, the graph, policies, agents, secrets, sessions, and who has which role",
  "role:security": "Sees and explains every decision and act of the tenant, and keeps its budgets",
  "role:auditor": "Reads the audit log and every decision and act of the tenant, and changes nothing",
  "role:operator": "Everyday operation: starts workflows, asks the graph, sees the team's budgets, looks after secrets granted to it",
  "role:member": "Staff: pages and tasks, tools and agents of the tenant, delegating to agents of one's own",
} as const;

export const ADMINISTRATOR: keyof typeof builtInRoles = "role:administrator";
export const PLATFORM: keyof typeof builtInRoles = "role:platform";
