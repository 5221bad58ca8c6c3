import type { ASTNode } from "@marcbachmann/cel-js";
import { parseExactJson } from "#contract/exact-numbers.ts";
import { Problem } from "#contract/problem.ts";
import { COMPILE_STEPS, compilePattern, isCompiled, patternSize } from "./pattern.ts";

/** Steps of some 50 ns that all expressions over the same inputs may take together: about 5 ms. */
const MAX_STEPS = 100_000;
/** A step passes over so many characters of a text that is copied or compared. */
const CHARACTERS_A_STEP = 32;
/** What a failure costs: it is made with its place and its stack. */
const FAILURE_STEPS = 100;
/** Beyond this the engine's search is no longer linear in the text. */
const MAX_NEEDLE = 250;
/** Making a date in a named time zone. */
const ZONE_STEPS = 1000;

export const limitReached = (detail: string): Problem => new Problem("expression_limit", { detail });

/** Counts work. `spend` throws `expression_limit` when it is used up, and each time from then on. */
export interface Work {
  left: number;
  spend(steps: number): void;
}

export const createWork = (): Work => ({
  left: MAX_STEPS,
  spend(steps) {
    this.left -= steps;
    if (!(this.left >= 0)) throw limitReached(`An expression takes more than ${MAX_STEPS} steps.`);
  },
});

const textSteps = (value: unknown): number =>
  typeof value === "string" || value instanceof Uint8Array ? value.length / CHARACTERS_A_STEP : 0;

const entriesOf = (value: unknown): Map<unknown, unknown> | undefined => {
  if (value instanceof Map) return value;
  return typeof value === "object" && value !== null && Object.getPrototypeOf(value) === Object.prototype
    ? new Map(Object.entries(value))
    : undefined;
};

/** Spends what a comparison costs; false where it ends early. */
const compare = (one: unknown, other: unknown, work: Work): boolean => {
  work.spend(2);
  if (typeof one !== "object" || one === null || typeof other !== "object" || other === null) {
    if (typeof one === "string" && typeof other === "string" && one.length === other.length) work.spend(textSteps(one));
    return one === other || typeof one !== typeof other;
  }
  if (one === other) return true;
  if (Array.isArray(one) && Array.isArray(other))
    return one.length === other.length && one.every((item, at) => compare(item, other[at] as unknown, work));
  const [ones, others] = [entriesOf(one), entriesOf(other)];
  if (ones === undefined || others === undefined) {
    work.spend(textSteps(one));
    return true;
  }
  if (ones.size !== others.size) return false;
  for (const [name, item] of ones) if (!compare(item, others.get(name), work)) return false;
  return true;
};

const isOrder = (op: string): boolean => op === "<" || op === "<=" || op === ">" || op === ">=";

const spendOnOperator = (op: string, one: unknown, other: unknown, work: Work): void => {
  if (op === "==" || op === "!=") compare(one, other, work);
  else if (op === "in" && Array.isArray(other)) {
    for (const item of other) {
      work.spend(1);
      if (compare(one, item, work) && one === item) return;
    }
  } else if (op === "+")
    work.spend(Array.isArray(one) && Array.isArray(other) ? one.length + other.length : textSteps(one) + textSteps(other));
  else if (isOrder(op)) work.spend(Math.min(textSteps(one), textSteps(other)));
};

const lengthOf = (value: unknown): number => (typeof value === "string" || value instanceof Uint8Array ? value.length : 0);

/** Functions that map the case of a text, one by one beyond ASCII. */
const mapsCase = new Set(["lowerAscii", "upperAscii", "double"]);
/** Functions that look at each character, and not at blocks of them. */
const readsEach = new Set(["size", "bytes", "string", "trim", "int", "uint", "double"]);
/** Bytes of a text in UTF-8 beyond one a character. */
const moreBytes = (value: unknown): number => (typeof value === "string" ? Buffer.byteLength(value) - value.length : 0);

const spendOnCall = (name: string, given: readonly unknown[], work: Work): void => {
  const [one, other] = given;
  const needle = lengthOf(other);
  work.spend(given.reduce<number>((sum, value) => sum + textSteps(value), 0));
  const isSearch = name === "contains" || name === "indexOf" || name === "split";
  if (isSearch) work.spend(lengthOf(one) / 32);
  if (mapsCase.has(name)) work.spend(moreBytes(one));
  if (readsEach.has(name)) work.spend(lengthOf(one) / 16 + moreBytes(one) / 8);
  if (name === "lastIndexOf" || (isSearch && needle > MAX_NEEDLE)) work.spend((lengthOf(one) * needle) / 16);
  if (name === "duration") work.spend(lengthOf(one) ** 3 / 8);
  else if (name === "json") work.spend(lengthOf(one) / 2);
  else if (name.startsWith("get") && given.length > 1) work.spend(ZONE_STEPS);
  else if (name === "split" && typeof one === "string" && typeof other === "string")
    work.spend(one.split(other, Math.max(0, Math.ceil(work.left)) + 1).length);
  else if (name === "join" && Array.isArray(one)) {
    work.spend(one.length * (1 + textSteps(other)));
    for (const item of one) work.spend(textSteps(item));
  }
};

/** As the library makes a node of what it parsed: not all of it is in its types. */
interface Node {
  readonly op: string;
  readonly args: unknown;
  readonly pos: number;
  readonly meta: { readonly evaluate: Evaluate; readonly alternate?: Node; readonly macro?: Node };
  evaluate: Evaluate;
  handle?: (first: unknown, second: unknown, ...more: readonly unknown[]) => unknown;
}
type Evaluate = (evaluator: Evaluator, node: Node, context: unknown) => unknown;
interface Evaluator {
  readonly debugType: (value: unknown) => unknown;
  /** The type of a value by its first parts, however deep: each such type stays in a table of the library for ever. */
  debugTypeDeep: (value: unknown) => unknown;
}

const isNode = (value: object): value is Node => "op" in value && "args" in value && "meta" in value;

/** All nodes, those that macros were made into included. */
const nodesOf = (root: ASTNode): ReadonlySet<Node> => {
  const seen = new Set<object>();
  const visit = (value: unknown): void => {
    if (typeof value !== "object" || value === null || seen.has(value)) return;
    seen.add(value);
    if (Array.isArray(value)) value.forEach(visit);
    else if (isNode(value)) [value.args, value.meta.alternate, value.meta.macro].forEach(visit);
    else if (Object.getPrototypeOf(value) === Object.prototype) Object.values(value).forEach(visit);
  };
  visit(root);
  return new Set([...seen].filter(isNode));
};

/** The name that a node calls, and what it gives it: for methods the receiver first. */
const callOf = ({ op, args }: Node): { readonly name: string; readonly given: readonly Node[] } | undefined => {
  if (op !== "call" && op !== "rcall") return undefined;
  const [name, ...rest] = args as [string, ...unknown[]];
  return { name, given: rest.flat() as Node[] };
};

/** Literal patterns that RE2 does not take are thrown with their place. */
const requirePatterns = (nodes: ReadonlySet<Node>): void => {
  for (const node of nodes) {
    const call = callOf(node);
    const pattern = call?.name === "matches" ? call.given[1] : undefined;
    if (pattern?.op !== "value" || typeof pattern.args !== "string") continue;
    try {
      compilePattern(pattern.args);
    } catch (cause) {
      const message = cause instanceof Error ? cause.message : "is wrong";
      throw new Error(`matches() at character ${pattern.pos + 1}: ${message}`, { cause });
    }
  }
};

/**
 * Makes a checked expression count its work while it is evaluated, before each step is done, and match on RE2. The library's own `matches`
 * backtracks, and it cannot be registered anew; so what the nodes call is replaced. `now` gives the measure of the evaluation under way,
 * `convert` makes inputs of what the expression parses. Throws an `Error` whose message may be shown for a literal pattern that RE2 does not take.
 */
export const countWork = (
  root: ASTNode,
  { now, convert }: { readonly now: () => Work; readonly convert: (value: unknown) => unknown },
): void => {
  const nodes = nodesOf(root);
  requirePatterns(nodes);
  let failure: unknown;
  const matches = (text: string, source: string): boolean => {
    const work = now();
    if (!isCompiled(source)) work.spend(patternSize(source) * COMPILE_STEPS);
    const pattern = compilePattern(source);
    work.spend(pattern.steps(text));
    return pattern.test(text);
  };
  for (const node of nodes) {
    const { meta, op, handle } = node;
    const target = meta.alternate ?? meta.macro;
    node.evaluate = (evaluator, _node, context) => {
      now().spend(1);
      // A list is a list and a map a map: values of others' nesting make no types of their own.
      if (node === (root as unknown)) evaluator.debugTypeDeep = evaluator.debugType;
      try {
        return target === undefined ? meta.evaluate(evaluator, node, context) : target.evaluate(evaluator, target, context);
      } catch (error) {
        if (error !== failure) now().left -= FAILURE_STEPS;
        failure = error;
        throw error;
      }
    };
    if (handle === undefined) continue;
    const call = callOf(node);
    if (call !== undefined)
      node.handle = (first, ...more) => {
        const given = first as readonly unknown[];
        const [text, pattern] = given;
        if (call.name === "matches" && typeof text === "string" && typeof pattern === "string") return matches(text, pattern);
        spendOnCall(call.name, given, now());
        const result = handle(first, ...(more as [unknown]));
        // The library's parser rounds what no double holds.
        return call.name === "json" && text instanceof Uint8Array ? convert(parseExactJson(Buffer.from(text).toString("utf8"))) : result;
      };
    else if (op === "comprehension") {
      const rules = node.args as { condition?: (accumulated: unknown) => unknown };
      const { condition } = rules;
      // A quantifier passes over what fails in it: its condition alone can end it.
      if (condition !== undefined) rules.condition = (accumulated) => (now().spend(0), condition(accumulated));
      node.handle = (items, ...more) => {
        if (items instanceof Map) now().spend(items.size);
        return handle(items, ...(more as [unknown]));
      };
    } else
      node.handle = (one, other, ...more) => {
        spendOnOperator(op, one, other, now());
        return handle(one, other, ...more);
      };
  }
};
