import type { DelegationConstraints } from "#contract/delegations.ts";
import { usdFromMicro } from "#contract/ids.ts";
import { Problem } from "#contract/problem.ts";
import { statement, type Sql } from "#store/database.ts";
import { requireJoinable } from "#membership/graph/put-edge.ts";
import { begun } from "#membership/graph/sql-parts.ts";
import type { GraphTransaction } from "#membership/graph/write.ts";

/** A delegation as it is written: the edge, its row, and a meter at zero. */
export interface NewDelegation {
  readonly id: string;
  readonly delegatorId: string;
  readonly agentId: string;
  /** null = all that the agent has, now and later. */
  readonly capabilities: readonly string[] | null;
  readonly constraints?: DelegationConstraints | undefined;
  readonly limitMicro: bigint;
  readonly limitSteps: number;
  readonly purpose: string;
  /** null = now, by the database's clock. */
  readonly validFrom: Date | null;
  readonly expiresAt: Date | null;
  readonly createdBy: string;
  /** Ids from the first delegation down to the one that this is handed on from; that one lends it its limits. */
  readonly parentPath?: readonly string[] | undefined;
  /** Present = it is over already. */
  readonly ended?: { readonly at: Date; readonly reason: string };
}

const INSERT = statement(
  "membership.delegation_insert",
  `with e as (
     insert into membership.edge (id, kind, src, dst, discr, tenant_id) values ($1, 'DELEGATES_TO', $2, $3, $1, $4) returning id),
   d as (
     insert into membership.delegation (id, delegator_id, agent_id, tenant_id, parent_id, path, status, hold, capabilities, purpose, valid_from,
       expires_at, created_by, ended_at, end_reason, constraints)
     select e.id, $2, $3, $4, ($14::text[])[cardinality($14::text[])], $14::text[] || e.id,
       case when $10::timestamptz is not null then 'revoked' when $7::timestamptz > now() then 'paused' else 'active' end,
       case when $10::timestamptz is null and $7::timestamptz > now() then 'not_yet_valid' end,
       $5::text[], $6, coalesce($7::timestamptz, now()), $8, $9, $10, $11, $15::jsonb from e returning id)
   insert into membership.meter (delegation_id, limit_micro, limit_steps) select d.id, $12, $13 from d`,
);

/** Whole row of a delegation as the change log keeps it; money as decimal USD. */
const ROW = statement<{ row: Record<string, unknown>; limit_micro: bigint; limit_steps: bigint }>(
  "membership.delegation_row",
  `select to_jsonb(d) as row, m.limit_micro, m.limit_steps from membership.delegation d
   join membership.meter m on m.delegation_id = d.id where d.id = $1`,
);

export const delegationLogRow = async (sql: Sql, id: string): Promise<Record<string, unknown>> => {
  const [found] = await sql.run(ROW, [id]);
  if (found === undefined) throw new Error("a delegation has a row and a meter");
  return { ...found.row, budget_usd: usdFromMicro(found.limit_micro), max_steps: Number(found.limit_steps) };
};

const LEND = statement(
  "membership.delegation_lend",
  `update membership.meter m set lent_micro = m.lent_micro + $2, lent_steps = m.lent_steps + $3 where m.delegation_id = $1
     and m.used_micro + m.held_micro + m.lent_micro + $2 <= m.limit_micro and m.used_steps + m.held_steps + m.lent_steps + $3 <= m.limit_steps
   returning 1`,
);
const FREE = statement<{ steps: bigint; micro: bigint }>(
  "membership.delegation_free",
  `select m.limit_steps - m.used_steps - m.held_steps - m.lent_steps as steps, m.limit_micro - m.used_micro - m.held_micro - m.lent_micro as micro
   from membership.meter m where m.delegation_id = $1`,
);
/** Those of the path that live, kept so. */
const LIVING = statement(
  "membership.delegation_living",
  `select 1 from membership.delegation d where d.id = any($1::text[]) and ${begun("d")} order by d.id for share`,
);

/** Takes so much more out of what one has free, or gives it back. Throws `budget_exhausted`, `steps_exhausted` with what is free. */
export const lendMore = async (sql: Sql, parent: string, micro: bigint, steps: bigint): Promise<void> => {
  if ((await sql.run(LEND, [parent, micro, steps])).length > 0) return;
  const [free] = await sql.run(FREE, [parent]);
  const left = { steps: free?.steps ?? 0n, micro: free?.micro ?? 0n };
  throw new Problem(left.steps < steps ? "steps_exhausted" : "budget_exhausted", {
    status: 409,
    members: { delegation_id: parent, steps_left: Number(left.steps), budget_left_usd: usdFromMicro(left.micro) },
  });
};

/** That all of the path live, kept so. Throws `unprocessable`. */
export const requireLiving = async (sql: Sql, path: readonly string[]): Promise<void> => {
  if ((await sql.run(LIVING, [path])).length < path.length)
    throw new Problem("unprocessable", { errors: [{ path: "/parent_id", message: "is not active, or one above it is not" }] });
};

/**
 * Writes it and its meter. Both ends are checked as those of any edge. Throws `edge_not_allowed`, `cross_tenant`, `unprocessable`, and
 * what the one that it is handed on from cannot lend.
 */
export const insertDelegation = async (sql: Sql, draft: NewDelegation): Promise<void> => {
  const tenantId = await requireJoinable(sql, { kind: "DELEGATES_TO", src: draft.delegatorId, dst: draft.agentId });
  if (draft.parentPath !== undefined) {
    await lendMore(sql, draft.parentPath.at(-1) ?? "", draft.limitMicro, BigInt(draft.limitSteps));
    await requireLiving(sql, draft.parentPath);
  }
  await sql.run(INSERT, [
    draft.id,
    draft.delegatorId,
    draft.agentId,
    tenantId,
    draft.capabilities === null ? null : [...new Set(draft.capabilities)].sort(),
    draft.purpose,
    draft.validFrom,
    draft.expiresAt,
    draft.createdBy,
    draft.ended?.at ?? null,
    draft.ended?.reason ?? null,
    draft.limitMicro,
    draft.limitSteps,
    draft.parentPath ?? [],
    JSON.stringify(draft.constraints ?? {}),
  ]);
};

/** Puts what the delegation's row is now into the version, after what it was (absent = it is new). */
export const recordDelegation = async (tx: GraphTransaction, id: string, before?: Record<string, unknown>): Promise<void> => {
  const after = await delegationLogRow(tx.sql, id);
  tx.record({
    op: "put_edge",
    subject: id,
    kind: "DELEGATES_TO",
    src: String(after["delegator_id"]),
    dst: String(after["agent_id"]),
    before,
    after,
  });
};
