import { Problem } from "#contract/problem.ts";
import { listOpen } from "#membership/delegations/read-ledger.ts";
import { requireTag, tagOf } from "#membership/model/if-match.ts";
import { createKeyedWrite, type KeyedAnswer, type KeyedCall } from "#membership/context/idempotency.ts";
import { scopeOfTenant, type TenantScope } from "#membership/graph/tenant-scope.ts";
import { versioned } from "#membership/context/graph-answers.ts";
import type { MembershipContext } from "#membership/context/context.ts";
import { reportOf, type Actor, type DelegationAct, type DelegationCall } from "./acts.ts";
import { readAgent } from "./check-draft.ts";
import { changeStatus, isFinal, lockDelegations, requireStanding, type StatusChange } from "./change-status.ts";
import { delegationView, type DelegationRow } from "./delegation-view.ts";

export type Stop = "pause" | "revoke" | "resume";

/** What is to be written, or `undefined` when it is so already. Throws `delegation_ended` where the end was another one. */
const changeOf = (stop: Stop, row: DelegationRow, reason: string, now: Date): StatusChange | undefined => {
  if (stop === "revoke" && row.status === "revoked") return undefined;
  requireStanding(row);
  switch (stop) {
    case "revoke":
      return { op: "revoked", status: "revoked", endReason: reason };
    case "pause":
      return row.status === "paused" && row.hold === "manual" ? undefined : { op: "paused", status: "paused", hold: "manual" };
    case "resume":
      if (row.hold !== "manual" && row.hold !== "uncontrolled") return undefined;
      return Date.parse(row.valid_from) > now.getTime()
        ? { op: "resumed", status: "paused", hold: "not_yet_valid" }
        : { op: "resumed", status: "active" };
  }
};

/**
 * Pauses, revokes or resumes one delegation. When it returns the version is committed: no reserve of it succeeds any more, on
 * any process. Tags are compared inside the transaction. Throws `not_found`, `delegation_ended`, `stale_version`.
 */
export const stopDelegation = async (
  context: MembershipContext,
  call: DelegationCall & { readonly stop: Stop; readonly reason: string },
) => {
  const { actor, tenantId } = call;
  const { value, version } = await context.write({ ...actor.by, tenantId }, async (tx) => {
    const [row] = await lockDelegations(tx.sql, call.scope, [call.id]);
    if (row === undefined) throw new Problem("not_found");
    requireTag(call.tags, row);
    // What was paused because nobody controls the agent goes on once somebody does.
    if (call.stop === "resume" && row.hold === "uncontrolled" && (await readAgent(tx.sql, call.scope, row.agent_id))?.controlled !== true)
      throw new Problem("agent_uncontrolled");
    const change = changeOf(call.stop, row, call.reason, context.now());
    const acts = change === undefined ? [] : await changeStatus(tx, scopeOfTenant(tenantId), row, change);
    const ids = [call.id, ...acts.map((act) => act.after.delegation_id)];
    const open = await listOpen(tx.sql, call.scope, [...new Set(ids)]);
    const after = acts[0]?.after ?? delegationView(row);
    return {
      value: {
        after,
        etag: tagOf({ rev: row.rev + (acts.length > 0 ? 1n : 0n) }),
        running: open.map(({ call_id }) => call_id),
      },
      ...reportOf(acts, actor),
    };
  });
  return { body: { ...value.after, graph_version: Number(version), running_calls: value.running }, etag: value.etag };
};

/** Pauses or revokes many in one version. Those that have ended meanwhile are left as they are. */
export const stopMany = async (
  context: MembershipContext,
  call: {
    readonly mode: "pause" | "revoke";
    readonly ids: readonly string[];
    readonly scope: TenantScope;
    readonly tenantId: string;
    readonly reason: string;
    readonly actor: Actor;
    /** Of each delegation, the decision that allowed it. */
    readonly decisionIds: ReadonlyMap<string, string>;
    readonly key: KeyedCall;
  },
): Promise<KeyedAnswer> => {
  const { actor, tenantId } = call;
  const once = createKeyedWrite(call.key);
  await context.write({ ...actor.by, tenantId }, (tx) =>
    once.work(tx.sql, async () => {
      const acts: DelegationAct[] = [];
      for (const row of await lockDelegations(tx.sql, call.scope, call.ids)) {
        if (isFinal(row) || acts.some((act) => act.after.delegation_id === row.id)) continue;
        const change = changeOf(call.mode, row, call.reason, context.now());
        if (change !== undefined) acts.push(...(await changeStatus(tx, scopeOfTenant(tenantId), row, change)));
      }
      const delegations = acts.map((act) => act.after.delegation_id);
      const running_calls = (await listOpen(tx.sql, call.scope, delegations)).map(({ call_id }) => call_id);
      return {
        answerAt: (version) => ({
          status: 200,
          headers: versioned(version),
          body: { delegations, graph_version: Number(version), running_calls },
        }),
        ...reportOf(acts, actor, (act) => ({ ...actor, decisionId: call.decisionIds.get(act.after.delegation_id) })),
      };
    }),
  );
  return once.answer();
};
