import type { Peer } from "#contract/ask.ts";
import type { MaskedPlace } from "#contract/masked-places.ts";
import type { Caller } from "#authn/caller.ts";
import type { MembershipParts } from "#crud/ask-membership.ts";
import type { SealedCursors } from "#authn/sealed-cursors.ts";
import type { Sealer } from "#authn/seal.ts";
import type { PdpClient } from "#pdp-client/pdp-client.ts";
import type { Recorder } from "#events/audit/entry.ts";
import type { Database } from "#store/database.ts";
import type { Log } from "#telemetry/log.ts";
import type { Metrics } from "#telemetry/metrics.ts";
import type { Tracing } from "#telemetry/tracing.ts";
import type { Snapshot } from "#crud/mcp/catalogue.ts";
import type { KillSwitches } from "#crud/mcp/kill-switches.ts";
import type { Tool } from "#crud/mcp/tool.ts";
import type { Settlements } from "./settlements.ts";
import type { View } from "#crud/mcp/views.ts";

export type Dialect = "contract" | "standard" | "execute" | "workflow";

/** One call as it enters: who, where, and what was sent. Nothing of it changes on the way. */
export interface ToolCall {
  readonly callId: string;
  readonly correlationId: string;
  readonly dialect: Dialect;
  /** As the client spelt it: `tools/call`, `tools/invoke` or `execute`. */
  readonly method: string;
  /** As the client spelt it; may be the underscore form. */
  readonly name: string;
  readonly arguments: unknown;
  readonly idempotencyKey: string | undefined;
  /** Of a step of a workflow: the run, and what identifies the step in all its attempts. */
  readonly step?: {
    readonly key: string;
    readonly workflow: { readonly name: string; readonly version: string; readonly run: string; readonly step: string };
  };
  readonly caller: Caller;
  readonly view: View;
  readonly snapshot: Snapshot;
  /** The client hung up. */
  readonly signal: AbortSignal;
}

/** Whose call or list it is: of a tenant the person, with all that act for them, and the client that is an agent of theirs. */
export const principalOf = ({ tenant, sub, actors, agent }: Pick<Caller, "tenant" | "sub" | "actors" | "agent">): string =>
  [tenant, sub, ...actors, ...(agent === undefined ? [] : ["", agent])].join(" ");

/** A call of a tool that there is. */
export interface ResolvedCall {
  readonly call: ToolCall;
  readonly tool: Tool;
}

/** What leaves: the shaped value and what follows it. */
export interface ToolReply {
  readonly callId: string;
  readonly decisionId: string;
  readonly value: unknown;
  readonly media: readonly Readonly<Record<string, unknown>>[];
  readonly outputSchema: Readonly<Record<string, unknown>> | undefined;
  /** What was hidden in the value. */
  readonly masked: readonly MaskedPlace[];
  /** What the call cost whoever's delegation it used. */
  readonly costMicro: bigint;
  /** The record of the call could not be closed yet. */
  readonly isAuditPending: boolean;
  /** Kept from an earlier call with the same idempotency key. */
  readonly isReplay: boolean;
}

/** What the steps of a tool call work with. */
export interface CallParts extends MembershipParts {
  readonly secrets: Peer;
  readonly secretsAudience: string;
  readonly pdpClient: PdpClient;
  readonly kills: Pick<KillSwitches, "of" | "guard" | "requireKnown">;
  readonly recorder: Pick<Recorder, "open" | "one">;
  readonly database: Database;
  readonly publicOrigin: string;
  /** 32 bytes; digests of contents are keyed by it. */
  readonly digestKey: Uint8Array;
  readonly settlements: Settlements;
  /** Seals the answers that idempotency keys keep. */
  readonly replySealer: Sealer;
  /** Where answers go on that were cut: items given before. */
  readonly answerCursor: SealedCursors<number>;
  readonly callTimeoutMs: number;
  readonly maxDelegationDepth: number;
  /** Unique for this start of the process. */
  readonly node: string;
  /** Ends when Sallyport stops. */
  readonly stopping: AbortSignal;
  readonly now: () => Date;
  readonly log: Log;
  readonly metrics: Metrics;
  readonly tracing?: Tracing | undefined;
}
