import type { EntryDraft } from "#events/audit/entry.ts";

export type Phase = "pending" | "running" | "waiting" | "suspended" | "undoing" | "completed" | "faulted" | "cancelled";
export type WaitReason = "human" | "timer" | "retry" | "denied" | "budget" | "step_up" | "reauth" | "unavailable" | "unknown_outcome";

/** An error of a step, as expressions and the API see it. */
export interface StepError {
  readonly type: string;
  readonly status: number;
  readonly title?: string;
  readonly detail?: string;
  /** Path of the step. */
  readonly instance?: string;
}

/** A row of `crud.wf_run`. Times are RFC 3339. */
export interface RunRow {
  readonly id: string;
  readonly tenant: string;
  readonly name: string;
  /** Tenant without `tenant:`, or `all`: of the document. */
  readonly namespace: string;
  readonly version: string;
  readonly config_version: number;
  readonly subject: string;
  readonly agent: string | null;
  readonly delegation_id: string | null;
  readonly client_id: string | null;
  readonly scopes: readonly string[];
  readonly acr: string | null;
  readonly auth_time: string | null;
  readonly correlation_id: string;
  readonly input: unknown;
  readonly context: unknown;
  readonly output: unknown;
  readonly error: StepError | null;
  readonly phase: Phase;
  readonly reason: string | null;
  readonly undo_for: "fault" | "cancel" | null;
  readonly desired: "cancel" | "cancel_undo" | "suspend" | "revoke" | null;
  readonly state_version: number;
  readonly epoch: bigint;
  readonly wake_at: string | null;
  readonly wake_seq: bigint;
  readonly done_seq: number;
  readonly cost_micro: bigint;
  readonly cost_steps: number;
  readonly created_at: string;
  readonly updated_at: string;
  readonly ended_at: string | null;
  readonly deadline: string;
}

export type StepStatus = "running" | "waiting" | "done" | "skipped" | "failed" | "unknown" | "undone" | "cancelled";

/** A row of `crud.wf_step`. */
export interface StepRow {
  readonly path: string;
  readonly kind: string;
  readonly status: StepStatus;
  readonly reason: WaitReason | null;
  readonly attempt: number;
  /** How often a `retry` took its error. */
  readonly retries: number;
  /** Arguments of a call, items of a loop, evaluated at the first entry. */
  readonly input: unknown;
  readonly output: unknown;
  readonly error: StepError | null;
  readonly undo: { readonly tool: string; readonly input?: unknown; readonly error?: StepError } | null;
  readonly undo_of: string | null;
  readonly task_id: string | null;
  readonly wake_at: string | null;
  readonly done_seq: number | null;
  readonly started_at: string;
  readonly ended_at: string | null;
}

/** A row of `crud.wf_attempt` without an outcome. */
export interface OpenAttempt {
  readonly path: string;
  readonly attempt: number;
  readonly call_id: string;
  readonly reservation_id: string | null;
  readonly held_micro: bigint;
  readonly held_steps: number;
  readonly is_repeatable: boolean;
  readonly entry: EntryDraft;
}

export interface SignalRow {
  readonly topic: string;
  readonly signal_id: string;
  readonly payload: Readonly<Record<string, unknown>>;
}
