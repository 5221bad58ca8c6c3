import { Environment, EvaluationError, type ASTNode, type ParseResult } from "@marcbachmann/cel-js";
import { Problem } from "#contract/problem.ts";

/** A checked CEL expression. Throws what the evaluation throws; `ABSENT` = it reads a member that is not there. */
export type CelExpression = (inputs: CelInputs) => unknown;

/** Inputs whose whole numbers are CEL ints; made once for many expressions with `celInputs`. */
export type CelInputs = Readonly<Record<string, unknown>>;

export const ABSENT = Symbol("absent");

const MAX_TEXT = 2048;
const MAX_NODES = 500;
const MAX_DEPTH = 40;
const MAX_ELEMENTS = 100_000;
const MACROS = new Set(["map", "filter", "all", "exists", "exists_one"]);

/** Compiles and type-checks over variables of these CEL types; a fault is thrown as an `Error` whose message may be shown. */
export const compileCel = (text: string, variables: Readonly<Record<string, string>>): CelExpression => {
  if (text.length > MAX_TEXT) throw new Error(`an expression has at most ${MAX_TEXT} characters`);
  const environment = new Environment({ homogeneousAggregateLiterals: false, limits: { maxAstNodes: MAX_NODES, maxDepth: MAX_DEPTH } });
  for (const [name, type] of Object.entries(variables)) environment.registerVariable(name, type);
  let parsed: ParseResult;
  try {
    parsed = environment.parse(text);
  } catch (error) {
    throw new Error(firstLine(error), { cause: error });
  }
  const checked = parsed.check();
  if (!checked.valid) throw new Error(firstLine(checked.error));
  if (macroDepth(parsed.ast) > 1) throw new Error("one macro inside another is not allowed: its cost would not be linear");
  return (inputs) => {
    try {
      return fromCel(parsed(inputs));
    } catch (error) {
      if (error instanceof EvaluationError && error.code === "no_such_key") return ABSENT;
      throw error;
    }
  };
};

const firstLine = (error: unknown): string => (error instanceof Error ? (error.message.split("\n")[0] ?? "is wrong") : "is wrong");

const macroDepth = (node: ASTNode): number => {
  const parts: unknown[] = Array.isArray(node.args) ? node.args.flat(2) : [];
  const inner = Math.max(0, ...parts.filter(isNode).map(macroDepth));
  return node.op === "rcall" && MACROS.has(node.args[0]) ? inner + 1 : inner;
};

const isNode = (value: unknown): value is ASTNode => typeof value === "object" && value !== null && "op" in value && "args" in value;

/** Whole numbers become ints (CEL takes every JSON number for a double otherwise); counts elements and refuses too many. */
export const celInputs = (inputs: object): CelInputs => {
  let left = MAX_ELEMENTS;
  const convert = (value: unknown): unknown => {
    if (--left < 0) throw new Problem("output_too_large", { detail: "There are too many elements for an expression." });
    if (typeof value === "number") return Number.isSafeInteger(value) ? BigInt(value) : value;
    if (Array.isArray(value)) return value.map(convert);
    if (typeof value !== "object" || value === null || value instanceof Date) return value;
    return Object.fromEntries(Object.entries(value).map(([name, item]) => [name, convert(item)]));
  };
  return Object.fromEntries(Object.entries(inputs).map(([name, value]) => [name, convert(value)]));
};

/** Back to JSON: an int beyond 2^53 becomes text, a timestamp RFC 3339. */
const fromCel = (value: unknown): unknown => {
  if (typeof value === "bigint") {
    const number = Number(value);
    return Number.isSafeInteger(number) ? number : value.toString();
  }
  if (value instanceof Date) return value.toISOString();
  if (value instanceof Uint8Array) return Buffer.from(value).toString("base64");
  if (Array.isArray(value)) return value.map(fromCel);
  if (value instanceof Map) return Object.fromEntries([...value].map(([name, item]) => [String(name), fromCel(item)]));
  if (typeof value !== "object" || value === null) return value;
  return Object.fromEntries(Object.entries(value).map(([name, item]) => [name, fromCel(item)]));
};
