import { MOST_AFFECTED, type AffectedCapability } from "#contract/registry.ts";
import { statement, type Sql } from "#store/database.ts";
import { live, unexpired } from "#membership/graph/sql-parts.ts";
import { visible, type TenantScope } from "#membership/graph/tenant-scope.ts";

/** $2 tools, $3 the digest that each would have, null where it goes. What a delegation above gives no more, none below it gives. */
const AFFECTED = statement<AffectedCapability>(
  "membership.registry_affected",
  `select distinct d.id as delegation_id, r.delegator_id as user_id, d.agent_id, t.id as tool_id
   from unnest($2::text[], $3::text[]) w(id, digest)
   join membership.node t on t.id = w.id and t.kind = 'Tool' and t.state = 'approved' and ${visible("t")}
   join membership.edge c on c.dst = t.id and c.kind = 'HAS_CAPABILITY' and ${unexpired("c")} and (c.digest is null or c.digest = t.digest)
   join membership.delegation p on p.agent_id = c.src and ${visible("p")}
   join membership.delegation d on d.path @> array[p.id] and ${visible("d")} and ${live("d")} and (d.capabilities is null or t.id = any(d.capabilities))
   join membership.delegation r on r.id = d.path[1]
   where w.digest is null or c.digest <> w.digest
   order by t.id, d.id limit ${MOST_AFFECTED + 1}`,
);

/** Live delegations, of those that the scope sees, that give a tool now and would not were it so. */
export const readAffected = async (
  sql: Sql,
  scope: TenantScope,
  tools: readonly { readonly tool_id: string; readonly definition_digest: string | null }[],
): Promise<{ readonly affected: AffectedCapability[]; readonly truncated: boolean }> => {
  const rows = await sql.run(AFFECTED, [scope.tenant, tools.map(({ tool_id: id }) => id), tools.map((tool) => tool.definition_digest)]);
  return { affected: rows.slice(0, MOST_AFFECTED), truncated: rows.length > MOST_AFFECTED };
};
