import { houseRoles } from "#membership/roles/house-roles.ts";
import type { NodeDraft } from "./put-node.ts";
import { seedWorld, type SeedWorld } from "./seed.ts";
import type { WriteGraph } from "./write.ts";

/** Those that serve, and `operator`: the client of whoever runs the house, of no tenant as they are. */
const services = ["gateway", "pdp", "crud", "membership", "secrets", "operator"] as const;

/** This house's own API as tools: `config/systems/sallyport.local.yaml`. */
const LOCAL = "sallyport.local";
const localTools = { [`${LOCAL}.search_identities`]: "Search identities", [`${LOCAL}.shortest_path`]: "Shortest path between two nodes" };

/** The house itself: its services, its roles, and the tools that every house has. They are shared, so that every tenant can see them. */
export const houseWorld: SeedWorld = {
  tenantId: null,
  nodes: [
    ...services.map((name) => ({
      id: `service:${name}`,
      kind: "Service" as const,
      name: `Sallyport ${name}`,
      system: "sallyport",
      tenant_id: null,
      props: { client_id: `service:${name}`, type: "backend" },
    })),
    ...Object.entries(houseRoles).map(([id, description]) => ({
      id,
      kind: "BusinessRole" as const,
      name: id.slice("role:".length),
      system: "sallyport",
      tenant_id: null,
      props: { description },
    })),
    {
      id: "system.health",
      kind: "Tool",
      name: "system.health",
      display_name: "Health of the house",
      system: "sallyport",
      tenant_id: null,
      props: { service_id: "service:crud", title: "Health", annotations: { readOnlyHint: true } },
    },
    {
      id: LOCAL,
      kind: "MCPService",
      name: LOCAL,
      display_name: "This house's own membership",
      system: LOCAL,
      tenant_id: null,
      props: { service_type: "internal", trust: "operator", managed_by: "crud" },
    },
    ...Object.entries(localTools).map(([id, title]): NodeDraft => ({
      id,
      kind: "Tool",
      name: id,
      display_name: title,
      system: LOCAL,
      tenant_id: null,
      props: { service_id: LOCAL, title, annotations: { readOnlyHint: true } },
    })),
  ],
  edges: [
    { kind: "PROVIDES", src: "service:crud", dst: "system.health" },
    ...Object.keys(localTools).map((dst) => ({ kind: "PROVIDES" as const, src: LOCAL, dst })),
  ],
};

/** What stands in every house's graph, put there where it is not. */
export const seedHouse = (write: WriteGraph): Promise<void> =>
  seedWorld(write, houseWorld, {
    actor: "service:membership",
    source: "sync",
    correlationId: "house-nodes",
    reason: "The house itself",
  });
