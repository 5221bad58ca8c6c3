import { statement, type Database } from "#store/database.ts";

const AGENT_OF_CLIENT = statement<{ id: string }>(
  "membership.agent_of_client",
  "select n.id from membership.node n where n.kind = 'AIAgent' and n.props ->> 'client_id' = $1 and n.state = 'active' order by n.id limit 2",
);

/** The agent that an OAuth client is. `undefined`: it is none, or more than one claims it. */
export const createAgentOfClient =
  (database: Database): ((clientId: string) => Promise<string | undefined>) =>
  async (clientId) => {
    if (clientId.includes("\u0000")) return undefined;
    const agents = await database.run(AGENT_OF_CLIENT, [clientId]);
    return agents.length === 1 ? agents[0]?.id : undefined;
  };
