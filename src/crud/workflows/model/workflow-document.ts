/**
 * A workflow as the engine runs it: the subset of the Open Workflow DSL 1.0 that Sallyport takes, validated, durations in milliseconds.
 * Values (`with`, `set`, `data`, ...) stay as written: a text that is exactly `${ ... }` is a CEL expression, checked when it was read.
 */
export interface WorkflowDocument {
  /** `document.name`; the wire name has `_` for `-`. */
  readonly name: string;
  /** Tenant id; undefined: all. */
  readonly tenant: string | undefined;
  /** Semantic version. */
  readonly version: string;
  readonly title: string;
  readonly summary: string;
  readonly tags: readonly string[];
  /** Node id of a person or group. */
  readonly owner: string;
  readonly mcp: { readonly isEnabled: boolean; readonly waitMs: number; readonly annotations: Readonly<Record<string, unknown>> };
  /** JSON Schema 2020-12, root object. */
  readonly input: Readonly<Record<string, unknown>>;
  readonly output: { readonly schema?: Readonly<Record<string, unknown>>; readonly as?: Value };
  readonly timeoutMs: number;
  readonly steps: readonly Step[];
  /** `file:line:column` of each expression by its text, where it stands first. */
  readonly places: Readonly<Record<string, string>>;
}

/** JSON whose texts may be expressions. */
export type Value = unknown;

/** Text of a CEL expression, without `${ }`. */
export type Condition = string;

/** What every task has. Its path: `/do/<name>`, `/do/<for>[i]/<name>`, `/do/<fork>/<branch>/<name>`, `/do/<try>/try|catch/<name>`. */
interface TaskBase {
  readonly name: string;
  readonly if?: Condition;
  readonly outputAs?: Value;
  readonly exportAs?: Value;
  readonly timeoutMs?: number;
  /** `continue` unless given: the next sibling; `exit` ends this list, `end` the run; else a later sibling. */
  readonly then?: string;
  readonly metadata?: Readonly<Record<string, unknown>>;
}

export type Step = CallStep | HumanStep | SetStep | DoStep | RaiseStep | WaitStep | SwitchStep | ForkStep | ForStep | TryStep;
export type StepKind = Step["kind"];

export interface CallStep extends TaskBase {
  readonly kind: "call";
  /** Dotted name of a tool. */
  readonly tool: string;
  readonly with: Value;
  /** `metadata.compensate` of the task. Sees `output`, the step's own result. */
  readonly compensate?: { readonly tool: string; readonly with: Value };
  readonly onUnknown: "retry" | "ask" | "fail";
}

export interface HumanStep extends TaskBase {
  readonly kind: "human";
  readonly taskKind: "approval" | "form" | "choice";
  readonly title: Value;
  readonly description?: Value;
  /** Ids of persons, groups, roles, or expressions that give them. */
  readonly assign: Value;
  readonly required: number;
  readonly decisions: readonly string[];
  readonly form?: string;
  readonly data?: Value;
  readonly evidence?: Value;
  /** True: the person who started the run may not decide; step names: nor may those who decided these steps. */
  readonly separationOfDuties: boolean | readonly string[];
  readonly dueMs?: number;
  readonly expiresMs: number;
  readonly onReject: "raise" | "continue";
  readonly onExpire: "raise" | "continue";
}

export interface SetStep extends TaskBase {
  readonly kind: "set";
  readonly set: Value;
}
export interface DoStep extends TaskBase {
  readonly kind: "do";
  readonly steps: readonly Step[];
}
export interface WorkflowError {
  readonly type: string;
  readonly status: number;
  readonly title?: Value;
  readonly detail?: Value;
}
export interface RaiseStep extends TaskBase {
  readonly kind: "raise";
  readonly error: WorkflowError;
}
export interface WaitStep extends TaskBase {
  readonly kind: "wait";
  readonly waitMs: number;
}
export interface SwitchStep extends TaskBase {
  readonly kind: "switch";
  /** The first whose `when` is true; the last has none. */
  readonly cases: readonly { readonly name: string; readonly when?: Condition; readonly then: string }[];
}
export interface ForkStep extends TaskBase {
  readonly kind: "fork";
  readonly branches: readonly Step[];
}
export interface ForStep extends TaskBase {
  readonly kind: "for";
  readonly each: string;
  readonly at: string;
  readonly in: Condition;
  readonly while?: Condition;
  readonly steps: readonly Step[];
}
export interface Retry {
  readonly when?: Condition;
  readonly exceptWhen?: Condition;
  readonly delayMs: number;
  readonly backoff: { readonly kind: "constant" | "linear" | "exponential"; readonly factor: number; readonly incrementMs: number };
  readonly maxAttempts: number;
  /** Of all attempts together. */
  readonly maxDurationMs?: number;
  readonly maxAttemptMs?: number;
  readonly jitter?: { readonly fromMs: number; readonly toMs: number };
}
export interface TryStep extends TaskBase {
  readonly kind: "try";
  readonly steps: readonly Step[];
  readonly catch: {
    readonly errors?: { readonly type?: string; readonly status?: number; readonly title?: string; readonly detail?: string };
    /** Name of the error in scope; `error` unless given. */
    readonly as: string;
    readonly when?: Condition;
    readonly exceptWhen?: Condition;
    readonly retry?: Retry;
    readonly steps: readonly Step[];
  };
}

/** Step errors of the DSL and of Sallyport; types of the older name are the same. */
export const ERROR_TYPES = "https://open-workflow-specification.org/spec/1.0.0/errors/";
