import type { DelegationDraft, DelegationPatch, WhatIf } from "#contract/delegations.ts";
import type { Sql } from "#store/database.ts";
import type { DataScopeOptions } from "#membership/graph/sql-data-scope.ts";
import type { Reach } from "#membership/graph/sql-pip.ts";
import { unrecorded } from "#membership/graph/write.ts";
import type { TenantScope } from "#membership/graph/tenant-scope.ts";
import type { MembershipContext } from "#membership/context/context.ts";
import { changeTerms } from "./change-terms.ts";
import { changeStatus } from "./change-status.ts";
import type { DelegationRow } from "./delegation-view.ts";
import { insertDelegation, type NewDelegation } from "./put-delegation.ts";
import { compareReach, noLifts, type Lifts } from "./what-if.ts";

type Warning = WhatIf["warnings"][number];

const warningsOf = (draft: DelegationDraft, written: NewDelegation, before: Reach, after: Reach): readonly Warning[] => {
  const warnings: Warning[] = [];
  const warn = (code: string, message: string): void => void warnings.push({ code, message });
  const added = after.tools.filter((tool) => !before.tools.includes(tool));
  if (draft.capabilities === null) warn("all_capabilities", "The agent gets every tool it has, and every one it is given later.");
  if (draft.capabilities?.length === 0) warn("no_tools", "It names no tool, so the agent can do nothing with it.");
  else if (added.length === 0) warn("adds_nothing", "Other live delegations already give all of these tools.");
  const writing = after.writingTools.filter((tool) => added.includes(tool));
  if (writing.length > 0) warn("can_change_data", `These tools change data: ${writing.join(", ")}.`);
  const unusable = (draft.capabilities ?? []).filter((tool) => !after.tools.includes(tool));
  if (unusable.length > 0)
    warn("not_usable_now", `Not approved, or changed since they were approved for the agent: ${unusable.join(", ")}.`);
  if (written.validFrom !== null) warn("not_yet_valid", "Nothing of this holds before it begins.");
  if (draft.budget_usd === 0) warn("no_money", "Only tools without a price can be called.");
  return warnings;
};

/** The draft as it is digested: what the person wrote, without the digest that the answer names. */
const digested = ({ what_if_digest: _digest, ...draft }: DelegationDraft): unknown => draft;

/**
 * Writes the draft as if it began now and tells what that gives. The row stays in the transaction: the caller keeps it
 * (and sets its true beginning) or throws it away.
 */
export const draftEffect = (
  sql: Sql,
  scope: TenantScope,
  draft: DelegationDraft,
  written: NewDelegation,
  dataScope: DataScopeOptions,
  lifts: Lifts,
): Promise<WhatIf> =>
  compareReach(
    sql,
    scope,
    { userId: written.delegatorId, agentId: written.agentId },
    {
      draft: digested(draft),
      change: () => insertDelegation(sql, { ...written, validFrom: null }),
      dataScope,
      lifts,
      warn: (before, after) => warningsOf(draft, written, before, after),
    },
  );

/** What a change of a delegation that is there adds and takes. What is left unread is told as hidden: it shows nothing to anybody. */
const changeEffect = (
  sql: Sql,
  scope: TenantScope,
  row: DelegationRow,
  parts: Pick<Parameters<typeof compareReach>[3], "draft" | "change" | "dataScope" | "warn">,
): Promise<WhatIf> => compareReach(sql, scope, { userId: row.delegator_id, agentId: row.agent_id }, { ...parts, lifts: noLifts });

/** What ending a delegation takes away. */
export const endEffect = (sql: Sql, scope: TenantScope, row: DelegationRow, dataScope: DataScopeOptions): Promise<WhatIf> =>
  changeEffect(sql, scope, row, {
    draft: { revoke: row.id },
    change: async () => void (await changeStatus(unrecorded(sql), scope, row, { op: "revoked", status: "revoked", endReason: "what-if" })),
    dataScope,
    warn: (before, after) => {
      const lost = before.tools.filter((tool) => !after.tools.includes(tool));
      return lost.length > 0 ? [] : [{ code: "loses_nothing", message: "Other live delegations keep giving all of these tools." }];
    },
  });

/** What other terms would add and take. */
export const patchEffect = (
  sql: Sql,
  scope: TenantScope,
  row: DelegationRow,
  patch: DelegationPatch,
  context: Pick<MembershipContext, "config" | "now" | "dataScope">,
): Promise<WhatIf> =>
  changeEffect(sql, scope, row, {
    draft: { id: row.id, patch },
    change: async () => void (await changeTerms(unrecorded(sql), scope, row, patch, context)),
    dataScope: context.dataScope,
    warn: (before, after) =>
      before.tools.join() === after.tools.join()
        ? [{ code: "same_tools", message: "It gives and takes no tool; other live delegations count too." }]
        : [],
  });
