import { pageOf } from "#authn/sealing/sealed-cursors.ts";
import type { ReplyOf } from "#contract/endpoint.ts";
import { listRoleHolders } from "#contract/roles.ts";
import { statement } from "#store/database.ts";
import { unexpired } from "#membership/graph/sql-parts.ts";
import { requireView } from "#membership/context/access.ts";
import { PLATFORM } from "#membership/graph/built-in-roles.ts";
import { OPERATOR_TENANT } from "#membership/graph/operator-tenant.ts";
import { marked } from "#membership/graph/role-watch.ts";
import type { MembershipContext } from "#membership/context/context.ts";

type HolderRow = ReplyOf<typeof listRoleHolders>["items"][number];

/**
 * Every way from somebody to a role, the account on it being no holder of its own; edges that have ended are no way. `way` stands for the
 * nodes on it, shorter ways first: all their ids may be too long for a cursor.
 */
const HOLDERS = statement<HolderRow & { readonly way: string }>(
  "membership.role_holders",
  `with recursive down(role_id, id, name, kind, in_force, provisioned, path, ids) as (
     select r.id, r.id, r.name, r.kind, r.state = 'active', false, '[]'::jsonb, r.id from membership.node r
     where r.kind = 'BusinessRole' and r.tenant_id is null and ($2::text is null or r.id = $2)
     union all
     select d.role_id, n.id, n.name, n.kind, d.in_force and n.state = 'active',
       d.provisioned or ${marked},
       jsonb_build_array(jsonb_build_object('from', e.src, 'kind', e.kind, 'to', e.dst, 'expires_at', e.expires_at)) || d.path,
       n.id || ' ' || d.ids
     from down d join membership.edge e on e.dst = d.id and e.kind in ('BELONGS_TO', 'MEMBER_OF') and ${unexpired("e")}
       join membership.node n on n.id = e.src and ($1::text = '*' or n.tenant_id = $1)
         and (d.role_id <> '${PLATFORM}' or n.tenant_id = ${OPERATOR_TENANT})
     where jsonb_array_length(d.path) < 12),
   holder as (
     select *, to_char(jsonb_array_length(path), 'FM00') || encode(sha256(convert_to(ids, 'UTF8')), 'hex') as way from down
     where kind in ('Person', 'AIAgent', 'Service') and ($3::text is null or id = $3))
   select role_id, id as holder_id, name, kind as node_type, in_force, provisioned, path, way from holder
   where $4::text is null or (role_id, id, way) > ($4, $5, $6) order by role_id, id, way limit $7`,
);

/** Who holds which role, for those who may see identities. */
export const serveRoles = (context: MembershipContext): void =>
  context.router.serve(listRoleHolders, async (call) => {
    const scope = await requireView(context, call, { type: "identities", action: "view_all" });
    const { role_id: role = null, holder_id: holder = null, limit, cursor } = call.query;
    const binding = ["role-holders", call.caller.sub, scope.tenant, role, holder];
    const [afterRole = null, afterHolder = null, way = null] = cursor === undefined ? [] : context.cursors.open(cursor, binding).split("/");
    const rows = await context.database.run(HOLDERS, [scope.tenant, role, holder, afterRole, afterHolder, way, limit + 1]);
    const { page, last } = pageOf(rows, limit);
    return {
      items: page.map(({ way: _way, ...row }) => row),
      next_cursor: last && context.cursors.seal([last.role_id, last.holder_id, last.way].join("/"), binding),
    };
  });
