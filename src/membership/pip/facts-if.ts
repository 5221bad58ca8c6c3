import { randomUUID } from "node:crypto";
import type { askFactsIf } from "#contract/facts.ts";
import type { BodyOf, ReplyOf } from "#contract/endpoint.ts";
import { microFromUsd } from "#contract/ids.ts";
import { Problem } from "#contract/problem.ts";
import { undone } from "#membership/model/dry-run.ts";
import { insertDelegation } from "#membership/delegations/put-delegation.ts";
import { readFacts } from "#membership/graph/facts.ts";
import type { Answered } from "#membership/graph/graph-reader.ts";
import { isEdgeKind } from "#membership/model/kinds.ts";
import { putEdge } from "#membership/graph/put-edge.ts";
import type { DataScopeOptions } from "#membership/graph/sql-data-scope.ts";
import { readReach } from "#membership/graph/sql-pip.ts";
import { scopeOfTenant, visible, type TenantScope } from "#membership/graph/tenant-scope.ts";
import { unrecorded, type GraphTransaction } from "#membership/graph/write.ts";
import { statement, type Database, type Sql } from "#store/database.ts";

type Body = BodyOf<typeof askFactsIf>;
/** But for the version that it is of. */
type Reply = Omit<ReplyOf<typeof askFactsIf>, "graph_version">;
type Added = Body["add"][number];

const SEEN = statement<{ readonly id: string }>(
  "membership.what_if_seen",
  `select n.id from membership.node n where n.id = any($2) and ${visible("n")}`,
);
const DROP = statement<{ readonly id: string }>(
  "membership.what_if_drop",
  `delete from membership.edge e where e.kind = $2 and e.src = $3 and e.dst = $4 and ${visible("e")} returning e.id`,
);
const REVOKE = statement<{ readonly id: string }>(
  "membership.what_if_revoke",
  `update membership.delegation d set status = 'revoked', hold = null, ended_at = clock_timestamp(), end_reason = 'what-if', rev = rev + 1
   where d.delegator_id = $2 and d.agent_id = $3 and d.status in ('active', 'paused') and ${visible("d")} returning d.id`,
);
// Whatever a grant or ownership of the subject, its accounts and its groups leads to; with a page its widgets, which show with it.
const REACHED = statement<{ readonly type: string; readonly external_id: string }>(
  "membership.what_if_reached",
  `with recursive held(id, depth) as (
     select $2::text collate "C", 0 union
     select e.dst, h.depth + 1 from held h join membership.edge e on e.src = h.id and e.kind in ('BELONGS_TO', 'MEMBER_OF') where h.depth < 9),
   reached(type, external_id) as (
     select case when n.kind = 'Tool' then 'tool' else n.props ->> 'type' end, case when n.kind = 'Tool' then n.id else n.external_id end
     from held h join membership.edge e on e.src = h.id and e.kind in ('GRANTS_ACCESS', 'OWNS_RESOURCE') join membership.node n on n.id = e.dst
     where n.kind in ('Tool', 'Resource') and ${visible("n")})
   select type, external_id from reached where type is not null and external_id is not null
   union
   select 'page.widget', w.external_id from reached r
     join membership.node w on r.type = 'pages' and w.kind = 'Resource' and w.props ->> 'type' = 'page.widget'
       and starts_with(w.external_id, r.external_id || ':') and ${visible("w")}
   order by 1, 2 limit 1000`,
);

/** Foreign and absent nodes are alike: neither can be joined. */
const requireSeen = async (sql: Sql, scope: TenantScope, body: Body): Promise<void> => {
  const wanted = [...new Set([...body.add, ...body.remove].flatMap(({ from, to }) => [from, to]))];
  if (wanted.length === 0) return;
  const seen = new Set((await sql.run(SEEN, [scope.tenant, wanted])).map(({ id }) => id));
  const missing = wanted.filter((id) => !seen.has(id));
  if (missing.length > 0)
    throw new Problem("unprocessable", { errors: missing.map((id) => ({ path: "/changes/edges", message: `there is no node ${id}` })) });
};

const numberOf = (value: unknown, otherwise: number): number => (typeof value === "number" && value >= 0 ? value : otherwise);

const add = async (tx: GraphTransaction, { kind, from, to, props = {} }: Added): Promise<void> => {
  if (!isEdgeKind(kind)) throw new Problem("unprocessable", { detail: `${kind} is no kind of edge.` });
  if (kind !== "DELEGATES_TO") return void (await putEdge(tx, { kind, src: from, dst: to, props }));
  const { capabilities } = props;
  await insertDelegation(tx.sql, {
    id: `delegation:what-if-${randomUUID()}`,
    delegatorId: from,
    agentId: to,
    capabilities: Array.isArray(capabilities) ? capabilities.filter((one) => typeof one === "string") : null,
    limitMicro: microFromUsd(Math.round(numberOf(props["budget_usd"], 1_000) * 1e6) / 1e6),
    limitSteps: Math.floor(numberOf(props["max_steps"], 1_000)),
    purpose: "What if",
    validFrom: null,
    expiresAt: null,
    createdBy: from,
  });
};

const remove = async (sql: Sql, scope: TenantScope, { kind, from, to }: Body["remove"][number]): Promise<void> => {
  const gone =
    kind === "DELEGATES_TO" ? await sql.run(REVOKE, [scope.tenant, from, to]) : await sql.run(DROP, [scope.tenant, kind, from, to]);
  if (gone.length === 0) throw new Problem("unprocessable", { detail: `There is no ${kind} from ${from} to ${to} to be removed.` });
};

type Reached = Reply["reached"][number];
type Audiences = Reply["audiences"]["before"];

const reachOf = async (
  sql: Sql,
  scope: TenantScope,
  reach: Body["reach"],
): Promise<{ reached: readonly Reached[]; audiences: Audiences }> => {
  if (reach === undefined) return { reached: [], audiences: [] };
  const reached = await sql.run(REACHED, [scope.tenant, reach.subject_id]);
  if (reach.agent_id === undefined) return { reached, audiences: [] };
  const { tools, audiences } = await readReach(sql, scope, { userId: reach.subject_id, agentId: reach.agent_id });
  return {
    reached: [...reached, ...tools.map((id) => ({ type: "tool", external_id: id }))],
    audiences: audiences.map(({ audience, scopes }) => ({ audience, scopes: [...scopes] })),
  };
};

const unique = (all: readonly Reached[]): Reached[] =>
  [...new Map(all.map((one) => [`${one.type} ${one.external_id}`, one])).values()].slice(0, 1000);

/**
 * Facts of the graph after a change: the change is made by the code that makes it in earnest, the questions are asked by the
 * code that answers them in earnest, and all of it is rolled back.
 */
export const factsIf = (database: Database, asking: TenantScope, body: Body, dataScope: DataScopeOptions): Promise<Answered<Reply>> => {
  const scope = scopeOfTenant(body.tenant_id);
  return undone(database, async (sql) => {
    await requireSeen(sql, scope, body);
    const before = await reachOf(sql, scope, body.reach);
    const tx = unrecorded(sql);
    for (const edge of body.remove) await remove(sql, scope, edge);
    for (const edge of body.add) await add(tx, edge);
    const after = await reachOf(sql, scope, body.reach);
    const { version, value: facts } = await readFacts(sql, asking, body.asks, dataScope);
    const reached = unique([...before.reached, ...after.reached]);
    return { version, value: { facts: [...facts], reached, audiences: { before: before.audiences, after: after.audiences } } };
  });
};
