import type { HasEnded } from "#authn/model/claims.ts";
import { statement, type Database } from "#store/database.ts";
import { createKnownReads } from "./shared-reads.ts";

/** A person who was removed is one whom the change log names last; of that the log forgets nothing. */
const HAS_ENDED = statement<{ readonly ended: boolean }>(
  "membership.person_ended",
  `select coalesce(
     (select n.kind = 'Person' and (n.state <> 'active' or coalesce(t.state <> 'active', false))
      from membership.node n left join membership.node t on t.id = n.tenant_id where n.id = $1),
     exists (select from membership.graph_change_op o where o.subject = $1 and o.op = 'drop_node' and o.before ->> 'kind' = 'Person')) as ended`,
);

/** Whether a person may be here no more, for every process; read anew each time. Somebody whom the graph never knew has not ended. */
export const createHasEnded = (database: Pick<Database, "run">, now: () => Date): HasEnded =>
  createKnownReads(async (person) => (await database.run(HAS_ENDED, [person]))[0]?.ended === true, now);
