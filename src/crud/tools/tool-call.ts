import type { Peer } from "#contract/ask.ts";
import type { MaskedPlace } from "#contract/masked-places.ts";
import type { Caller } from "#authn/model/caller.ts";
import type { MembershipParts } from "#crud/model/ask-membership.ts";
import type { SealedCursors } from "#authn/sealing/sealed-cursors.ts";
import type { Sealer } from "#authn/sealing/seal.ts";
import type { Claim } from "#http/shares.ts";
import type { PdpClient } from "#pdp-client/pdp-client.ts";
import type { Recorder } from "#events/audit/entry.ts";
import type { Database, TransactionSql } from "#store/database.ts";
import type { Log } from "#telemetry/log.ts";
import type { Metrics } from "#telemetry/metrics.ts";
import type { Tracing } from "#telemetry/tracing.ts";
import type { Snapshot } from "./catalogue.ts";
import type { KillSwitches } from "./kill-switches.ts";
import type { Tool } from "./tool.ts";
import type { View } from "./views.ts";

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
  /** Texts of its arguments that nobody is to see again: they leave as `[redacted]`, like credentials. */
  readonly concealed?: readonly string[] | undefined;
  /** Of a step of a workflow: the run, and what identifies the step in all its attempts. */
  readonly step?: {
    readonly key: string;
    readonly workflow: { readonly name: string; readonly version: string; readonly run: string; readonly step: string };
  };
  /** Who starts a workflow by its own endpoint waits by itself. */
  readonly isStart?: boolean;
  /** It is only decided, so that it is known what would be: no approval is used up. */
  readonly isSimulation?: boolean;
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

export interface Charged {
  readonly steps: number;
  readonly usd: number;
  readonly left: { readonly steps: number; readonly usd: number };
}

/** What a call that ended is charged; `released`: it was never sent, and nothing is. */
export interface Settlement {
  readonly callId: string;
  readonly reservationId: string;
  readonly micro: bigint;
  readonly steps: number;
  readonly outcome: "ok" | "failed" | "unknown" | "released";
  readonly correlationId: string;
}

/** Charges of calls, durable until membership acknowledges them. */
export interface Settlements {
  /** Writes it in a running transaction; `deliverStored` sends it after the commit. */
  post(sql: TransactionSql, one: Settlement): void;
  deliverStored(one: Settlement): Promise<void>;
  /** What is due of all processes; also comes round by itself. */
  deliverDue(): Promise<void>;
  /** Sends it now; what cannot be sent is stored and is `pending`. Throws where it cannot be stored either. */
  settle(one: Settlement): Promise<Charged | "released" | "pending">;
  [Symbol.asyncDispose](): Promise<void>;
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
  /** A claim of a tenant to bytes of upstream answers; each call has one, to its end. */
  readonly answerShares: (tenant: string) => Claim;
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
