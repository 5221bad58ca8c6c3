import type { SeedWorld } from "./seed.ts";

const services = ["gateway", "pdp", "crud", "membership", "secrets"] as const;

/** The house itself: its services, and the one tool that every house has. They are shared, so that every tenant can see who serves it. */
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
    {
      id: "system.health",
      kind: "Tool",
      name: "system.health",
      display_name: "Health of the house",
      system: "sallyport",
      tenant_id: null,
      props: { service_id: "service:crud", title: "Health", annotations: { readOnlyHint: true } },
    },
  ],
  edges: [{ kind: "PROVIDES", src: "service:crud", dst: "system.health" }],
};
