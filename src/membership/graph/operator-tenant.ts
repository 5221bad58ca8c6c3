import { statement, type Sql } from "#store/database.ts";

/** SQL: the operator's tenant, null while there is none. `role:platform` counts for its nodes alone. */
export const OPERATOR_TENANT = "(select o.tenant_id from membership.operator_tenant o)";

const FIND = statement<{ tenant_id: string }>("membership.operator_tenant", "select tenant_id from membership.operator_tenant");

/** `undefined`: there is none yet. */
export const findOperatorTenant = async (sql: Sql): Promise<string | undefined> => (await sql.run(FIND))[0]?.tenant_id;

const SETTLE = statement<{ tenant_id: string }>(
  "membership.operator_tenant_settle",
  `with made as (insert into membership.operator_tenant (tenant_id) values ($1) on conflict (one) do nothing returning tenant_id)
   select tenant_id from made union all select tenant_id from membership.operator_tenant limit 1`,
);

/** Makes this the operator's tenant unless there is one; the operator's tenant as it is then. */
export const settleOperatorTenant = async (sql: Sql, tenant: string): Promise<string | undefined> =>
  (await sql.run(SETTLE, [tenant]))[0]?.tenant_id;
