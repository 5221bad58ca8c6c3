import { Environment, EvaluationError, type ASTNode, type ParseResult } from "@marcbachmann/cel-js";
import { digitsOf, isRawNumber, rawInteger } from "#contract/exact-numbers.ts";
import { compilePattern } from "./pattern.ts";
import { countWork, createWork, limitReached, type Work } from "./cel-work.ts";
import { nearestWord } from "./nearest-word.ts";

/**
 * A checked CEL expression. Throws what the evaluation throws, and `expression_limit`; `ABSENT` = it reads a member that is not there. Cost: at
 * most what is left of the work that its inputs allow.
 */
export interface CelExpression {
  (inputs: CelInputs): unknown;
  /** CEL type of what it gives; `dyn` where only its inputs decide that. */
  readonly type: string;
}

/** Inputs whose whole numbers are CEL ints, made with `celInputs`; all expressions that are evaluated over them share one measure of work. */
export interface CelInputs {
  readonly values: Readonly<Record<string, unknown>>;
  readonly work: Work;
  /** Elements and characters that results may still have. */
  readonly results: { elements: number; characters: number };
}

export const ABSENT = Symbol("absent");

export interface CelSetup {
  /** An environment with further functions. */
  readonly environment?: Environment;
  /** Variables whose members are all known. */
  readonly members?: Readonly<Record<string, readonly string[]>>;
  /** Characters. */
  readonly maxText?: number;
  /** A member that is not there, and a whole number beyond 2^53, are errors. */
  readonly isStrict?: boolean;
}

/** What is wrong with the text of an expression; its message may be shown. */
export class CelIssue extends Error {
  override readonly name = "CelIssue";
  readonly code: "expression_syntax" | "expression_type" | "unknown_variable";
  readonly hint: string | undefined;

  constructor(code: CelIssue["code"], message: string, more: { readonly hint?: string | undefined; readonly cause?: unknown } = {}) {
    super(message, { cause: more.cause });
    this.code = code;
    this.hint = more.hint === undefined ? undefined : `did you mean ${more.hint}?`;
  }
}

const MAX_TEXT = 2048;
const MAX_NODES = 500;
const MAX_DEPTH = 40;
const MAX_ELEMENTS = 100_000;
const MAX_RESULT_CHARACTERS = 4_194_304;
const MAX_NESTED_MACROS = 3;
const MACROS = new Set(["map", "filter", "all", "exists", "exists_one"]);

/** CEL's other form of `matches`, which the library lacks. */
export const celEnvironment = new Environment({
  homogeneousAggregateLiterals: false,
  limits: { maxAstNodes: MAX_NODES, maxDepth: MAX_DEPTH },
}).registerFunction("matches(string, string): bool", (text: string, pattern: string) => compilePattern(pattern).test(text), {
  async: false,
});

/** Compiles and type-checks over variables of these CEL types. Throws `CelIssue`. */
export const compileCel = (text: string, variables: Readonly<Record<string, string>>, options: CelSetup = {}): CelExpression => {
  const { maxText = MAX_TEXT, isStrict = false, members = {} } = options;
  if (text.length > maxText) throw new CelIssue("expression_syntax", `an expression has at most ${maxText} characters`);
  const environment = (options.environment ?? celEnvironment).clone();
  for (const [name, type] of Object.entries(variables)) environment.registerVariable(name, type);
  let parsed: ParseResult;
  try {
    parsed = environment.parse(text);
  } catch (cause) {
    throw new CelIssue("expression_syntax", firstLine(cause), { cause });
  }
  const { valid, error: cause, type = "dyn" } = parsed.check();
  if (!valid) {
    const [, unknown] = cause?.code === "unknown_variable" ? (/: (\w+)$/.exec(cause.summary) ?? []) : [];
    if (unknown === undefined) throw new CelIssue("expression_type", firstLine(cause), { cause });
    throw new CelIssue("unknown_variable", firstLine(cause), { hint: nearestWord(unknown, Object.keys(variables)), cause });
  }
  requireMembers(parsed.ast, members);
  if (macroDepth(parsed.ast) > MAX_NESTED_MACROS)
    throw new CelIssue("expression_syntax", `more than ${MAX_NESTED_MACROS} macros one inside another`);
  let work = createWork();
  try {
    countWork(parsed.ast, { now: () => work, convert: (value) => toCel()(value) });
  } catch (error) {
    throw new CelIssue("expression_syntax", firstLine(error), { cause: error });
  }
  const evaluate = ({ values, work: own, results }: CelInputs): unknown => {
    work = own;
    try {
      const value: unknown = parsed(values);
      own.spend(0);
      return fromCel(value, results, isStrict);
    } catch (error) {
      own.spend(0);
      if (!isStrict && error instanceof EvaluationError && error.code === "no_such_key") return ABSENT;
      throw error;
    }
  };
  return Object.assign(evaluate, { type });
};

/** Each member that a part reads of a variable whose members are known must be one of them. */
const requireMembers = (node: ASTNode, members: NonNullable<CelSetup["members"]>): void => {
  if (node.op === "." || node.op === "[]") {
    const [holder, name] = node.args;
    const read = typeof name === "string" ? name : name.op === "value" ? name.args : undefined;
    const known = holder.op === "id" && Object.hasOwn(members, holder.args) ? members[holder.args] : undefined;
    if (holder.op === "id" && known !== undefined && typeof read === "string" && !known.includes(read))
      throw new CelIssue("unknown_variable", `Unknown variable: ${holder.args}.${read}`, { hint: nearestWord(read, known) });
  }
  for (const part of partsOf(node)) requireMembers(part, members);
};

const firstLine = (error: unknown): string => (error instanceof Error ? (error.message.split("\n")[0] ?? "is wrong") : "is wrong");

const macroDepth = (node: ASTNode): number => {
  const inner = Math.max(0, ...partsOf(node).map(macroDepth));
  return node.op === "rcall" && MACROS.has(node.args[0]) ? inner + 1 : inner;
};

const partsOf = ({ args }: ASTNode): readonly ASTNode[] => (Array.isArray(args) ? args.flat(2) : [args]).filter(isNode);

const isNode = (value: unknown): value is ASTNode => typeof value === "object" && value !== null && "op" in value && "args" in value;

/** Ints of CEL. */
const isInt64 = (digits: string): boolean => /^-?\d{1,19}$/.test(digits) && BigInt.asIntN(64, BigInt(digits)) === BigInt(digits);

/**
 * Whole numbers become ints (CEL takes every JSON number for a double otherwise), also beyond 2^53; a number that neither an int nor a double
 * holds is passed on whole: expressions do not calculate with it. Objects become maps. Counts elements and refuses too many.
 */
export const toCel = (): ((value: unknown) => unknown) => {
  let left = MAX_ELEMENTS;
  const convert = (value: unknown): unknown => {
    if (--left < 0) throw limitReached(`An expression reads more than ${MAX_ELEMENTS} elements.`);
    if (Number.isSafeInteger(value)) return BigInt(value as number);
    // The int is the one that is written: beyond 2^53 the double's own value is another.
    if (typeof value === "number" || isRawNumber(value)) return isInt64(digitsOf(value)) ? BigInt(digitsOf(value)) : value;
    if (Array.isArray(value)) return value.map(convert);
    if (typeof value !== "object" || value === null || value instanceof Date) return value;
    const members = new Map<string, unknown>();
    for (const [name, item] of Object.entries(value)) members.set(name, convert(item));
    return members;
  };
  return convert;
};

/** Throws `expression_limit` beyond 100,000 elements. Cost: one walk. */
export const celInputs = (inputs: object): CelInputs => {
  const convert = toCel();
  return {
    values: Object.fromEntries(Object.entries(inputs).map(([name, value]) => [name, convert(value)])),
    work: createWork(),
    results: { elements: MAX_ELEMENTS, characters: MAX_RESULT_CHARACTERS },
  };
};

/** Back to JSON: an int beyond 2^53 keeps its digits, a timestamp becomes RFC 3339. Parts that stand in a result more than once count each time. */
const fromCel = (value: unknown, left: CelInputs["results"], isStrict: boolean): unknown => {
  if (--left.elements < 0) throw limitReached(`An expression gives more than ${MAX_ELEMENTS} elements.`);
  if (typeof value === "string" || value instanceof Uint8Array) {
    if ((left.characters -= value.length) < 0) throw limitReached(`An expression gives more than ${MAX_RESULT_CHARACTERS} characters.`);
    return typeof value === "string" ? value : Buffer.from(value).toString("base64");
  }
  if (typeof value === "bigint") {
    const number = Number(value);
    if (isStrict && !Number.isSafeInteger(number)) throw new RangeError("gives a whole number beyond 2^53");
    return Number.isSafeInteger(number) ? number : rawInteger(value);
  }
  if (value instanceof Date) return value.toISOString();
  if (Array.isArray(value)) return value.map((item) => fromCel(item, left, isStrict));
  if (typeof value !== "object" || value === null || isRawNumber(value)) return value;
  const made: Record<string, unknown> = {};
  for (const [name, item] of value instanceof Map ? value : Object.entries(value)) {
    const member = fromCel(item, left, isStrict);
    // Assigned, it would be the prototype.
    if (name === "__proto__") Object.defineProperty(made, name, { value: member, enumerable: true, configurable: true, writable: true });
    else made[String(name)] = member;
  }
  return made;
};
