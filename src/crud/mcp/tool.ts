import type { MaskKind } from "#contract/data-scope.ts";
import type { EvaluationQuery } from "#pdp-client/pdp-client.ts";
import type { Caller, SignInDemand } from "#authn/caller.ts";
import type { Template } from "#crud/systems/template.ts";
import type { Fault } from "#contract/problem.ts";
import type { SchemaCheck } from "#parsing/foreign-schema.ts";
import type { SchemaCaller } from "#parsing/schema-issues.ts";
import type { Pointer } from "#contract/json-pointer.ts";

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

/** Which rows of an output may leave, and where the columns that decide it stand. */
export interface RowRules {
  readonly resourceType: string;
  readonly rows: Pointer;
  readonly columns: ReadonlyMap<string, Pointer>;
  /** A read that must show the row under the same filter before a write starts. */
  readonly guard?: { readonly tool: () => Tool; readonly input: Template };
}

export interface FileMask {
  readonly pointer: Pointer;
  readonly kind: MaskKind;
  /** Action of the rows' resource type whose permit lifts the mask. */
  readonly unlessAllowed?: string;
}

/** A mapping of a call to questions for the decision point. */
export interface AskMapping {
  /** The pairs that it asks, `resource/action`. */
  readonly pairs: readonly string[];
  /** Throws `mapping_error` when the call gives nothing to decide on. */
  asks(call: MappedCall): readonly EvaluationQuery[];
}

/** What a mapping may look at. */
export interface MappedCall {
  readonly toolName: string;
  readonly arguments: Readonly<Record<string, unknown>>;
  readonly caller: Caller;
  readonly now: Date;
}

/** What the pipeline needs to know of a tool beyond its definition. */
export interface CallRules {
  /** The application whose chain must reach the tool. */
  readonly app?: string;
  readonly scopes: readonly string[];
  /** What is decided beside `tools/call`; every one must be permitted. */
  readonly mappings: readonly AskMapping[];
  readonly rows?: RowRules;
  readonly masks: readonly FileMask[];
  readonly stepUp?: SignInDemand;
  readonly timeoutMs: number;
  /** Held before the call, integer micro-USD. */
  readonly reserveMicro: bigint;
  readonly isReadOnly: boolean;
  readonly isDestructive: boolean;
  /** What arguments must meet besides the listed schema; the digest is that of its text. */
  readonly inputCheck?: { readonly digest: string; readonly check: SchemaCheck };
  readonly checkOutput?: SchemaCheck;
  /** A longer answer is cut to so many bytes, and goes on with a cursor. */
  readonly cutsAtBytes?: number;
  /** Input member that says how many rows are wanted. */
  readonly wantedRows?: string;
}

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
  checkArguments(value: unknown, caller?: SchemaCaller): Promise<readonly Fault[]>;
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
  /** Ends with the call's deadline, the client's hang-up and Sallyport's stop. */
  readonly signal: AbortSignal;
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

/** Throws `UpstreamFault`, which says whether anything was sent. */
export type Connector = (call: Invocation) => Promise<UpstreamAnswer>;
