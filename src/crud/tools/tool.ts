import type { Caller } from "#authn/model/caller.ts";
import type { Claim } from "#http/shares.ts";
import type { RowsOf, RulesOf } from "#crud/systems/tool-rules.ts";
import type { Issue } from "#contract/problem.ts";
import type { SchemaCaller } from "#parsing/schema-issues.ts";

/** What a tool says of itself; its digest is taken over exactly this. */
export interface Definition {
  readonly name: string;
  readonly title?: string;
  readonly description: string;
  readonly inputSchema: Readonly<Record<string, unknown>>;
  readonly outputSchema?: Readonly<Record<string, unknown>>;
  readonly annotations?: Readonly<Record<string, unknown>>;
}

export type ToolState = "serving" | "disabled" | "quarantined";

export type RowRules = RowsOf<Tool>;
/** What a call meets besides its definition. */
export type CallRules = RulesOf<Tool>;

export interface Tool {
  readonly name: string;
  readonly underscore: string;
  readonly definition: Definition;
  /** SHA-256 over RFC 8785 of the definition, hex. */
  readonly digest: string;
  readonly source: "system" | "workflow";
  readonly provider: string;
  readonly instance: string;
  readonly env?: string;
  readonly owner?: string;
  /** Absent = of all tenants; for callers of others it does not exist. */
  readonly tenants?: readonly string[];
  readonly state: ToolState;
  /** Of Sallyport itself: no delegation, no budget. */
  readonly isBuiltIn: boolean;
  /** All issues of arguments. Throws `overloaded`. */
  checkArguments(value: unknown, caller?: SchemaCaller): Promise<readonly Issue[]>;
  readonly rules: CallRules;
  readonly connector: Connector;
  /** What its file says of what it gives for an answer of its upstream. */
  readonly tests?: readonly ToolTest[];
}

export interface ToolTest {
  readonly name: string;
  /** Answers what is wrong; undefined: it passed. Nothing is sent. */
  run(): Promise<string | undefined>;
}

/** What a connector gets: everything before it has permitted, reserved and recorded. */
export interface Invocation {
  readonly callId: string;
  readonly correlationId: string;
  readonly caller: Caller;
  readonly delegationId?: string | undefined;
  readonly decisionId: string;
  readonly toolName: string;
  /** The view that it was called in. */
  readonly viewName: string;
  readonly arguments: Readonly<Record<string, unknown>>;
  /** Of a step of a workflow: one key for all its attempts. Of a call that starts a workflow: the client's. */
  readonly idempotencyKey?: string | undefined;
  /** Whether it came by the endpoint that starts workflows. */
  readonly isStart?: boolean | undefined;
  /** Ends with the call's deadline, the client's hang-up and Sallyport's stop. */
  readonly signal: AbortSignal;
  /** Bytes of answers that the call takes of its tenant's share. */
  readonly claim: Claim;
  /** Reads one credential; its value is removed from whatever comes back, unless it is too short to be told from other text (`conceal`). */
  readonly secret: (uri: string) => Promise<string>;
  /** Takes a credential that was had in another way, or is short, out of whatever comes back too. */
  readonly conceal: (value: string) => void;
  /** For paged reads: whether these items are all that is wanted. */
  readonly isEnough?: ((value: unknown) => boolean) | undefined;
  readonly now: Date;
}

export interface UpstreamAnswer {
  readonly value: unknown;
  readonly status?: number;
  /** Content that is no JSON (images of MCP servers); follows the text item. */
  readonly media?: readonly Readonly<Record<string, unknown>>[] | undefined;
  /** There was more than the page limit let through. */
  readonly isCut?: boolean;
  /** Integer micro-USD really used, where the upstream says. */
  readonly costMicro?: bigint;
}

/** Throws `UpstreamError`, which says whether anything was sent. */
export type Connector = (call: Invocation) => Promise<UpstreamAnswer>;
