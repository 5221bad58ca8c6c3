import type { Obligation } from "#contract/authzen.ts";
import type { Inputs } from "#pdp/model/ask.ts";
import type { Verdict } from "#pdp/engine/decision-point.ts";
import type { ActBinding } from "#pdp/engine/act-binding.ts";

/** One item of a recorded call, as the row holds it. Wire names. */
export interface StoredItem {
  /** Place in a batch; absent for a single call. */
  readonly index?: number;
  readonly action: string;
  readonly type: string;
  /** Absent when sealed. */
  readonly id?: string;
  /** A secret's id, AES-256-GCM, base64url. */
  readonly sealed_id?: string;
  /** Searchable name of a secret. */
  readonly ref?: string;
  readonly decision: boolean;
  readonly reason?: string;
  readonly policies: readonly string[];
  readonly obligations: readonly Obligation[];
  readonly errors?: readonly string[];
  readonly requestable: boolean;
  readonly cached: boolean;
  /** Asked to know what to show, not because somebody did something: nobody was refused by it. */
  readonly showing?: true;
  /** Digests: of the facts, and of properties, claims and the rest of the context. */
  readonly facts?: string;
  readonly context: string;
  readonly inputs: Inputs;
  /** Of a denial that may be asked to be lifted: by which template, and what an approval would hold for. */
  readonly request?: { readonly template: string; readonly agents: readonly string[]; readonly binding: ActBinding };
  /** The approval without which it would have been a denial. */
  readonly approval?: string;
}

export interface StoredCall {
  readonly call_id: string;
  readonly part: number;
  readonly decided_at: string;
  readonly tenant: string;
  readonly subject: string;
  readonly agent: string | null;
  readonly pep: string;
  readonly policy_version: string;
  readonly graph_version: bigint | null;
  readonly latency_us: number;
  readonly request_id: string | null;
  readonly correlation_id: string;
}

/** As the graph called them then. Only to be found and shown by: the audit log proves the ids. */
export interface CallNames {
  readonly subject_name: string | null;
  readonly agent_name: string | null;
}

/** A decision read back. */
export interface Recorded extends Omit<StoredCall, "part" | "agent" | "request_id"> {
  readonly decision_id: string;
  readonly agent?: string;
  /** What they were called when it was decided. */
  readonly names: { readonly subject?: string; readonly agent?: string };
  readonly item: StoredItem;
  /** The resource's id, unsealed. */
  readonly resourceId?: string;
}

/** What the service hands over to be recorded. */
export interface CallDraft {
  readonly callId: string;
  /** True: ids of its items carry their index. */
  readonly batch: boolean;
  readonly decidedAt: Date;
  readonly pep: string;
  /** Tenant of items whose subject could not be placed. */
  readonly fallbackTenant: string;
  readonly policyVersion: string;
  readonly graphVersion: number | undefined;
  readonly latencyUs: number;
  readonly requestId?: string;
  readonly correlationId: string;
  readonly items: readonly { readonly index: number; readonly verdict: Verdict; readonly showing?: boolean }[];
}

/** A denial, or a permit to do more than view. */
export const isAct = ({ decision, action }: { readonly decision: boolean; readonly action: string }): boolean =>
  !decision || !action.startsWith("view");

/** Denials and acts must be on record before the answer leaves; permits to view may follow within 50 ms. */
export const mustBeDurable = (draft: CallDraft): boolean =>
  draft.items.some(({ verdict }) => isAct({ decision: verdict.decision, action: verdict.ask.action }));

/** A permit among them rests on an approval for one use: it is taken in the same commit. What is only shown takes none. */
export const usesUpApproval = (draft: CallDraft): boolean =>
  draft.items.some(({ verdict, showing = false }) => !showing && verdict.approval?.singleUse === true);
