import {
  dataScopeRule,
  deleteDataScopeRule,
  getDataScopeRule,
  listDataScopeRules,
  putDataScopeRule,
  type DataScopeRule,
} from "#contract/data-scope-rules.ts";
import { Problem } from "#contract/problem.ts";
import { answer } from "#http/serve.ts";
import { statement } from "#store/database.ts";
import type { Asking } from "#membership/context/access.ts";
import { versioned } from "#membership/context/graph-answers.ts";
import { actOn, takeAway, writeAs } from "#membership/graph-edit/write-as.ts";
import { RULE_JSON } from "#membership/graph/sql-data-scope.ts";
import { tenantScopeOf, type TenantScope } from "#membership/graph/tenant-scope.ts";
import { refuseHeld, requireTag, requireTags, tagOf } from "#membership/model/if-match.ts";
import type { MembershipContext } from "#membership/context/context.ts";

interface RuleRow {
  readonly resource_type: string;
  readonly rule: DataScopeRule;
  readonly rev: bigint;
}
const READ = `select r.resource_type, ${RULE_JSON} as rule, r.rev from membership.data_scope_rule r where r.tenant_id = $1`;
const LIST = statement<RuleRow>("membership.rules", `${READ} order by r.resource_type`);
const ONE = statement<RuleRow>("membership.rule", `${READ} and r.resource_type = $2`);
const LOCK = statement<RuleRow>("membership.rule_lock", `${READ} and r.resource_type = $2 for update`);
const PUT = statement<{ rev: bigint }>(
  "membership.rule_put",
  `insert into membership.data_scope_rule (tenant_id, resource_type, tenant_column, own_column, own_groups, masks, rev)
   values ($1, $2, $3, $4, $5, $6::jsonb, nextval('membership.data_scope_rule_rev'))
   on conflict (tenant_id, resource_type) do update set tenant_column = $3, own_column = $4, own_groups = $5, masks = $6::jsonb,
     rev = nextval('membership.data_scope_rule_rev')
   returning rev`,
);
const DROP = statement("membership.rule_drop", "delete from membership.data_scope_rule where tenant_id = $1 and resource_type = $2");
/** Of these ids those that are groups or roles which the tenant has. */
const CIRCLES = statement<{ id: string }>(
  "membership.rule_circles",
  "select id from membership.node where id = any($2) and kind in ('Group', 'BusinessRole') and (tenant_id is null or tenant_id = $1)",
);

const viewOf = ({ resource_type, rule }: Pick<RuleRow, "resource_type" | "rule">) => ({ ...dataScopeRule.parse(rule), resource_type });

/** Rules are a tenant's own. */
const requireTenant = ({ tenant }: TenantScope): string => {
  if (tenant === "*") throw new Problem("tenant_required");
  return tenant;
};

/** Whose rows of a type somebody sees, and which columns: the rules that the information point applies. They hold within the staleness bound. */
export const serveDataScopeRules = (context: MembershipContext): void => {
  const { router, database, pdpClient } = context;
  const requireView = async ({ caller, correlationId }: Asking): Promise<string> => {
    const tenant = requireTenant(tenantScopeOf(caller));
    await pdpClient.require(caller, { type: "graph", action: "diagnose" }, correlationId);
    return tenant;
  };
  const act = actOn(["graph", "edit"], "data_scope_rules");

  router.serve(listDataScopeRules, async (call) => ({ items: (await database.run(LIST, [await requireView(call)])).map(viewOf) }));

  router.serve(getDataScopeRule, async (call) => {
    const [row] = await database.run(ONE, [await requireView(call), call.params.resource_type]);
    if (row === undefined) throw new Problem("not_found");
    return answer(viewOf(row), { headers: { etag: tagOf(row) } });
  });

  router.serve(putDataScopeRule, async (call) => {
    const { resource_type: type } = call.params;
    const { reason, ...rule } = call.body;
    const isNew = call.request.headers.get("if-none-match")?.trim() === "*";
    const tags = isNew ? undefined : requireTags(call.request);
    const { value, version } = await writeAs(context, act(call, "data_scope_rule_put", type, reason), async ({ sql }, scope) => {
      const tenant = requireTenant(scope);
      const [held] = await sql.run(LOCK, [tenant, type]);
      // One that is not there has no tag.
      if (isNew && held !== undefined) refuseHeld(held);
      requireTag(tags, held ?? { rev: 0n });
      const named = [...rule.own_groups, ...rule.masks.flatMap(({ unless_member_of }) => unless_member_of)];
      const known = new Set((await sql.run(CIRCLES, [tenant, named])).map(({ id }) => id));
      const unknown = named.find((id) => !known.has(id));
      if (unknown !== undefined)
        throw new Problem("unprocessable", { errors: [{ path: "/masks", message: `${unknown} is no group or role that is there` }] });
      const { tenant_column, own_column = null, own_groups, masks } = rule;
      const [row] = await sql.run(PUT, [tenant, type, tenant_column, own_column, own_groups, JSON.stringify(masks)]);
      if (row === undefined) throw new Error("a write gives its row");
      return { value: { rev: row.rev, isNew: held === undefined } };
    });
    const headers = { etag: tagOf(value), ...versioned(version) };
    return answer(viewOf({ resource_type: type, rule }), { status: value.isNew ? 201 : 200, headers });
  });

  router.serve(deleteDataScopeRule, async (call) => {
    const { resource_type: type } = call.params;
    const tags = requireTags(call.request);
    return takeAway(context, act(call, "data_scope_rule_dropped", type, call.query.reason), async ({ sql }, scope) => {
      const tenant = requireTenant(scope);
      const [held] = await sql.run(LOCK, [tenant, type]);
      if (held === undefined) throw new Problem("not_found");
      requireTag(tags, held);
      await sql.run(DROP, [tenant, type]);
    });
  });
};
