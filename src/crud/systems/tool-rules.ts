import type { DefinitionChange } from "#contract/configs.ts";
import type { MaskKind } from "#contract/data-scope.ts";
import { microFromUsd, usdFromMicro } from "#contract/ids.ts";
import { isObject } from "#contract/is-object.ts";
import { parsePointer, pointerText, type Pointer } from "#contract/json-pointer.ts";
import type { SignInDemand } from "#authn/model/caller.ts";
import { prepareSchema, type SchemaCheck } from "#parsing/foreign-schema.ts";
import { sha256Of } from "#crud/model/digest.ts";
import type { AskMapping } from "#crud/model/mapped-call.ts";
import { compileAuthz } from "./authz-mapping.ts";
import { compileAuthzenMapping } from "./authzen-mapping.ts";
import type { HttpDocument, LoopbackDocument, SystemDocument } from "./system-document.ts";
import { compileTemplate, type Template, type TemplateError } from "./template.ts";

/** Which rows of an output may leave, and where the columns that decide it stand. */
export interface RowsOf<T> {
  readonly resourceType: string;
  readonly rows: Pointer;
  readonly columns: ReadonlyMap<string, Pointer>;
  /** A read that must show the row under the same filter before a write starts. */
  readonly guard?: { readonly tool: () => T; readonly input: Template };
}

export interface FileMask {
  readonly pointer: Pointer;
  readonly kind: MaskKind;
  /** Action of the rows' resource type whose permit lifts the mask. */
  readonly unlessAllowed?: string;
}

/**
 * What a call of a tool meets besides its definition, rule by rule. `T` is the tool. Each member has its declaration below, and is enforced by a
 * step of the call or by the connector.
 */
export interface RulesOf<T> {
  /** The application whose chain must reach the tool. */
  readonly app?: string;
  readonly scopes: readonly string[];
  /** What is decided beside `tools/call`; every one must be permitted. */
  readonly mappings: readonly AskMapping[];
  readonly rows?: RowsOf<T>;
  readonly masks: readonly FileMask[];
  readonly stepUp?: SignInDemand;
  readonly timeoutMs: number;
  /** Reserved before the call, integer micro-USD. */
  readonly reserveMicro: bigint;
  readonly isReadOnly: boolean;
  readonly isDestructive: boolean;
  /** Twice does no more than once, by its definition or because it honours a key. */
  readonly isRepeatable: boolean;
  /** What arguments must meet besides the listed schema; the digest is that of its text. */
  readonly inputCheck?: { readonly digest: string; readonly check: SchemaCheck };
  readonly checkOutput?: SchemaCheck;
  /** A longer answer is cut to so many bytes, and goes on with a cursor. */
  readonly cutsAtBytes?: number;
  /** Input member that says how many rows are wanted. */
  readonly wantedRows?: string;
}

/** What operations of any kind of system, or overrides of a server's tools, may declare. */
type Written = Partial<HttpDocument["operations"][string] | LoopbackDocument["operations"][string]> &
  Partial<Pick<HttpDocument["operations"][string], "inputCheck" | "paginate" | "response">>;

/** What a rule is compiled of. */
export interface RuleSource<T> {
  readonly written: Written;
  readonly document: SystemDocument;
  /** What answers must meet; undefined: any. */
  readonly outputSchema: unknown;
  /** Another tool of the system, once all of them are compiled. */
  readonly find: (base: string) => T | undefined;
  readonly path: readonly (string | number)[];
  readonly tell: TemplateError;
}

/** What is decided only with a call's own arguments and sign-in. */
export interface OpenStep {
  readonly name: string;
  readonly reason: string;
  readonly remedy?: string;
}

type AnyRules = RulesOf<unknown>;

/** One rule of a tool, whole: everything but its enforcement derives from here. */
interface ToolRule<Member extends keyof AnyRules> {
  /** Members of an operation that declare it. */
  readonly members: readonly (keyof Written)[];
  compile<T>(source: RuleSource<T>): RulesOf<T>[Member];
  /** How publishing shows its change, below `/rules`; undefined: the definition, or the settings of its system, show it. */
  readonly diff:
    | undefined
    | {
        readonly name: string;
        readonly of: (rules: AnyRules) => unknown;
        /** `rule`, unless it returns another one. */
        readonly kind?: (before: AnyRules, after: AnyRules) => DefinitionChange["kind"];
      };
  /** What of it depends on the call; undefined: nothing. */
  readonly explain: undefined | ((rules: AnyRules) => readonly OpenStep[]);
  /** What a person can do about the codes by which it refuses. */
  readonly remedies: Readonly<Record<string, string>>;
}

const rowRules = <T>({ written, document, find, path, tell }: RuleSource<T>): RowsOf<T> | undefined => {
  // What a server lists says nothing of rows.
  if (!("operations" in document)) return undefined;
  const scope = written.dataScope ?? document.defaults.dataScope;
  if (scope === undefined) {
    tell(path, "says nothing of dataScope: name its rows, or none");
    return undefined;
  }
  if (scope === "none") return undefined;
  const columns = new Map(Object.entries(scope.columns).map(([column, pointer]) => [column, parsePointer(pointer)]));
  const { guard } = scope;
  if (guard === undefined) return { resourceType: scope.resourceType, rows: parsePointer(scope.rows), columns };
  const at = [...path, "dataScope", "guard"];
  const read = document.operations[guard.operation];
  if (read === undefined || (read.dataScope ?? document.defaults.dataScope ?? "none") === "none")
    tell([...at, "operation"], "must be an operation of this system whose rows are scoped");
  const tool = (): T => {
    const found = find(guard.operation);
    if (found === undefined) throw new TypeError(`guard ${guard.operation} is not there`);
    return found;
  };
  return {
    resourceType: scope.resourceType,
    rows: parsePointer(scope.rows),
    columns,
    guard: { tool, input: compileTemplate(guard.input, "call", [...at, "input"], tell) },
  };
};

/** Where answers are cut; for what others list is not ours to add to, their documents cannot ask for it. */
export const cutsAt = (operation: Written, document: SystemDocument): number | undefined => {
  const limits = operation.response ?? document.defaults.response;
  return limits.onExceed === "truncate" ? limits.maxBytes : undefined;
};

/** A mask went, shows something else, or may be lifted where it could not be. */
const isWeaker = (before: readonly FileMask[], after: readonly FileMask[]): boolean =>
  before.some(
    (mask) =>
      !after.some(
        ({ pointer, kind, unlessAllowed }) =>
          pointerText(pointer) === pointerText(mask.pointer) &&
          kind === mask.kind &&
          (unlessAllowed === undefined || unlessAllowed === mask.unlessAllowed),
      ),
  );

const prepare = (schema: unknown, { path, tell }: RuleSource<unknown>, ...at: readonly string[]): SchemaCheck | undefined => {
  try {
    return schema === undefined ? undefined : prepareSchema(schema);
  } catch (error) {
    tell([...path, ...at], error instanceof Error ? error.message : "is wrong");
    return undefined;
  }
};

const SIGN_IN = "Sign in as strongly as the refusal says, and call soon after.";

/** Every rule of a tool, in the order in which publishing and explanations show them. */
export const toolRules: { readonly [Member in keyof AnyRules]-?: ToolRule<Member> } = {
  reserveMicro: {
    members: ["cost_usd"],
    compile: ({ written: { cost_usd: cost = 0 } }) => microFromUsd(typeof cost === "number" ? cost : cost.reserve),
    diff: { name: "cost_usd", of: ({ reserveMicro }) => usdFromMicro(reserveMicro), kind: () => "cost" },
    explain: undefined,
    remedies: {
      steps_exhausted: "Give the delegation more steps.",
      budget_exhausted: "Give the delegation a larger budget.",
    },
  },
  scopes: {
    members: ["scopes"],
    compile: ({ written }) => written.scopes ?? [],
    diff: { name: "scopes", of: ({ scopes }) => scopes, kind: () => "scope" },
    explain: undefined,
    remedies: {},
  },
  masks: {
    members: ["mask"],
    compile: ({ written: { mask = [] } }) =>
      mask.map(({ path, action, unlessAllowed }) => ({ pointer: parsePointer(path), kind: action, unlessAllowed })),
    diff: {
      name: "masks",
      of: ({ masks }) => masks.map(({ pointer, kind, unlessAllowed = null }) => ({ path: pointerText(pointer), kind, unlessAllowed })),
      kind: (before, after) => (isWeaker(before.masks, after.masks) ? "mask_weakened" : "mask"),
    },
    explain: undefined,
    remedies: {},
  },
  timeoutMs: {
    members: ["timeout"],
    compile: ({ written, document }) => written.timeout ?? document.defaults.timeout,
    diff: { name: "timeout_ms", of: ({ timeoutMs }) => timeoutMs },
    explain: undefined,
    remedies: {},
  },
  app: {
    members: [],
    compile: ({ document }) => ("requires" in document ? document.requires?.app : undefined),
    diff: { name: "app", of: ({ app }) => app ?? null },
    explain: undefined,
    remedies: { chain_not_eligible: "Make the tool's application active, with every scope that the tool needs." },
  },
  mappings: {
    members: ["authz", "x-authzen-mapping"],
    compile: ({ written: { authz, "x-authzen-mapping": declared }, path, tell }) => [
      ...(authz === undefined ? [] : [compileAuthz(authz, [...path, "authz"], tell)]),
      ...(declared === undefined ? [] : [compileAuthzenMapping(declared, [...path, "x-authzen-mapping"], tell)]),
    ],
    diff: { name: "questions", of: ({ mappings }) => mappings.map(({ pairs }) => pairs) },
    explain: ({ mappings }) =>
      mappings.map(({ pairs }) => ({
        name: "mapping",
        reason: `${pairs.join(", ")} ${pairs.length === 1 ? "is" : "are"} decided with the arguments`,
      })),
    remedies: {},
  },
  stepUp: {
    members: ["stepUp"],
    compile: ({ written: { stepUp } }) =>
      stepUp === undefined ? undefined : { level: stepUp.level, maxAgeSeconds: Math.floor(stepUp.maxAge / 1000) },
    diff: { name: "step_up", of: ({ stepUp }) => (stepUp === undefined ? null : { ...stepUp }) },
    explain: ({ stepUp }) => (stepUp === undefined ? [] : [{ name: "step-up", reason: "step_up_required", remedy: SIGN_IN }]),
    remedies: { step_up_required: SIGN_IN },
  },
  rows: {
    members: ["dataScope"],
    compile: rowRules,
    diff: {
      name: "rows",
      of: ({ rows }) => (rows === undefined ? null : [rows.resourceType, rows.rows, [...rows.columns], rows.guard !== undefined]),
    },
    explain: undefined,
    remedies: {},
  },
  isReadOnly: {
    members: ["annotations"],
    compile: ({ written: { annotations, request } }) =>
      annotations?.readOnlyHint ?? (request !== undefined && "method" in request && request.method === "GET"),
    diff: { name: "hints", of: ({ isReadOnly, isDestructive }) => [isReadOnly, isDestructive] },
    explain: undefined,
    remedies: {},
  },
  isDestructive: {
    members: ["annotations"],
    compile: ({ written }) => written.annotations?.destructiveHint ?? false,
    // With `isReadOnly`.
    diff: undefined,
    explain: undefined,
    remedies: {},
  },
  isRepeatable: {
    members: ["annotations"],
    compile: ({ written: { annotations, request } }) => {
      const http = request !== undefined && "method" in request ? request : undefined;
      return http?.idempotencyHeader !== undefined || (annotations?.idempotentHint ?? http?.method === "GET");
    },
    // Of its parts: hints and settings.
    diff: undefined,
    explain: undefined,
    remedies: {},
  },
  wantedRows: {
    members: [],
    compile: ({ written }) => written.paginate?.size?.param,
    diff: { name: "wanted_rows", of: ({ wantedRows }) => wantedRows ?? null },
    explain: undefined,
    remedies: {},
  },
  inputCheck: {
    members: ["inputCheck"],
    compile: (source) => {
      const check = prepare(source.written.inputCheck, source, "inputCheck");
      return check === undefined ? undefined : { check, digest: sha256Of(source.written.inputCheck) };
    },
    diff: { name: "input_check", of: ({ inputCheck }) => inputCheck?.digest ?? null },
    explain: undefined,
    remedies: {},
  },
  checkOutput: {
    members: [],
    compile: (source) => prepare(source.outputSchema, source, "output", "schema"),
    diff: undefined,
    explain: undefined,
    remedies: {},
  },
  cutsAtBytes: {
    members: [],
    compile: ({ written, document, path, tell }) => {
      const bytes = cutsAt(written, document);
      if (bytes !== undefined && isObject(written.input?.["properties"]) && Object.hasOwn(written.input["properties"], "cursor"))
        tell(
          [...path, "input", "properties", "cursor"],
          "is what a truncated answer goes on by: with onExceed: truncate the name is taken",
        );
      return bytes;
    },
    diff: undefined,
    explain: undefined,
    remedies: {},
  },
};

/** All rules of an operation, or of a server's tool; what is wrong goes to `tell`. */
export const compileRules = <T>(source: RuleSource<T>): RulesOf<T> =>
  Object.fromEntries(Object.entries(toolRules).map(([member, rule]) => [member, rule.compile(source)])) as unknown as RulesOf<T>;
