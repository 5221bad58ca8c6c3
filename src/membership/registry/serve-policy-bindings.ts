import {
  createPolicyBinding,
  deletePolicyBinding,
  getPolicyBinding,
  listPolicyBindings,
  putPolicyBinding,
  type PolicyBinding,
} from "#contract/policy-bindings.ts";
import { Problem } from "#contract/problem.ts";
import { answer } from "#http/serve.ts";
import { statement, type Sql } from "#store/database.ts";
import { requireView, type Asking } from "#membership/context/access.ts";
import { draftOfRow, isSeen, requireOwnNode, tenantOfWriter } from "#membership/graph-edit/edits.ts";
import { versioned } from "#membership/context/graph-answers.ts";
import { actOn, takeAway, writeAs } from "#membership/graph-edit/write-as.ts";
import { writeOnce } from "#membership/graph-edit/write-once.ts";
import { dropNode } from "#membership/graph/drop-node.ts";
import { shortHash } from "#membership/graph/foreign-id.ts";
import type { NodeKind } from "#membership/model/kinds.ts";
import { lockNodes, putNode } from "#membership/graph/put-node.ts";
import { putEdge } from "#membership/graph/put-edge.ts";
import { sentAs } from "#membership/graph/row-refusal.ts";
import { unexpired } from "#membership/graph/sql-parts.ts";
import { visible, type TenantScope } from "#membership/graph/tenant-scope.ts";
import type { GraphTransaction } from "#membership/graph/write.ts";
import { requireKeyedCall } from "#membership/context/idempotency.ts";
import { requireTag, requireTags, tagOf } from "#membership/model/if-match.ts";
import type { MembershipContext } from "#membership/context/context.ts";

/** What is called: a POLICY_REF may begin elsewhere too, but no question of a call goes there. */
const bound: readonly NodeKind[] = ["MCPService", "Tool", "MCPResource", "MCPPrompt"];

type Terms = Pick<PolicyBinding, "action" | "priority" | "enabled" | "params">;
interface BindingRow {
  readonly id: string;
  readonly target_id: string;
  readonly policy_id: string;
  readonly props: Terms;
  readonly rev: bigint;
}

/** $2 id, $3 target, $4 policy, $5 only those that take part when the target is called. */
const LIST = statement<BindingRow>(
  "membership.policy_bindings",
  `select b.id, t.src as target_id, p.dst as policy_id, b.props, b.rev from membership.node b
     join membership.edge t on t.dst = b.id and t.kind = 'POLICY_REF' and ${unexpired("t")}
     join membership.node n on n.id = t.src and ${visible("n")}
     join membership.edge p on p.src = b.id and p.kind = 'POLICY_REF' and ${unexpired("p")}
   where b.kind = 'MCPPolicyBinding' and ${visible("b")} and ($2::text is null or b.id = $2) and ($4::text is null or p.dst = $4)
     and ($3::text is null or t.src = $3 or ($5::boolean and t.src in (
       select s.src from membership.edge s where s.dst = $3 and s.kind = 'PROVIDES' and ${unexpired("s")})))
     and (not $5::boolean or (b.state = 'active' and (b.props ->> 'enabled')::boolean))
   order by (b.props ->> 'priority')::int, b.id limit $6 offset $7`,
);
const viewOf = ({ rev: _rev, props, ...row }: BindingRow): PolicyBinding => ({ ...row, ...props });
const headersOf = (row: BindingRow): Record<string, string> => ({ etag: tagOf(row) });

const requireBinding = async (sql: Sql, scope: TenantScope, id: string): Promise<BindingRow> => {
  const [row] = await sql.run(LIST, [scope.tenant, id, null, null, false, 1, 0]);
  if (row === undefined) throw new Problem("not_found");
  return row;
};

/** Which policies are bound to what is called. Each binding is a node between its target and its policy. */
export const servePolicyBindings = (context: MembershipContext): void => {
  const { router, database } = context;
  const act = actOn(["policybindings", "edit"], "policybindings");
  const requireLook = (call: Asking, id: string): Promise<TenantScope> =>
    requireView(context, call, { type: "registry", action: "view", id });

  router.serve(createPolicyBinding, async (call) => {
    const { target_id, policy_id, reason, ...props } = call.body;
    const key = requireKeyedCall(call.request, call.caller, call.body);
    const bind = async (tx: GraphTransaction, scope: TenantScope): Promise<BindingRow> => {
      const tenantId = tenantOfWriter(scope);
      if (tenantId === null) throw new Problem("tenant_required");
      // What it binds is in its id: the database keeps a second one out.
      const id = `binding:${shortHash(tenantId, target_id, policy_id, props.action)}`;
      const held = await lockNodes(tx.sql, [id, target_id]);
      if (held.has(id)) throw new Problem("already_exists", { detail: `${id} binds it already.` });
      const target = held.get(target_id);
      if (target !== undefined && isSeen(scope, target) && !bound.includes(target.kind)) {
        const message = `is a ${target.kind}; policies are bound to ${bound.join(", ")}`;
        throw new Problem("edge_not_allowed", { errors: [{ path: "/target_id", message }] });
      }
      await putNode(tx, { id, kind: "MCPPolicyBinding", name: policy_id, tenant_id: tenantId, props }, scope);
      await putEdge(tx, { kind: "POLICY_REF", src: target_id, dst: id }, scope, sentAs({ src: "target_id" }));
      await putEdge(tx, { kind: "POLICY_REF", src: id, dst: policy_id }, scope, sentAs({ dst: "policy_id", kind: "policy_id" }));
      return requireBinding(tx.sql, scope, id);
    };
    const asked = act(call, "policy_bound", `${target_id} ${policy_id}`, reason);
    return writeOnce(context, asked, { key, shownAs: (row) => ({ status: 201, headers: headersOf(row) }) }, bind, viewOf);
  });

  router.serve(listPolicyBindings, async (call) => {
    const { target_id = null, policy_id = null, effective, limit, skip } = call.query;
    const scope = await requireLook(call, "policy-bindings");
    const rows = await database.run(LIST, [scope.tenant, null, target_id, policy_id, effective === "true", limit + 1, skip]);
    return { items: rows.slice(0, limit).map(viewOf), limit, skip, has_more: rows.length > limit };
  });

  router.serve(getPolicyBinding, async (call) => {
    const { binding_id: id } = call.params;
    const row = await requireBinding(database, await requireLook(call, id), id);
    return answer(viewOf(row), { headers: headersOf(row) });
  });

  router.serve(putPolicyBinding, async (call) => {
    const tags = requireTags(call.request);
    const { binding_id: id } = call.params;
    const { reason, ...terms } = call.body;
    const { value, version } = await writeAs(context, act(call, "policy_binding_changed", id, reason), async (tx, scope) => {
      const { props: held } = await requireBinding(tx.sql, scope, id);
      const node = await requireOwnNode(tx.sql, scope, id);
      requireTag(tags, node);
      await putNode(tx, { ...draftOfRow(node), props: { action: held.action, ...terms } }, scope);
      return { value: await requireBinding(tx.sql, scope, id) };
    });
    return answer(viewOf(value), { headers: { ...headersOf(value), ...versioned(version) } });
  });

  router.serve(deletePolicyBinding, async (call) => {
    const tags = requireTags(call.request);
    const { binding_id: id } = call.params;
    return takeAway(context, act(call, "policy_unbound", id, call.query.reason), async (tx, scope) => {
      await requireBinding(tx.sql, scope, id);
      const node = await requireOwnNode(tx.sql, scope, id);
      requireTag(tags, node);
      await dropNode(tx, scope, node, true);
    });
  });
};
