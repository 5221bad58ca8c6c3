import type { Problem } from "#contract/problem.ts";
import type { EntryDraft } from "#events/audit/entry.ts";
import type { TransactionSql } from "#store/database.ts";
import type { WorkflowDocument } from "#crud/workflows/model/workflow-document.ts";
import type { RunRow } from "./run-rows.ts";

/** One attempt of a step, as the tool-call pipeline takes it. */
export interface StepCall {
  /** Subject, agent and delegation are decided anew. */
  readonly run: RunRow;
  readonly path: string;
  /** UUID that the run, the path and the attempt make: its reservation is found after a crash. */
  readonly callId: string;
  readonly tool: string;
  readonly arguments: unknown;
  readonly purpose: "step" | "compensation";
  /** It is decided for a simulation: no approval is used up. */
  readonly isSimulation?: boolean;
  /** Null: the subject acts alone. */
  readonly agent: string | null;
  readonly signal: AbortSignal;
}

/** What a call is charged; written with its result and delivered until it is acknowledged. */
export interface Charge {
  readonly callId: string;
  readonly reservationId: string;
  readonly micro: bigint;
  readonly steps: number;
  readonly outcome: "ok" | "failed" | "unknown" | "released";
  readonly correlationId: string;
}

/** How an invocation ended: `unknown` it was sent, and what came of it cannot be determined. */
export type CallEnding =
  | { readonly effect: "ok"; readonly value: unknown }
  | {
      readonly effect: "not_sent" | "failed" | "done" | "unknown";
      readonly problem: Problem;
      /** Of the upstream, where it answered. */
      readonly status: number | undefined;
    };

/**
 * The tool-call pipeline as the engine drives it: what each function returns has the next one. Between `entry` and `invoke` the engine
 * commits the opened entry; with the result it commits what `close` returns.
 */
export interface StepCalls {
  /** Nothing is reserved, written or sent. Throws a `Problem`; the refusal is recorded. */
  decide(call: StepCall): Promise<DecidedStep>;
  /** In the running transaction. */
  postCharge(sql: TransactionSql, charge: Charge): void;
  /** After the commit. Never throws: what is not acknowledged is delivered again. */
  deliverCharge(charge: Charge): Promise<void>;
}

export interface DecidedStep {
  /** Read-only, idempotent by its approved definition, or its upstream honours the key: it may run again with the same key. */
  readonly isRepeatable: boolean;
  readonly decisionId: string;
  /** The same call id gets the same reservation. Throws a `Problem`, and then nothing is reserved. */
  reserve(): Promise<ReservedStep>;
}

export interface ReservedStep {
  readonly reservation: { readonly id: string; readonly micro: bigint; readonly steps: number } | undefined;
  /** The reservation has ended, or ends before a call may: it is released and the next attempt has its own. */
  readonly isLapsed: boolean;
  /** Phase `open`, act id the call's. */
  readonly entry: EntryDraft;
  /** Never throws: what cannot be released now is tried again. */
  release(): Promise<void>;
  /** Never throws. */
  invoke(idempotencyKey: string): Promise<InvokedStep>;
}

export interface InvokedStep {
  readonly ending: CallEnding;
  readonly close: { readonly entry: EntryDraft; readonly charge: Charge | undefined };
}

/** A task that a step waits for; its id is the topic of the signal that answers it. */
export interface TaskDraft {
  readonly id: string;
  readonly run: RunRow;
  readonly path: string;
  readonly kind: "approval" | "form" | "choice" | "unknown_outcome";
  readonly decisions: readonly string[];
  /** `human.task`'s `with`, evaluated; of an unknown outcome the owner is assigned. */
  readonly fields: Readonly<Record<string, unknown>>;
  readonly dueAt: Date | undefined;
  readonly expiresAt: Date | undefined;
  /** Of the workflow: node id. */
  readonly owner: string;
}

/** An undo failed; only the initiator can go on, by a stronger sign-in, or by signing in at an upstream. */
export type RunNotice = "compensation_incomplete" | "step_up" | "reauth";

/** Tasks, as far as the engine opens and closes them, and what owner and initiator are notified of. In the engine's own transaction. */
export interface TaskPort {
  openTask(sql: TransactionSql, task: TaskDraft): Promise<void>;
  /** One that is decided stays as it is. */
  closeTask(sql: TransactionSql, id: string, status: "EXPIRED" | "CANCELLED"): Promise<void>;
  notifyPerson(sql: TransactionSql, run: RunRow, notice: { readonly event: RunNotice; readonly to: string }): Promise<void>;
}

/** Variables of expressions: `input`, `context`, `steps`, `run`, `caller`, `now`, loop variables, `error`, `output`. */
export type Scope = Readonly<Record<string, unknown>>;

/** Both throw an `Error` whose message may be shown. */
export interface Expressions {
  /** Replaces each text that is an expression. */
  evaluate(value: unknown, scope: Scope): unknown;
  isTrue(condition: string, scope: Scope): boolean;
}

/** The version that a run began with. */
export type FindDocument = (run: Pick<RunRow, "tenant" | "name" | "config_version">) => Promise<WorkflowDocument>;
