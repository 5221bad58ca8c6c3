import { Problem } from "#contract/problem.ts";
import { statement, type Database } from "#store/database.ts";
import { createSharedReads } from "./shared-reads.ts";

const AGENT_OF_CLIENT = statement<{ readonly id: string; readonly active: boolean }>(
  "membership.agent_of_client",
  `select n.id, n.state = 'active' as active from membership.node n where n.kind = 'AIAgent' and n.props ->> 'client_id' = $1
   union all
   select $1, false where exists (select from membership.graph_change_op o where o.subject = $1 and o.op = 'drop_node'
     and o.before ->> 'kind' = 'AIAgent' and o.before -> 'props' ->> 'client_id' = $1)
   order by active desc, id limit 2`,
);

/**
 * The agent that an OAuth client is; `undefined`: it is none. An agent that is suspended, or was removed under the id of its client, is
 * named all the same, and may then do nothing: without a name its client would pass for the person. More than one that is active is `identity_rejected`. Each request of a client asks
 * it, so those that ask at once share a read.
 */
export const createAgentOfClient = (database: Pick<Database, "run">): ((clientId: string) => Promise<string | undefined>) => {
  const read = createSharedReads(async (clientId) => {
    const [agent, other] = await database.run(AGENT_OF_CLIENT, [clientId]);
    if (other?.active === true) throw new Problem("identity_rejected", { detail: "More than one agent is this client." });
    return agent?.id;
  });
  return async (clientId) => (clientId.includes("\u0000") ? undefined : read(clientId));
};
