import type { Database } from "#store/database.ts";
import type { Log } from "#telemetry/log.ts";
import { lostKey } from "#membership/graph/role-watch.ts";
import { anybody, readHolders, type SignInWays } from "#membership/graph/remaining-holders.ts";

/**
 * Tells of tenants whose holders of a role that must not be lost cannot sign in: a setting changes who can, and no write is asked for it.
 * Cost: two statements.
 */
export const reportLockedOut = async (database: Pick<Database, "run">, signIns: SignInWays, log: Log): Promise<void> => {
  const able = new Set((await readHolders(database, signIns, null)).map(lostKey));
  for (const { tenant, role } of await readHolders(database, anybody, null))
    if (!able.has(lostKey({ tenant, role }))) log.warn("no_holder_can_sign_in", { tenant, role });
};
