import type { FindClient, RegisteredClient } from "#authn/exchange/registered-clients.ts";
import { statement, type Database } from "#store/database.ts";
import { createSharedReads } from "#membership/graph/shared-reads.ts";

interface ClientRow {
  readonly kind: "AIAgent" | "Service";
  readonly tenant: string;
  readonly scopes: readonly string[];
  readonly digests: readonly string[];
}

const FIND = statement<ClientRow>(
  "membership.client_find",
  `select n.kind, n.tenant_id as tenant, min(c.scopes) as scopes, array_agg(c.secret_sha256) as digests
   from membership.client_credential c join membership.node n on n.id = c.client_id and n.state = 'active'
     left join membership.node t on t.id = n.tenant_id
   where c.client_id = $1 and c.expires_at > now() and coalesce(t.state, 'active') = 'active' group by n.id`,
);

/** Clients by their credentials, for every process that has a token endpoint; read anew each time, so that an ended one counts no more. */
export const createFindClient = (database: Pick<Database, "run">): FindClient => {
  const read = createSharedReads(async (clientId): Promise<RegisteredClient | undefined> => {
    const [row] = await database.run(FIND, [clientId]);
    if (row === undefined) return undefined;
    const { kind, tenant, scopes, digests } = row;
    return { clientId, kind: kind === "AIAgent" ? "agent" : "service", tenant, scopes, digests };
  });
  return async (clientId) => (clientId.includes("\u0000") ? undefined : read(clientId));
};
