import { statement, type Sql } from "#store/database.ts";
import { ADMINISTRATOR, builtInRoles, PLATFORM } from "#membership/graph/built-in-roles.ts";
import { OPERATOR_TENANT } from "#membership/graph/operator-tenant.ts";
import { holdsThere, marked } from "#membership/graph/role-watch.ts";
import { putEdge } from "#membership/graph/put-edge.ts";
import type { NodeDraft } from "#membership/graph/put-node.ts";
import { SEED_LOCK, seedWorld, type SeedWorld } from "./seed.ts";
import type { WriteGraph } from "#membership/graph/write.ts";

/** Those that serve, and `operator`: the client of the operator, of no tenant as they are. */
const services = ["gateway", "pdp", "crud", "membership", "secrets", "operator"] as const;

/** This deployment's own API as tools: `config/systems/sallyport.local.yaml`. */
const LOCAL = "sallyport.local";
const localTools = { [`${LOCAL}.search_identities`]: "Search identities", [`${LOCAL}.shortest_path`]: "Shortest path between two nodes" };

/** Sallyport itself: its services, its roles, and the tools that every instance has. They are shared, so that every tenant can see them. */
export const builtInWorld: SeedWorld = {
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
    ...Object.entries(builtInRoles).map(([id, description]) => ({
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
      display_name: "Health of Sallyport",
      system: "sallyport",
      tenant_id: null,
      props: { service_id: "service:crud", title: "Health", annotations: { readOnlyHint: true } },
    },
    {
      id: LOCAL,
      kind: "MCPService",
      name: LOCAL,
      display_name: "This deployment's own membership",
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

const NEVER_GIVEN = "not exists (select 1 from membership.graph_change_op o where o.dst = $1)";
const FIRST = statement<{ id: string }>(
  "membership.platform_first",
  `select f.person_id as id from membership.first_administrator f where ${NEVER_GIVEN}`,
);
/** Administrators of the operator's tenant by an edge of their own: persons, and groups that nobody fills from outside. */
const DIRECT = statement<{ id: string; kind: string }>(
  "membership.platform_heirs",
  `select n.id, n.kind from membership.edge e
   join membership.node n on n.id = e.src and n.state = 'active' and n.tenant_id = ${OPERATOR_TENANT}
   where e.kind = 'MEMBER_OF' and e.dst = $2 and e.expires_at is null and (n.kind = 'Person' or (n.kind = 'Group' and not ${marked}))
     and ${NEVER_GIVEN} order by n.id`,
);

/**
 * Who gets the role where nobody ever had it: the first administrator, if an administrator by any way; else the persons who are by an edge of
 * their own; else the groups.
 */
const heirsOf = async (sql: Sql): Promise<readonly string[]> => {
  const [first] = await sql.run(FIRST, [PLATFORM]);
  if (first !== undefined && (await holdsThere(sql, first.id, ADMINISTRATOR))) return [first.id];
  const direct = await sql.run(DIRECT, [PLATFORM, ADMINISTRATOR]);
  const persons = direct.filter(({ kind }) => kind === "Person");
  return (persons.length > 0 ? persons : direct).map(({ id }) => id);
};

/** What stands in every instance's graph, put there where it is not. */
export const seedBuiltIns = async (write: WriteGraph): Promise<void> => {
  const by = { actor: "service:membership", source: "sync", correlationId: "built-in-nodes", reason: "Sallyport itself" } as const;
  await seedWorld(write, builtInWorld, by);
  await write({ ...by, reason: "Who runs the deployment", tenantId: null, roles: "platform" }, async (tx) => {
    await tx.sql.run(SEED_LOCK);
    for (const src of await heirsOf(tx.sql)) await putEdge(tx, { kind: "MEMBER_OF", src, dst: PLATFORM });
    return { value: undefined };
  });
};
