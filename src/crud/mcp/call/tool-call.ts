import type { ProblemCode } from "#contract/problem.ts";
import type { Caller } from "#authn/caller.ts";
import type { Snapshot } from "#crud/mcp/catalogue.ts";
import type { View } from "#crud/mcp/views.ts";

export type Dialect = "contract" | "standard";

/** One call as it enters: who, where, and what was sent. Nothing of it changes on the way. */
export interface ToolCall {
  readonly callId: string;
  readonly correlationId: string;
  readonly dialect: Dialect;
  /** As the client spelt it: `tools/call` or `tools/invoke`. */
  readonly method: string;
  /** As the client spelt it; may be the underscore form. */
  readonly name: string;
  readonly arguments: unknown;
  readonly idempotencyKey?: string;
  readonly caller: Caller;
  readonly view: View;
  readonly snapshot: Snapshot;
  /** The client hung up. */
  readonly signal: AbortSignal;
}

/** What leaves: the shaped value and what follows it. */
export interface ToolReply {
  readonly callId: string;
  readonly decisionId: string;
  readonly value: unknown;
  readonly media: readonly Readonly<Record<string, unknown>>[];
  readonly outputSchema?: Readonly<Record<string, unknown>>;
  /** The record of the call could not be closed yet. */
  readonly isAuditPending: boolean;
  /** Kept from an earlier call with the same idempotency key. */
  readonly isReplay: boolean;
}

/** The codes that say a part of the house is away; the dialects answer them with 503. */
export const unavailableCodes: ReadonlySet<ProblemCode> = new Set<ProblemCode>([
  "audit_unavailable",
  "decision_unavailable",
  "decision_not_recorded",
  "engine_failed",
  "pdp_unavailable",
  "membership_unavailable",
  "secrets_unavailable",
  "store_unavailable",
  "graph_unavailable",
  "budget_unavailable",
  "event_backlog_full",
  "stopping",
]);
