import { randomUUID } from "node:crypto";
import type { Caller } from "#authn/model/caller.ts";
import type { DelegationDraft } from "#contract/delegations.ts";
import { Problem } from "#contract/problem.ts";
import { statement } from "#store/database.ts";
import { createKeyedWrite, type KeyedAnswer, type KeyedCall } from "#membership/context/idempotency.ts";
import { scopeOfTenant, type TenantScope } from "#membership/graph/tenant-scope.ts";
import { versioned } from "#membership/context/graph-answers.ts";
import type { MembershipContext } from "#membership/context/context.ts";
import { listWatchers, reportOf, type Actor } from "./acts.ts";
import { checkDraft } from "./check-draft.ts";
import { tagOf } from "#membership/model/if-match.ts";
import { delegationView, readDelegation } from "./delegation-view.ts";
import { draftEffect } from "./draft-effect.ts";
import { noLifts, type Lifts } from "./what-if.ts";
import { recordDelegation } from "./put-delegation.ts";

const BEGIN_LATER = statement(
  "membership.delegation_begin_later",
  "update membership.delegation set status = 'paused', hold = 'not_yet_valid', valid_from = $2 where id = $1",
);

/** Whose delegation a draft is: the caller's own; only Sallyport's services write for others. */
export const delegatorOf = (caller: Caller, draft: Pick<DelegationDraft, "delegator_id" | "id">): string => {
  if (caller.tenant !== "*") {
    if (draft.delegator_id !== undefined && draft.delegator_id !== caller.sub)
      throw new Problem("access_denied", { detail: "Nobody delegates for somebody else." });
    // A chosen id would tell whether another tenant has it.
    if (draft.id !== undefined) throw new Problem("unprocessable", { errors: [{ path: "/id", message: "is made by the server" }] });
  }
  return draft.delegator_id ?? caller.sub;
};

/** Writes a delegation with its meter, its log entry, its events and its audit row in one version; or answers the key again. */
export const createDelegation = async (
  context: MembershipContext,
  call: {
    readonly caller: Caller;
    readonly scope: TenantScope;
    readonly draft: DelegationDraft;
    readonly key: KeyedCall;
    readonly actor: Actor;
    readonly tenantId: string;
    readonly lifts?: () => Promise<Lifts>;
  },
): Promise<KeyedAnswer> => {
  const { draft, key, actor, tenantId } = call;
  const once = createKeyedWrite(key);
  // Asked before the write, for the answer is read from this graph; without a digest to be held to, nobody reads it.
  const lifts = draft.what_if_digest === undefined || call.lifts === undefined ? noLifts : await call.lifts();
  await context.write({ ...actor.by, tenantId }, (tx) =>
    once.work(tx.sql, async () => {
      const now = context.now();
      const written = await checkDraft(tx.sql, call.scope, draft, {
        id: draft.id ?? `delegation:${randomUUID()}`,
        delegatorId: delegatorOf(call.caller, draft),
        createdBy: call.caller.sub,
        config: context.config,
        now,
      });
      const own = scopeOfTenant(tenantId);
      if ((await readDelegation(tx.sql, call.scope, written.id)) !== undefined) throw new Problem("already_exists");
      const effect = await draftEffect(tx.sql, own, draft, written, context.dataScope, lifts);
      if (draft.what_if_digest !== undefined && draft.what_if_digest !== effect.what_if_digest)
        throw new Problem("what_if_stale", { members: { what_if: effect } });
      if (written.validFrom !== null) await tx.sql.run(BEGIN_LATER, [written.id, written.validFrom]);
      await recordDelegation(tx, written.id);
      const row = await readDelegation(tx.sql, own, written.id);
      if (row === undefined) throw new Error("what was written is there");
      const after = delegationView(row);
      const watchers = await listWatchers(tx.sql, row.person_id, row.agent_id);
      return {
        answerAt: (version) => ({ status: 201, headers: { etag: tagOf(row), ...versioned(version) }, body: after }),
        ...reportOf([{ op: "granted", after, tenantId, watchers }], actor),
      };
    }),
  );
  return once.answer();
};
