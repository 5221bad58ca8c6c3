import { z } from "zod";
import { Problem, type Fault } from "#contract/problem.ts";
import { statement } from "#store/database.ts";
import { putEdge } from "#membership/graph/put-edge.ts";
import { putNode } from "#membership/graph/put-node.ts";
import type { GraphSource, WriteGraph, Written } from "#membership/graph/write.ts";
import { ADMINISTRATOR } from "#membership/roles/house-roles.ts";
import { addLink } from "./links.ts";
import { putPerson } from "./put-person.ts";

/** Who is to be the first administrator of a house, in a tenant of its own. */
export interface FirstAdministrator {
  readonly issuer: string;
  /** The subject as the provider names it. */
  readonly subject: string;
  /** `tenant:name`. */
  readonly tenant: string;
}

const parts = z.strictObject({
  issuer: z.url({ protocol: /^https?$/, error: "must be an issuer's address" }),
  subject: z.string().regex(/^[\x21-\x7e]{1,256}$/, "must be 1 to 256 printable ASCII characters"),
  tenant: z
    .string()
    .regex(/^(?:tenant:)?[a-z0-9-]{1,64}$/, "must be 1 to 64 of a-z 0-9 -")
    .transform((name) => `tenant:${name.replace("tenant:", "")}`),
});

/** As the command and the setting give it: all faults at once. */
export const readFirstAdministrator = (
  given: Readonly<Record<string, unknown>>,
): { readonly first: FirstAdministrator } | { readonly faults: readonly Fault[] } => {
  const read = parts.safeParse(given);
  return read.success
    ? { first: read.data }
    : { faults: read.error.issues.map(({ path, message }) => ({ path: String(path[0]), message })) };
};

const LOCK = statement("membership.first_lock", "select pg_advisory_xact_lock(hashtextextended('membership.first_administrator', 0))");
const TAKEN = statement<{ taken: boolean; tenants: boolean }>(
  "membership.first_taken",
  `select exists (select 1 from membership.first_administrator) as taken,
     exists (select 1 from membership.node where kind = 'Tenant') as tenants`,
);
const REMEMBER = statement("membership.first_remember", "insert into membership.first_administrator (person_id) values ($1)");

export type Appointed = { readonly personId: string } | { readonly refused: string };

/**
 * Makes the tenant, the person with an account, the link and the role, in one version, while there is no tenant; once, for ever after it is
 * refused.
 */
export const appointFirst = async (
  write: WriteGraph,
  { issuer, subject, tenant }: FirstAdministrator,
  by: {
    readonly actor: string;
    readonly source: GraphSource;
    readonly correlationId: string;
    readonly system: string;
    readonly name?: string | undefined;
  },
): Promise<Appointed> => {
  const { system, name = subject, ...writer } = by;
  const version = { ...writer, reason: "The first administrator", tenantId: tenant, roles: "assign" } as const;
  const { value } = await write(version, async (tx): Promise<Written<Appointed>> => {
    await tx.sql.run(LOCK);
    const [state] = await tx.sql.run(TAKEN);
    if (state?.taken !== false) return { value: { refused: "There was a first administrator already: nobody is made one so again." } };
    if (state.tenants)
      return { value: { refused: "There are tenants already: this makes the first administrator of an empty house alone." } };
    await putNode(tx, { id: tenant, kind: "Tenant", name: tenant.slice("tenant:".length), tenant_id: tenant });
    const personId = await putPerson(tx, { tenant, system, subject, name });
    if (personId === undefined) throw new Problem("already_exists", { detail: "Somebody has this person's id already." });
    await putEdge(tx, { kind: "MEMBER_OF", src: personId, dst: ADMINISTRATOR });
    await addLink(tx.sql, { issuer, subject, personId, how: "first", by: by.actor });
    await tx.sql.run(REMEMBER, [personId]);
    return {
      value: { personId },
      entries: () => [
        {
          tenant,
          category: "governance",
          outcome: "ok",
          actor: { subject: by.actor, kind: "system" },
          via: { service: "membership" },
          resource: { type: "identities", id: personId },
          correlationId: by.correlationId,
          data: { op: "first_administrator", issuer },
        },
      ],
    };
  });
  return value;
};
