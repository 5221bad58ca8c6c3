import { statement, type Database } from "#store/database.ts";

const TENANTS = statement<{ id: string }>("membership.tenants", "select id from membership.node where kind = 'Tenant' order by id");

/** Every tenant of Sallyport, by id. */
export const readTenantIds = async (database: Database): Promise<readonly string[]> => (await database.run(TENANTS)).map(({ id }) => id);
