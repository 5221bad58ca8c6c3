import type { HasEnded } from "#authn/model/claims.ts";
import { statement, type Database } from "#store/database.ts";
import { createKnownReads } from "./shared-reads.ts";

/**
 * A person who was removed is one whom the change log names last; of that the log forgets nothing. What another tenant has or had under
 * this id says nothing of the person, and neither does a node of another kind.
 */
const HAS_ENDED = statement<{ readonly ended: boolean }>(
  "membership.person_ended",
  `select coalesce(
     (select n.state <> 'active' or coalesce(t.state <> 'active', false)
      from membership.node n left join membership.node t on t.id = n.tenant_id
      where n.id = $1 and n.kind = 'Person' and n.tenant_id = $2),
     exists (select from membership.graph_change_op o where o.subject = $1 and o.op = 'drop_node'
       and o.before ->> 'kind' = 'Person' and o.before ->> 'tenant_id' = $2)) as ended`,
);

/** Whether a person may be here no more, for every process; read anew each time. Somebody whom the graph never knew has not ended. */
export const createHasEnded = (database: Pick<Database, "run">, now: () => Date): HasEnded => {
  const read = createKnownReads(async (key) => {
    const [tenant = "", person = ""] = key.split("\n");
    return (await database.run(HAS_ENDED, [person, tenant]))[0]?.ended === true;
  }, now);
  // Neither may hold a line break.
  return (person, tenant) => read(`${tenant}\n${person}`);
};
