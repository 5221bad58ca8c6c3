import { randomUUID } from "node:crypto";
import type { Delegation, DelegationConstraints } from "#contract/delegations.ts";
import { usdFromMicro } from "#contract/ids.ts";
import type { Reservation } from "#contract/reservations.ts";
import { Problem } from "#contract/problem.ts";
import { isSqlError } from "#store/sql-error.ts";
import { statement, type Database, type Sql } from "#store/database.ts";
import { undone } from "#membership/model/dry-run.ts";
import { begun, effectiveStatus, live, unexpired } from "#membership/graph/sql-parts.ts";
import { visible, type TenantScope } from "#membership/graph/tenant-scope.ts";

/** Steps and money of one call, as the pipeline asks to hold them. */
export interface ReserveAsk {
  readonly callId: string;
  readonly userId: string;
  readonly agentId: string;
  /** Who stands at the top, where an agent handed on what it holds; absent: whoever does. */
  readonly personId?: string | undefined;
  readonly toolId: string;
  /** Absent: the live delegation with room that ends soonest. */
  readonly delegationId?: string | undefined;
  readonly steps: number;
  readonly micro: bigint;
  readonly ttlSeconds: number;
}

interface HeldRow {
  readonly id: string;
  readonly delegation_id: string;
  readonly left_steps: bigint;
  readonly left_micro: bigint;
  readonly ends_at: string;
  readonly state: string;
  readonly schemas: Record<string, unknown>[] | null;
}

const capacity = (meter: string): string =>
  `${meter}.used_micro + ${meter}.held_micro + ${meter}.lent_micro + $7 <= ${meter}.limit_micro
   and ${meter}.used_steps + ${meter}.held_steps + ${meter}.lent_steps + $6 <= ${meter}.limit_steps and not ${meter}.is_wrong`;
const covers = (delegation: string): string => `(${delegation}.capabilities is null or $4 = any(${delegation}.capabilities))`;
/** Who stands at the top of it is the one that was named. */
const isOf = (row: string): string =>
  `($9::text is null or $9 = ${row}.delegator_id or $9 = (select t.delegator_id from membership.delegation t where t.id = ${row}.path[1]))`;
/** Of one that was handed on: everybody above may act, has the tool, and was given it. */
const handedOn = (row: string): string =>
  `(cardinality(${row}.path) = 1 or not exists (
     select 1 from membership.delegation h join membership.node hu on hu.id = h.delegator_id join membership.node ha on ha.id = h.agent_id
     where h.id = any(${row}.path) and not (hu.state = 'active' and ha.state = 'active' and ${covers("h")} and exists (
       select 1 from membership.edge hc where hc.src = h.agent_id and hc.dst = $4 and hc.kind = 'HAS_CAPABILITY' and ${unexpired("hc")}))))`;

/** What it and those above it demand of the arguments of the tool. */
const schemasOf = (path: string): string =>
  `(select jsonb_agg(sp.constraints -> 'args' -> $4::text order by cardinality(sp.path)) from membership.delegation sp
    where sp.id = any(${path}) and sp.constraints -> 'args' ? $4::text)`;
/**
 * What a delegation, or one above it, says of calls at all: hours, price, steps a minute. Null where nothing stands against it. `waits`
 * only behind the meter's lock, or two calls could wait for each other.
 */
const heldBack = (id: string, waits = false): string => `membership.held_back(${id}, $7, $6::int, ${waits})`;
/** Codes of what holds a call back. */
const heldBackCodes = { per_call_usd: "call_limit_exceeded", per_minute_steps: "rate_exceeded", hours: "outside_hours" } as const;

/** $2 delegator, $3 agent, $4 tools. Only what holds every one of the live delegations back that cover the tool; at the price nothing, which nobody knows yet. */
const HELD_BACK = statement<{ tool: string; held_back: keyof typeof heldBackCodes }>(
  "membership.tools_held_back",
  `with d as materialized (
     select d.capabilities, membership.held_back(d.id, 0, 1, false) as held_back from membership.delegation d
     where d.delegator_id = $2 and d.agent_id = $3 and ${visible("d")} and ${live("d")})
   select t.id as tool, min(d.held_back) as held_back from unnest($4::text[]) t(id) join d on d.capabilities is null or t.id = any(d.capabilities)
   group by t.id having bool_and(d.held_back is not null)`,
);
/** Which of the tools nobody may call now for what their delegations say of hours and of a minute: tool -> code of the refusal. */
export const readHeldBack = async (
  sql: Sql,
  scope: TenantScope,
  pair: { readonly userId: string; readonly agentId: string },
  tools: readonly string[],
): Promise<ReadonlyMap<string, string>> =>
  new Map(
    (await sql.run(HELD_BACK, [scope.tenant, pair.userId, pair.agentId, tools])).map(({ tool, held_back }) => [
      tool,
      heldBackCodes[held_back],
    ]),
  );

/** The hours of a delegation and of all above it. */
const hoursOf = (path: string): string =>
  `(select jsonb_agg(hp.constraints -> 'hours' order by cardinality(hp.path)) from membership.delegation hp
    where hp.id = any(${path}) and hp.constraints ? 'hours')`;

/**
 * One statement holds one call's steps and money, or holds nothing.
 *
 * - `k` picks the delegation and waits for its meter: reserves of one delegation pass here one after the other.
 * - `d` then reads delegation, both its ends, the capability and the tool as they are *now*, and share-locks them: a
 *   revocation that has committed is seen, one that is under way is waited for or waits itself.
 * - `p` does the same for every delegation above it, of one that was handed on.
 * - `m` raises the meter where there is room, `r` writes the reservation.
 *
 * The meter comes first so that at most one reserve at a time holds the share locks of a delegation: a revocation waits
 * for one call, not for a queue of them.
 *
 * $1 tenant, $2 user, $3 agent, $4 tool, $5 delegation or null, $6 steps, $7 micro-USD, $8 call id,
 * $9 who stands at the top or null, $10 id, $11 seconds.
 */
const RESERVE = statement<HeldRow>(
  "membership.reserve",
  `with k as materialized (
     select m.delegation_id from membership.meter m
     where m.delegation_id = coalesce($5::text, (
       select d.id from membership.delegation d join membership.meter m on m.delegation_id = d.id
       where d.delegator_id = $2 and d.agent_id = $3 and ${live("d")} and ${covers("d")} and ${handedOn("d")} and ${isOf("d")} and ${capacity("m")}
         and ${heldBack("d.id")} is null
       order by d.expires_at nulls last, d.id limit 1))
     for update),
   d as materialized (
     select d.id, d.tenant_id, d.path from k
       join membership.delegation d on d.id = k.delegation_id and d.delegator_id = $2 and d.agent_id = $3 and ${visible("d")}
       join membership.node u on u.id = d.delegator_id and u.state = 'active'
       join membership.node a on a.id = d.agent_id and a.state = 'active'
       join membership.edge c on c.src = d.agent_id and c.dst = $4 and c.kind = 'HAS_CAPABILITY' and ${unexpired("c")}
       join membership.node t on t.id = c.dst and t.state = 'approved' and (c.digest is null or c.digest = t.digest)
     where ${begun("d")} and ${covers("d")} and ${isOf("d")} and ${heldBack("k.delegation_id", true)} is null
       and not exists (select 1 from membership.reservation x where x.tenant_id = d.tenant_id and x.call_id = $8)
     for share of d, u, a, c, t),
   p as materialized (
     select p.id from d cross join unnest(d.path) above(id)
       join membership.delegation p on p.id = above.id and p.id <> d.id and ${begun("p")} and ${covers("p")}
       join membership.node pu on pu.id = p.delegator_id and pu.state = 'active'
       join membership.node pa on pa.id = p.agent_id and pa.state = 'active'
       join membership.edge pc on pc.src = p.agent_id and pc.dst = $4 and pc.kind = 'HAS_CAPABILITY' and ${unexpired("pc")}
     for share of p, pu, pa, pc),
   m as (
     update membership.meter m set held_steps = m.held_steps + $6, held_micro = m.held_micro + $7
     from d where m.delegation_id = d.id and cardinality(d.path) - 1 = (select count(*) from p) and ${capacity("m")}
     returning m.delegation_id, m.limit_steps - m.used_steps - m.held_steps - m.lent_steps as left_steps,
       m.limit_micro - m.used_micro - m.held_micro - m.lent_micro as left_micro),
   r as (
     insert into membership.reservation (id, call_id, tenant_id, delegation_id, tool_id, steps, micro, left_steps, left_micro, state, ends_at)
     select $10::uuid, $8, d.tenant_id, d.id, $4, $6, $7, m.left_steps, m.left_micro, 'held', now() + make_interval(secs => $11)
     from m join d on d.id = m.delegation_id
     returning id, delegation_id, left_steps, left_micro, ends_at, state)
   select r.*, ${schemasOf("d.path")} as schemas from r cross join d`,
);

const MINUTE_S = "60";

type Hours = NonNullable<DelegationConstraints["hours"]>;
const hoursText = ({ days, from, to, tz }: Hours): string => `${days.join(", ")} from ${from} to ${to} (${tz})`;

interface WhyRow {
  readonly id: string | null;
  readonly status: Delegation["status"];
  readonly live: boolean;
  readonly covered: boolean;
  readonly capable: boolean;
  readonly steps_left: bigint;
  readonly micro_left: bigint;
  readonly has_capacity: boolean;
  readonly is_wrong: boolean;
  readonly held_back: keyof typeof heldBackCodes | null;
  readonly hours: readonly Hours[] | null;
  // the reservation that the call already has
  readonly held: HeldRow | null;
  readonly same: boolean | null;
}

/** Why nothing was held, or the reservation that this call has already. Parameters as of `membership.reserve`. */
const WHY = statement<WhyRow>(
  "membership.reserve_refusal",
  `with prior as (
     select x.*, d.path, d.delegator_id = $2 and d.agent_id = $3 and x.tool_id = $4 and x.steps = $6 and x.micro = $7
       and ($5::text is null or x.delegation_id = $5) as same
     from membership.reservation x join membership.delegation d on d.id = x.delegation_id
     where x.call_id = $8 and x.tenant_id = (select n.tenant_id from membership.node n where n.id = $2) and ${visible("x")}),
   best as (
     select d.id, ${effectiveStatus("d")} as status, u.state = 'active' and a.state = 'active' and ${live("d")} as live, ${covers("d")} and ${handedOn("d")} as covered,
       exists (
         select 1 from membership.edge c join membership.node t on t.id = c.dst and t.state = 'approved' and (c.digest is null or c.digest = t.digest)
         where c.src = $3 and c.dst = $4 and c.kind = 'HAS_CAPABILITY' and ${unexpired("c")}) as capable,
       m.limit_steps - m.used_steps - m.held_steps - m.lent_steps as steps_left,
       m.limit_micro - m.used_micro - m.held_micro - m.lent_micro as micro_left, ${capacity("m")} as has_capacity, m.is_wrong, ${heldBack("d.id")} as held_back,
       ${hoursOf("d.path")} as hours, d.expires_at
     from membership.delegation d join membership.meter m on m.delegation_id = d.id
       join membership.node u on u.id = d.delegator_id join membership.node a on a.id = d.agent_id
     where d.delegator_id = $2 and d.agent_id = $3 and ($5::text is null or d.id = $5) and ${isOf("d")} and ${visible("d")}
     order by live desc, covered desc, has_capacity desc, held_back nulls first, d.expires_at nulls last, d.id limit 1)
   select best.id, best.status, best.live, best.covered, best.capable, best.steps_left, best.micro_left, best.has_capacity, best.is_wrong, best.held_back, best.hours,
     (select json_build_object('id', id, 'state', state, 'delegation_id', delegation_id, 'left_steps', left_steps::text, 'left_micro', left_micro::text,
       'ends_at', to_char(ends_at at time zone 'utc', 'YYYY-MM-DD"T"HH24:MI:SS.MS"Z"'), 'schemas', ${schemasOf("prior.path")}) from prior) as held,
     (select same from prior) as same
   from (select 1) one left join best on true`,
);

const replyOf = (row: HeldRow): Reservation => ({
  reservation_id: row.id,
  state: row.state,
  delegation_id: row.delegation_id,
  steps_left: Number(row.left_steps),
  budget_left_usd: usdFromMicro(BigInt(row.left_micro)),
  ends_at: row.ends_at,
  ...(row.schemas === null ? {} : { argument_schemas: row.schemas }),
});

/** A refusal at the reservation is a conflict with what is there: 409, whatever the code means in a decision. */
const refusalOf = (row: WhyRow, ask: ReserveAsk): Problem => {
  if (row.id === null) return new Problem("delegation_inactive", { status: 409, detail: "No such delegation is there." });
  const members = {
    delegation_id: row.id,
    delegation_status: row.status,
    steps_left: Number(row.steps_left),
    budget_left_usd: usdFromMicro(row.micro_left),
  };
  if (!row.live) return new Problem("delegation_inactive", { status: 409, members });
  if (!row.covered || !row.capable) return new Problem("capability_missing", { status: 409, members });
  if (row.is_wrong) throw new Problem("ledger_inconsistent", { members });
  if (row.has_capacity && row.held_back !== null)
    return new Problem(heldBackCodes[row.held_back], {
      status: 409,
      members,
      ...(row.held_back === "hours"
        ? { detail: `It holds ${(row.hours ?? []).map(hoursText).join(" and ")}; wait until then, or ask its giver.` }
        : {}),
      headers: row.held_back === "per_minute_steps" ? { "retry-after": MINUTE_S } : {},
    });
  return new Problem(row.steps_left < BigInt(ask.steps) ? "steps_exhausted" : "budget_exhausted", { status: 409, members });
};

/** The triggers on the reservation keep the limits of a day and a month; they name the one that left no room. */
const limitReached = (limitId: string | undefined): Problem =>
  new Problem("budget_exhausted", {
    status: 409,
    detail: "A limit of the day or the month leaves no room.",
    members: limitId === undefined ? {} : { limit_id: limitId },
  });

const MAX_TRIES = 5;

/**
 * Holds steps and money for one call. The same call id with the same content gets the first answer again, with other
 * content 409 `idempotency_conflict`. Refuses with 409 and one of `reserveRefusals`, with what is left. Not for use inside a transaction: recover by the call id.
 */
export const reserve = async (sql: Sql, scope: TenantScope, ask: ReserveAsk): Promise<{ reply: Reservation; isNew: boolean }> => {
  const values = [
    scope.tenant,
    ask.userId,
    ask.agentId,
    ask.toolId,
    ask.delegationId ?? null,
    ask.steps,
    ask.micro,
    ask.callId,
    ask.personId ?? null,
  ] as const;
  for (let attempt = 1; ; attempt++) {
    const [held] = await sql.run(RESERVE, [...values, randomUUID(), ask.ttlSeconds]).catch((error: unknown) => {
      // The same call at the same moment: the other one has it.
      if (isSqlError(error, "23505", "reservation_call")) return [];
      if (isSqlError(error, "BL001")) throw limitReached(error.constraint);
      throw error;
    });
    if (held !== undefined) return { reply: replyOf(held), isNew: true };
    const [why] = await sql.run(WHY, values);
    if (why === undefined) throw new Error("the refusal statement gives one row");
    if (why.held !== null) {
      if (why.same !== true) throw new Problem("idempotency_conflict", { detail: "This call id holds something else." });
      return { reply: replyOf(why.held), isNew: false };
    }
    // There was room a moment later: another delegation of the pair, or one that was released. Ask again.
    const mayGoOn = why.id !== null && why.live && why.covered && why.capable && why.has_capacity && why.held_back === null;
    if (!mayGoOn) throw refusalOf(why, ask);
    if (attempt === MAX_TRIES) throw new Problem("busy", { detail: "Too many calls at once." });
  }
};

/** What `reserve` would answer now, by the same statements; nothing is kept. Refuses as it does. */
export const tryReserve = (database: Database, scope: TenantScope, ask: Omit<ReserveAsk, "callId">): Promise<Reservation> =>
  undone(database, async (sql) => (await reserve(sql, scope, { ...ask, callId: randomUUID() })).reply, "read committed");
