import { z } from "zod";
import { isTlsOrLoopback } from "#contract/loopback.ts";
import { Problem, type Issue } from "#contract/problem.ts";
import { issuesOf } from "#contract/shape-issues.ts";
import { statement, type Database } from "#store/database.ts";
import { doneEntry } from "#membership/delegations/acts.ts";
import { dropEdges, lockEdge } from "#membership/graph/drop-edge.ts";
import { foreignId } from "#membership/graph/foreign-id.ts";
import { putEdge } from "#membership/graph/put-edge.ts";
import { lockNodes, putNode } from "#membership/graph/put-node.ts";
import { wholeGraph } from "#membership/graph/tenant-scope.ts";
import type { GraphSource, GraphTransaction, WriteGraph, Written } from "#membership/graph/write.ts";
import { ADMINISTRATOR, PLATFORM } from "#membership/graph/built-in-roles.ts";
import { settleOperatorTenant } from "#membership/graph/operator-tenant.ts";
import { addLink, findLinked } from "./links.ts";
import { putPerson } from "./put-person.ts";

/** Who is to be the first administrator of an instance, in a tenant of its own. */
export interface FirstAdministrator {
  readonly issuer: string;
  /** The subject as the provider names it. */
  readonly subject: string;
  /** `tenant:name`. */
  readonly tenant: string;
}

const parts = z.strictObject({
  issuer: z
    .url({ protocol: /^https?$/, error: "must be an issuer's address" })
    .refine(isTlsOrLoopback, "must be https unless on loopback: nobody signs in at another (OIDC_ISSUER)"),
  subject: z.string().regex(/^[\x21-\x7e]{1,256}$/, "must be 1 to 256 printable ASCII characters"),
  tenant: z
    .string()
    .regex(/^(?:tenant:)?[a-z0-9-]{1,64}$/, "must be 1 to 64 of a-z 0-9 -")
    .transform((name) => `tenant:${name.replace("tenant:", "")}`),
});

/** As the command and the setting give it: all issues at once. */
export const readFirstAdministrator = (
  given: Readonly<Record<string, unknown>>,
): { readonly first: FirstAdministrator } | { readonly issues: readonly Issue[] } => {
  const read = parts.safeParse(given);
  return read.success
    ? { first: read.data }
    : { issues: issuesOf(read.error).map(({ path, message }) => ({ path: path.slice(1), message })) };
};

/** Why nobody could sign in as the administrator: the provider is told apart by its address, character by character. */
export const otherIssuer = (issuer: string, configured: string | undefined): string | undefined =>
  configured === undefined || configured === issuer
    ? undefined
    : `${issuer} is not the provider of this deployment, OIDC_ISSUER: ${configured}. Name it exactly so.`;

const LOCK = statement("membership.first_lock", "select pg_advisory_xact_lock(hashtextextended('membership.first_administrator', 0))");
const TENANTS = statement<{ found: boolean }>(
  "membership.first_tenants",
  "select exists (select 1 from membership.node where kind = 'Tenant') as found",
);
/** The first administrator that there was. `counts`: they have signed in, or somebody else may do all that they could. */
const PAST = statement<{ person_id: string; counts: boolean }>(
  "membership.first_past",
  `select f.person_id, f.signed_in_at is not null or exists (
     select 1 from membership.edge where kind = 'MEMBER_OF' and dst = $1 and src <> f.person_id) as counts
   from membership.first_administrator f`,
);
const REMEMBER = statement(
  "membership.first_remember",
  "insert into membership.first_administrator (person_id) values ($1) on conflict (one) do update set person_id = $1, at = now()",
);
const UNLINK = statement("membership.first_unlink", "delete from membership.identity_link where person_id = $1");
const SIGNED_IN = statement(
  "membership.first_signed_in",
  "update membership.first_administrator set signed_in_at = now() where person_id = $1 and signed_in_at is null",
);

/** Remembers that the first administrator has signed in, if it is they: nobody is put in their place from then on. */
export const noteSignIn = async (sql: Pick<Database, "run">, personId: string): Promise<void> => {
  await sql.run(SIGNED_IN, [personId]);
};

/** `instead`: whose place it was. `mayTryAgain`: who was appointed never came, and another may be. */
export type Appointed =
  | { readonly personId: string; readonly instead?: string }
  | { readonly refused: string; readonly mayTryAgain?: boolean };

interface By {
  readonly actor: string;
  readonly source: GraphSource;
  readonly correlationId: string;
  readonly system: string;
  readonly name?: string | undefined;
  /** Puts another in the place of one who has never signed in, while nobody else is administrator. */
  readonly again?: boolean | undefined;
}

/** Who has the subject's id in the tenant already: one that was made at a sign-in, or the one who was appointed before. */
const personHeld = async (tx: GraphTransaction, { subject, tenant }: FirstAdministrator, system: string): Promise<string | undefined> => {
  const id = foreignId("person", system, subject);
  const held = (await lockNodes(tx.sql, [id])).get(id);
  return held?.kind === "Person" && held.tenant_id === tenant ? id : undefined;
};

/** The person whom the subject becomes; `past`: who was appointed before, and whom it may be. */
const settle = async (tx: GraphTransaction, first: FirstAdministrator, by: By, past: string | undefined): Promise<string> => {
  const { subject, tenant } = first;
  const again = past === undefined ? undefined : ((await findLinked(tx.sql, first))?.id ?? (await personHeld(tx, first, by.system)));
  const personId = again ?? (await putPerson(tx, { tenant, system: by.system, subject, name: by.name ?? subject }));
  if (personId === undefined) throw new Problem("already_exists", { detail: "Somebody has this person's id already." });
  return personId;
};

/** Takes the link of who was appointed before; and the roles, where it is another now. */
const takeBack = async (tx: GraphTransaction, past: string, personId: string): Promise<void> => {
  await tx.sql.run(UNLINK, [past]);
  for (const dst of past === personId ? [] : [ADMINISTRATOR, PLATFORM]) {
    const edge = await lockEdge(tx.sql, wholeGraph, { kind: "MEMBER_OF", src: past, dst, discr: "" });
    if (edge !== undefined) await dropEdges(tx, wholeGraph, [edge]);
  }
};

const REFUSED = {
  tenants: "There are tenants already: this makes the first administrator of an empty instance alone.",
  again: "There was a first administrator already: nobody is made one so again.",
};

/**
 * Makes the tenant, the person with an account, the link and the role, in one version, while there is no tenant; once, for ever after it is
 * refused. `again` puts another in the place of one who never came.
 */
export const appointFirst = async (write: WriteGraph, first: FirstAdministrator, by: By): Promise<Appointed> => {
  const { issuer, subject, tenant } = first;
  const { actor, source, correlationId } = by;
  const version = { actor, source, correlationId, reason: "The first administrator", tenantId: tenant, roles: "platform" } as const;
  const { value } = await write(version, async (tx): Promise<Written<Appointed>> => {
    await tx.sql.run(LOCK);
    const [past] = await tx.sql.run(PAST, [ADMINISTRATOR]);
    if (past?.counts === true) return { value: { refused: REFUSED.again } };
    if (past !== undefined && by.again !== true) return { value: { refused: REFUSED.again, mayTryAgain: true } };
    if (past === undefined) {
      if ((await tx.sql.run(TENANTS))[0]?.found !== false) return { value: { refused: REFUSED.tenants } };
      await putNode(tx, { id: tenant, kind: "Tenant", name: tenant.slice("tenant:".length), tenant_id: tenant });
    } else if ((await lockNodes(tx.sql, [tenant])).get(tenant)?.kind !== "Tenant")
      return { value: { refused: `There is no ${tenant}: name the tenant that was made.` } };
    const personId = await settle(tx, first, by, past?.person_id);
    if (past !== undefined) await takeBack(tx, past.person_id, personId);
    await settleOperatorTenant(tx.sql, tenant);
    for (const dst of [ADMINISTRATOR, PLATFORM]) await putEdge(tx, { kind: "MEMBER_OF", src: personId, dst });
    await addLink(tx.sql, { issuer, subject, personId, how: "first", by: actor });
    await tx.sql.run(REMEMBER, [personId]);
    return {
      value: { personId, ...(past === undefined ? {} : { instead: past.person_id }) },
      entries: () => [
        doneEntry({
          tenant,
          category: "governance",
          actor: { subject: actor, kind: "system" },
          resource: { type: "identities", id: personId },
          correlationId,
          data: { op: "first_administrator", issuer },
        }),
      ],
    };
  });
  return value;
};
