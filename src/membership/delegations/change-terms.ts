import { isDeepStrictEqual } from "node:util";
import { delegationConstraints, type Delegation, type DelegationConstraints, type DelegationPatch } from "#contract/delegations.ts";
import { usdFromMicro } from "#contract/ids.ts";
import { mergePatch } from "#contract/merge-patch.ts";
import { Problem, type Issue } from "#contract/problem.ts";
import { issuesOf } from "#contract/shape-issues.ts";
import { statement, type Sql } from "#store/database.ts";
import { AMOUNT_ISSUE, microOf } from "#membership/model/amount.ts";
import { requireTag, tagOf } from "#membership/model/if-match.ts";
import { scopeOfTenant, type TenantScope } from "#membership/graph/tenant-scope.ts";
import type { GraphTransaction } from "#membership/graph/write.ts";
import type { MembershipContext } from "#membership/context/context.ts";
import { reportOf, type DelegationAct, type DelegationCall, type DelegationOp } from "./acts.ts";
import { changeRecorded, lockBelow, lockDelegations, requireStanding } from "./change-status.ts";
import { issuesOfTerms, handedOnIssues, readAgent } from "./check-draft.ts";
import { delegationView, type DelegationRow } from "./delegation-view.ts";
import { lendMore, requireLiving } from "./put-delegation.ts";

/** What may be changed of a delegation once it is given. */
interface Terms {
  readonly capabilities: readonly string[] | null;
  readonly constraints: DelegationConstraints;
  readonly limitMicro: bigint;
  readonly limitSteps: bigint;
  readonly expiresAt: string | null;
  readonly purpose: string;
}

const PARENT = statement<{ readonly capabilities: string[] | null; readonly expires_at: string | null; readonly path: string[] }>(
  "membership.terms_parent",
  "select d.capabilities, d.expires_at, d.path from membership.delegation d where d.id = $1",
);
const SET = statement(
  "membership.terms_set",
  `update membership.delegation set capabilities = $2::text[], constraints = $3::jsonb, expires_at = $4::timestamptz, purpose = $5, rev = rev + 1
   where id = $1`,
);
const SET_LIMITS = statement(
  "membership.terms_limits",
  "update membership.meter set limit_micro = $2, limit_steps = $3 where delegation_id = $1",
);

const termsOf = (row: DelegationRow): Terms => ({
  capabilities: row.capabilities,
  constraints: row.constraints,
  limitMicro: row.limit_micro,
  limitSteps: row.limit_steps,
  expiresAt: row.expires_at,
  purpose: row.purpose,
});

/** What it would come to, looked at in `requireFitting`. Throws `unprocessable` for an amount with more than six decimals. */
const patched = (before: Terms, patch: DelegationPatch): Terms => {
  const limitMicro = patch.budget_usd === undefined ? before.limitMicro : microOf(patch.budget_usd);
  if (limitMicro === undefined) throw new Problem("unprocessable", { errors: [{ path: "/budget_usd", message: AMOUNT_ISSUE }] });
  const { capabilities = before.capabilities, constraints } = patch;
  return {
    capabilities: capabilities === null ? null : [...new Set(capabilities)].sort(),
    constraints:
      constraints === undefined ? before.constraints : ((mergePatch(before.constraints, constraints) ?? {}) as DelegationConstraints),
    limitMicro,
    limitSteps: patch.max_steps === undefined ? before.limitSteps : BigInt(patch.max_steps),
    expiresAt: patch.expires_at === undefined ? before.expiresAt : patch.expires_at,
    purpose: patch.purpose ?? before.purpose,
  };
};

const isMore = (before: number | undefined, after: number | undefined): boolean =>
  before !== undefined && (after === undefined || after > before);

const isWider = (before: Terms, after: Terms): boolean => {
  const [had, has] = [before.constraints, after.constraints];
  return (
    (before.capabilities !== null &&
      (after.capabilities === null || after.capabilities.some((tool) => !before.capabilities?.includes(tool)))) ||
    after.limitMicro > before.limitMicro ||
    after.limitSteps > before.limitSteps ||
    (before.expiresAt !== null && (after.expiresAt === null || Date.parse(after.expiresAt) > Date.parse(before.expiresAt))) ||
    isMore(had.per_call_usd, has.per_call_usd) ||
    isMore(had.per_minute_steps, has.per_minute_steps) ||
    // Other hours hold at some hour at which the former did not, or are taken to.
    (had.hours !== undefined && !isDeepStrictEqual(had.hours, has.hours)) ||
    (had.tenant_ids !== undefined && has.tenant_ids?.every((id) => had.tenant_ids?.includes(id)) !== true) ||
    // Another schema is taken to let something else through.
    Object.entries(had.args ?? {}).some(([tool, schema]) => !isDeepStrictEqual(schema, has.args?.[tool]))
  );
};

/** Whether the patch gives more of anything than is given now: then it is as giving it anew. Throws `unprocessable`. */
export const isWidened = (row: DelegationRow, patch: DelegationPatch): boolean => isWider(termsOf(row), patched(termsOf(row), patch));

/** Throws `budget_in_use`, with the numbers. */
const requireCovered = (row: DelegationRow, after: Terms): void => {
  const micro = row.used_micro + row.held_micro + row.lent_micro;
  const steps = row.used_steps + row.held_steps + row.lent_steps;
  if (micro <= after.limitMicro && steps <= after.limitSteps) return;
  const { used_usd, used_steps, held_usd, held_steps, lent_usd, lent_steps } = delegationView(row);
  throw new Problem("budget_in_use", {
    members: {
      used_usd,
      used_steps,
      held_usd,
      held_steps,
      lent_usd,
      lent_steps,
      least_usd: usdFromMicro(micro),
      least_steps: Number(steps),
    },
  });
};

/** No more than one body may bring: patches add to one another. */
const MAX_BYTES = 1_048_576;

const constraintIssues = (constraints: DelegationConstraints): readonly Issue[] => {
  const { error } = delegationConstraints.safeParse(constraints);
  if (error !== undefined) return issuesOf(error, ["constraints"]);
  const isLarge = Buffer.byteLength(JSON.stringify(constraints)) > MAX_BYTES;
  return isLarge ? [{ path: "/constraints", message: `come to more than ${MAX_BYTES} bytes` }] : [];
};

type Bounds = Pick<MembershipContext, "config" | "now">;

/** Throws `unprocessable` with every issue, `agent_uncontrolled` where it is to be widened. */
const requireFitting = async (
  sql: Sql,
  scope: TenantScope,
  change: { readonly row: DelegationRow; readonly patch: DelegationPatch; readonly after: Terms; readonly widens: boolean },
  { config, now }: Bounds,
): Promise<void> => {
  const { row, patch, after, widens } = change;
  const agent = await readAgent(sql, scope, row.agent_id);
  const asked = {
    agent_id: row.agent_id,
    capabilities: after.capabilities === null ? null : [...after.capabilities],
    budget_usd: patch.budget_usd ?? 0,
    max_steps: patch.max_steps ?? 1,
    constraints: after.constraints,
    purpose: after.purpose,
    ...(patch.expires_at === undefined ? {} : { expires_at: patch.expires_at, valid_from: row.valid_from }),
  };
  // What it names already stays, though the agent may have lost it since.
  const named = [...(row.capabilities ?? []), ...Object.keys(row.constraints.args ?? {})];
  const issues = issuesOfTerms(asked, [...(agent?.tools ?? []), ...named], config, now());
  if (patch.constraints !== undefined) issues.push(...constraintIssues(after.constraints));
  const [parent] = row.parent_id === null ? [] : await sql.run(PARENT, [row.parent_id]);
  if (parent !== undefined) issues.push(...handedOnIssues(asked, parent, Number.POSITIVE_INFINITY));
  if (widens && agent?.state !== "active") issues.push({ path: "/agent_id", message: "is not active" });
  if (issues.length > 0) throw new Problem("unprocessable", { errors: issues });
  if (widens && agent?.controlled !== true) throw new Problem("agent_uncontrolled");
  if (widens && parent !== undefined) await requireLiving(sql, parent.path);
};

/**
 * Gives a locked delegation other terms, and what lives below it no more than that. Nothing where they are as they were. Throws
 * `unprocessable`, `budget_in_use`, `agent_uncontrolled`; `budget_exhausted` or `steps_exhausted` where the one above cannot lend more.
 */
export const changeTerms = async (
  tx: GraphTransaction,
  scope: TenantScope,
  row: DelegationRow,
  patch: DelegationPatch,
  bounds: Bounds,
): Promise<readonly DelegationAct[]> => {
  const before = termsOf(row);
  const after = patched(before, patch);
  if (isDeepStrictEqual(before, after)) return [];
  const widens = isWider(before, after);
  await requireFitting(tx.sql, scope, { row, patch, after, widens }, bounds);
  requireCovered(row, after);
  const [micro, steps] = [after.limitMicro - before.limitMicro, after.limitSteps - before.limitSteps];
  if (row.parent_id !== null && (micro !== 0n || steps !== 0n)) await lendMore(tx.sql, row.parent_id, micro, steps);

  const give = (one: DelegationRow, terms: Terms, op: DelegationOp): Promise<DelegationAct> =>
    changeRecorded(tx, scope, one, op, async () => {
      await tx.sql.run(SET, [one.id, terms.capabilities, JSON.stringify(terms.constraints), terms.expiresAt, terms.purpose]);
      await tx.sql.run(SET_LIMITS, [one.id, terms.limitMicro, terms.limitSteps]);
    });
  const acts = [await give(row, after, widens ? "extended" : "narrowed")];
  for (const below of await lockBelow(tx.sql, scope, row.id)) {
    const own = termsOf(below);
    const narrowed: Terms = {
      ...own,
      capabilities:
        after.capabilities === null ? own.capabilities : after.capabilities.filter((tool) => own.capabilities?.includes(tool) ?? true),
      expiresAt:
        after.expiresAt !== null && (own.expiresAt === null || Date.parse(own.expiresAt) > Date.parse(after.expiresAt))
          ? after.expiresAt
          : own.expiresAt,
    };
    if (!isDeepStrictEqual(own, narrowed)) acts.push(await give(below, narrowed, "narrowed"));
  }
  return acts;
};

/**
 * Changes a delegation's terms in one version, together with what was handed on from it. `mayWiden`: what was decided before; terms that
 * moved meanwhile, so that the same patch gives more, are stale. Throws `not_found`, `delegation_ended`, `stale_version` and as `changeTerms`.
 */
export const changeDelegation = async (
  context: MembershipContext,
  call: DelegationCall & { readonly patch: DelegationPatch; readonly mayWiden: boolean },
): Promise<{ readonly body: Delegation; readonly etag: string; readonly version: bigint }> => {
  const { actor, tenantId, patch } = call;
  const { value, version } = await context.write({ ...actor.by, tenantId }, async (tx) => {
    const [row] = await lockDelegations(tx.sql, call.scope, [call.id], "with money");
    if (row === undefined) throw new Problem("not_found");
    requireTag(call.tags, row);
    requireStanding(row);
    if (!call.mayWiden && isWidened(row, patch)) throw new Problem("stale_version", { headers: { etag: tagOf(row) } });
    const acts = await changeTerms(tx, scopeOfTenant(tenantId), row, patch, context);
    return {
      value: { body: acts[0]?.after ?? delegationView(row), etag: tagOf({ rev: row.rev + (acts.length > 0 ? 1n : 0n) }) },
      ...reportOf(acts, actor),
    };
  });
  return { ...value, version };
};
