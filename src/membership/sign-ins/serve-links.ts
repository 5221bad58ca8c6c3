import { pageOf } from "#authn/sealing/sealed-cursors.ts";
import { addIdentityLink, dropIdentityLink, listIdentityLinks, type IdentityLinkView } from "#contract/sign-ins.ts";
import { Problem } from "#contract/problem.ts";
import { answer } from "#http/serve.ts";
import { statement } from "#store/database.ts";
import { requireView } from "#membership/context/access.ts";
import { versioned } from "#membership/context/graph-answers.ts";
import { actOn, takeAway, writeAs } from "#membership/graph-edit/write-as.ts";
import { requireOwnNode } from "#membership/graph-edit/edits.ts";
import { visible } from "#membership/graph/tenant-scope.ts";
import type { SignInWays } from "#membership/graph/remaining-holders.ts";
import { requirePlatformFor } from "#membership/graph/role-watch.ts";
import type { MembershipContext } from "#membership/context/context.ts";
import { addLink } from "./links.ts";

type LinkRow = Omit<IdentityLinkView, "link_id"> & { readonly id: string };

const COLUMNS = "l.id, l.issuer, l.subject, l.person_id, l.how, l.made_by, l.created_at";
const FROM = `membership.identity_link l join membership.node n on n.id = l.person_id and ${visible("n")}`;
/** Goes on behind a time, as text since a page knows no microseconds, and an id. */
const LIST = statement<LinkRow & { readonly made: string }>(
  "membership.links",
  `select ${COLUMNS}, l.created_at::text as made from ${FROM} where ($2::text is null or l.person_id = $2) and ($3::text is null or l.subject = $3)
     and ($4::timestamptz is null or (l.created_at, l.id) > ($4, $5::uuid))
   order by l.created_at, l.id limit $6`,
);
const ONE = statement<LinkRow>("membership.link", `select ${COLUMNS} from ${FROM} where l.id::text = $2 for update of l`);
const DROP = statement<{ tenant_id: string; person_id: string }>(
  "membership.link_drop",
  "delete from membership.identity_link where id = $1 returning tenant_id, person_id",
);

const viewOf = ({ id, ...row }: LinkRow): IdentityLinkView => ({ link_id: id, ...row });

/** Links as administrators see, make and end them. */
export const serveLinks = (context: MembershipContext, rules: SignInWays): void => {
  const { router, database } = context;
  const act = actOn(["links", "manage"], "links");

  router.serve(listIdentityLinks, async (call) => {
    const scope = await requireView(context, call, { type: "links", action: "view" });
    const { limit, cursor, ...filters } = call.query;
    const binding = ["identity-links", call.caller.sub, scope.tenant, filters];
    const [made = null, id = null] = cursor === undefined ? [] : context.cursors.open(cursor, binding).split("/");
    const rows = await database.run(LIST, [scope.tenant, filters.person_id ?? null, filters.subject ?? null, made, id, limit + 1]);
    const { page, last } = pageOf(rows, limit);
    return {
      items: page.map(({ made: _made, ...row }) => viewOf(row)),
      next_cursor: last && context.cursors.seal(`${last.made}/${last.id}`, binding),
    };
  });

  router.serve(addIdentityLink, async ({ caller, body, correlationId }) => {
    const { reason, person_id: personId, issuer, subject } = body;
    const { value, version } = await writeAs(
      context,
      act({ caller, correlationId }, "person_linked", personId, reason),
      async (tx, scope) => {
        const { kind, tenant_id: tenant } = await requireOwnNode(tx.sql, scope, personId);
        if (kind !== "Person" || tenant === null) throw new Problem("not_found");
        await requirePlatformFor(tx.sql, caller.sub, personId);
        const id = await addLink(tx.sql, { issuer, subject, personId, how: "administrator", by: caller.sub });
        if (id === undefined)
          throw new Problem("already_exists", { detail: "This subject is somebody's of this tenant already: unlink it first." });
        // Where subjects are ids, the person of that id signs in by it no more.
        const named = `${rules.subjectPrefix}${subject}`;
        if (rules.provision === "off" && named !== personId) tx.unlinked(tenant, named);
        const [row] = await tx.sql.run(ONE, [scope.tenant, id]);
        if (row === undefined) throw new Error("a link is there once it is made");
        return { value: viewOf(row) };
      },
    );
    return answer(value, { headers: versioned(version) });
  });

  router.serve(dropIdentityLink, async ({ caller, params, query, correlationId }) => {
    return takeAway(context, act({ caller, correlationId }, "person_unlinked", params.link_id, query.reason), async (tx, scope) => {
      const [row] = await tx.sql.run(ONE, [scope.tenant, params.link_id]);
      if (row === undefined) throw new Problem("not_found");
      for (const gone of await tx.sql.run(DROP, [row.id])) tx.unlinked(gone.tenant_id, gone.person_id);
    });
  });
};
