import type { ServiceParts } from "#authn/callers/service-parts.ts";
import type { Ask } from "#pdp/model/ask.ts";
import type { Question } from "#pdp/model/question.ts";
import type { Recorded, StoredItem } from "#pdp/records/record.ts";
import type { ActBinder, ActBinding } from "#pdp/engine/act-binding.ts";
import { findLiveApprovals, isLiveApproval, voidApproval, type RequestRow } from "#pdp/records/request-store.ts";
import { tellRequests } from "#pdp/records/report-request.ts";
import { instanceActor } from "#pdp/records/act-actor.ts";

export interface Approval {
  readonly id: string;
  readonly singleUse: boolean;
}

/** What is asked, and under which policies. */
export interface Wanted {
  readonly ask: Ask;
  readonly question: Question;
  readonly binding: ActBinding;
  readonly policyVersion: string;
}

/** Approvals as one call sees them: read once a subject, and one for a single use is used once. */
export interface CallApprovals {
  /**
   * The live approval that holds for exactly this, under exactly these policies; not one that this call has used already. One whose
   * tool was defined anew, or whose delegation has ended, is voided at the sight of it.
   */
  find(wanted: Wanted): Promise<Approval | undefined>;
  /** It permitted an item of this call. */
  use(approval: Approval): void;
}

/** What the decision point asks of approvals. */
export interface Approvals {
  readonly bind: ActBinder["bind"];
  begin(): CallApprovals;
  /** Whether a recorded decision, asked again, would find an approval: the one that permitted it, or one given since it was denied. */
  holdsNow(recorded: Pick<Recorded, "tenant" | "subject"> & { readonly item: Pick<StoredItem, "approval" | "request"> }): Promise<boolean>;
}

export interface ApprovalsParts extends Pick<ServiceParts, "database" | "change" | "log" | "now"> {
  readonly acts: ActBinder;
}

/** Why an approval for this act can never hold again, if it cannot. */
const endOf = (row: RequestRow, binding: ActBinding, { facts }: Question): string | undefined => {
  if (row.definition !== null && binding.definition !== undefined && row.definition !== binding.definition) return "definition_changed";
  const { delegation } = facts;
  if (row.delegation_id === null || delegation?.id !== row.delegation_id) return undefined;
  return delegation.status === "revoked" || delegation.status === "expired" ? "revoked" : undefined;
};

export const createApprovals = ({ database, change, acts, log, now }: ApprovalsParts): Approvals => {
  /** The denial stands whether or not this can be told; the next ask tries again. */
  const end = (row: RequestRow, reason: string): Promise<void> =>
    change(async (inside) => {
      const voided = await voidApproval(inside, row.id, now(), reason);
      const acts = voided === undefined ? [] : [{ row: voided, act: "voided", by: instanceActor(`void-${row.id}`) } as const];
      return { result: undefined, ...tellRequests(acts) };
    }).catch((cause: unknown) => log.warn("pdp_approval_not_voided", { request: row.id, cause }));

  return {
    bind: acts.bind,
    holdsNow: async ({ tenant, subject, item: { approval, request } }) => {
      if (approval !== undefined) return isLiveApproval(database, approval, now());
      if (request === undefined) return false;
      return (await findLiveApprovals(database, tenant, subject, now())).some((row) => row.binding_digest === request.binding.whole);
    },
    begin: () => {
      const used = new Set<string>();
      const held = new Map<string, Promise<readonly RequestRow[]>>();
      const liveOf = (tenant: string, subject: string): Promise<readonly RequestRow[]> => {
        const key = JSON.stringify([tenant, subject]);
        const rows = held.get(key) ?? findLiveApprovals(database, tenant, subject, now());
        held.set(key, rows);
        return rows;
      };
      return {
        use: ({ id, singleUse }) => void (singleUse && used.add(id)),
        find: async ({ ask, question, binding, policyVersion }) => {
          for (const row of await liveOf(question.tenant, ask.subject.id)) {
            if (row.act_digest !== binding.act) continue;
            const reason = endOf(row, binding, question);
            if (reason !== undefined) {
              await end(row, reason);
              continue;
            }
            const fits =
              row.binding_digest === binding.whole &&
              row.policy_version === policyVersion &&
              row.delegation_id === (binding.delegationId ?? null) &&
              row.approval_id !== null &&
              !used.has(row.approval_id);
            if (fits && row.approval_id !== null) return { id: row.approval_id, singleUse: row.single_use };
          }
          return undefined;
        },
      };
    },
  };
};
