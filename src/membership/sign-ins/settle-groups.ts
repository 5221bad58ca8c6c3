import { statement } from "#store/database.ts";
import type { LinkedPerson } from "#authn/model/claims.ts";
import { Problem } from "#contract/problem.ts";
import type { EntryDraft } from "#events/audit/entry.ts";
import { doneEntry } from "#membership/delegations/acts.ts";
import { dropEdges, EDGE, type KeptEdge } from "#membership/graph/drop-edge.ts";
import { edgeIdOf, putEdge } from "#membership/graph/put-edge.ts";
import { scopeOfTenant } from "#membership/graph/tenant-scope.ts";
import type { GraphTransaction, WriteBy } from "#membership/graph/write.ts";
import type { MembershipContext } from "#membership/context/context.ts";

const CLAIMED = statement<KeptEdge>(
  "membership.claimed_of",
  `select ${EDGE} from membership.edge e join membership.claimed_membership c on c.edge_id = e.id
   where e.src = $1 and ($2::text is null or e.dst = $2) order by e.id`,
);
/** Groups of the tenant that the person is in by no edge of its own, ended ones included: somebody made those. */
const ABSENT = statement<{ id: string }>(
  "membership.claimed_absent",
  `select n.id from membership.node n where n.id = any($2) and n.kind = 'Group' and n.tenant_id = $3
     and not exists (select 1 from membership.edge e where e.kind = 'MEMBER_OF' and e.src = $1 and e.dst = n.id) order by n.id`,
);
const MARK = statement("membership.claimed_mark", "insert into membership.claimed_membership (edge_id) values ($1)");

/** What a sign-in changed of who somebody is. */
export const signInEntry = (
  person: LinkedPerson,
  by: Pick<WriteBy, "correlationId">,
  data: Readonly<Record<string, unknown>> & { readonly op: string },
): EntryDraft =>
  doneEntry({
    tenant: person.tenant,
    category: "governance",
    actor: { subject: person.id, kind: "person" },
    resource: { type: "identities", id: person.id },
    correlationId: by.correlationId,
    data,
  });

/** What a claim may not do: it is left as it is, and the sign-in goes on. */
const isRefusal = (error: unknown): error is Problem =>
  error instanceof Problem && (error.code === "access_denied" || error.code === "last_administrator");

/**
 * The person is in these groups, and by claims in no other. What somebody else made stays as it is. Each group is a version of its own: one
 * that leads to a role and is not marked for it keeps no other from the person. Cost: two statements where nothing changes.
 */
export const settleGroups = async (
  { database, write, log }: Pick<MembershipContext, "database" | "write" | "log">,
  by: WriteBy,
  person: LinkedPerson,
  groups: ReadonlySet<string>,
): Promise<void> => {
  const scope = scopeOfTenant(person.tenant);
  const leave = async (tx: GraphTransaction, group: string): Promise<boolean> => {
    const edges = await tx.sql.run(CLAIMED, [person.id, group]);
    if (edges.length > 0) await dropEdges(tx, scope, edges);
    return edges.length > 0;
  };
  const join = async (tx: GraphTransaction, group: string): Promise<boolean> => {
    if ((await tx.sql.run(ABSENT, [person.id, [group], person.tenant])).length === 0) return false;
    await putEdge(tx, { kind: "MEMBER_OF", src: person.id, dst: group }, scope);
    await tx.sql.run(MARK, [edgeIdOf("MEMBER_OF", person.id, group, "")]);
    return true;
  };
  const settle = async (op: "group_joined" | "group_left", group: string): Promise<void> => {
    try {
      await write({ ...by, roles: "directory" }, async (tx) => {
        const isDone = await (op === "group_left" ? leave : join)(tx, group);
        return { value: undefined, entries: () => (isDone ? [signInEntry(person, by, { op, group })] : []) };
      });
    } catch (error) {
      if (!isRefusal(error)) throw error;
      log.warn("groups_claim_refused", { op, group, code: error.code, correlation_id: by.correlationId });
    }
  };
  const gone = (await database.run(CLAIMED, [person.id, null])).filter(({ dst }) => !groups.has(dst));
  const absent = await database.run(ABSENT, [person.id, [...groups], person.tenant]);
  for (const { id } of absent) await settle("group_joined", id);
  for (const { dst } of gone) await settle("group_left", dst);
};
