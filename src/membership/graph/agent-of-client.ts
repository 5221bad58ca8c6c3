import { Problem } from "#contract/problem.ts";
import { statement, type Database } from "#store/database.ts";

const AGENT_OF_CLIENT = statement<{ readonly id: string; readonly active: boolean }>(
  "membership.agent_of_client",
  `select n.id, n.state = 'active' as active from membership.node n where n.kind = 'AIAgent' and n.props ->> 'client_id' = $1
   order by active desc, n.id limit 2`,
);

type Agent = Promise<string | undefined>;

/**
 * The agent that an OAuth client is; `undefined`: it is none. An agent that is suspended is named all the same, and may then do nothing:
 * without a name its client would pass for the person. More than one that is active is `identity_rejected`. Each request of a client asks it,
 * so those that ask while it is being read share the next read: one that begins after all of them, and is as true for each
 * as one of its own.
 */
export const createAgentOfClient = (database: Pick<Database, "run">): ((clientId: string) => Agent) => {
  const underWay = new Map<string, { readonly agent: Agent; next?: Agent }>();
  const read = async (clientId: string): Agent => {
    const [agent, other] = await database.run(AGENT_OF_CLIENT, [clientId]);
    if (other?.active === true) throw new Problem("identity_rejected", { detail: "More than one agent is this client." });
    return agent?.id;
  };
  const begin = (clientId: string): Agent => {
    const reading: { readonly agent: Agent; next?: Agent } = { agent: read(clientId) };
    underWay.set(clientId, reading);
    const end = (): void => {
      if (underWay.get(clientId) === reading) underWay.delete(clientId);
    };
    reading.agent.then(end, end);
    return reading.agent;
  };
  return async (clientId) => {
    if (clientId.includes("\u0000")) return undefined;
    const reading = underWay.get(clientId);
    if (reading === undefined) return begin(clientId);
    const after = (): Agent => begin(clientId);
    reading.next ??= reading.agent.then(after, after);
    return reading.next;
  };
};
