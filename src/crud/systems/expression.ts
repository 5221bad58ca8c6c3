import { Environment, EvaluationError, type ASTNode, type ParseResult } from "@marcbachmann/cel-js";
import { Problem } from "#contract/problem.ts";

/** What an expression may name. `call` before the upstream was asked, `response` after; `mapping` the words of AuthZEN's profile for MCP. */
export type Names = "call" | "response" | "mapping";

export interface Inputs {
  readonly input: unknown;
  readonly caller: { readonly sub: string; readonly tenant: string; readonly agent?: string };
  readonly now: Date;
  readonly response?: { readonly status: number; readonly headers: Readonly<Record<string, string>>; readonly body: unknown };
  readonly items?: readonly unknown[];
}

/** Inputs of a declared mapping: the call's `params` (name, arguments) and the claims of its token. */
export interface MappingInputs {
  readonly params: Readonly<Record<string, unknown>>;
  readonly token: Readonly<Record<string, unknown>>;
}

/** A checked CEL expression. `ABSENT` = it reads a member that is not there. */
export interface Expression {
  readonly text: string;
  evaluate(inputs: Prepared): unknown;
}

/** Inputs whose whole numbers are CEL ints; made once a stage with `prepare`. */
export type Prepared = Readonly<Record<string, unknown>>;

export const ABSENT = Symbol("absent");

const MAX_TEXT = 2048;
const MAX_NODES = 500;
const MAX_ELEMENTS = 100_000;
const MACROS = new Set(["map", "filter", "all", "exists", "exists_one"]);

const bare = (): Environment => new Environment({ homogeneousAggregateLiterals: false, limits: { maxAstNodes: MAX_NODES, maxDepth: 40 } });

const environment = (): Environment =>
  bare().registerVariable("input", "map").registerVariable("caller", "map").registerVariable("now", "google.protobuf.Timestamp");

const environments: Readonly<Record<Names, () => Environment>> = {
  call: environment,
  response: () => environment().registerVariable("response", "map").registerVariable("items", "list"),
  mapping: () => bare().registerVariable("params", "map").registerVariable("token", "map"),
};

/** The text of an expression if a value is one: exactly `${ ... }` with blanks inside the braces. */
export const expressionText = (value: string): string | undefined => /^\$\{ ([\s\S]*) \}$/.exec(value)?.[1];

/** Compiles and type-checks; a fault is thrown as an `Error` whose message may be shown. */
export const compileExpression = (text: string, names: Names): Expression => {
  if (text.length > MAX_TEXT) throw new Error(`an expression has at most ${MAX_TEXT} characters`);
  let parsed: ParseResult;
  try {
    parsed = environments[names]().parse(text);
  } catch (error) {
    throw new Error(firstLine(error), { cause: error });
  }
  const checked = parsed.check();
  if (!checked.valid) throw new Error(firstLine(checked.error));
  if (macroDepth(parsed.ast) > 1) throw new Error("one macro inside another is not allowed: its cost would not be linear");
  return {
    text,
    evaluate: (inputs) => {
      try {
        return fromCel(parsed(inputs));
      } catch (error) {
        if (error instanceof EvaluationError && error.code === "no_such_key") return ABSENT;
        throw new Problem("upstream_bad_response", { detail: "An expression of the system failed.", cause: error });
      }
    },
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
export const prepare = (inputs: Inputs | MappingInputs): Prepared => {
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
