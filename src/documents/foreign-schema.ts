import { isRawNumber, withDoubles } from "#contract/exact-numbers.ts";
import { isObject } from "#contract/is-object.ts";
import { parsePointer } from "#contract/json-pointer.ts";
import type { Fault } from "#contract/problem.ts";
import { unicodeSteps } from "./pattern.ts";
import { along, makers, MAX_ISSUES, newSeen, nothing, spend, TooMuchWork, type Check, type Run } from "./schema-rules.ts";

/**
 * All issues of a value, at most `maxIssues` (50); empty = it fits. Values are never echoed. A number that no double holds counts as the nearest
 * double. `steps` bounds the work, each some 50 ns; beyond it the answer is `TOO_MUCH_WORK` itself. Cost: linear in the work that the schema
 * asks for; equal items, `enum` and `const` are looked up, not compared.
 */
export interface SchemaCheck {
  (value: unknown, steps?: number, maxIssues?: number): readonly Fault[];
  readonly schema: unknown;
}

/** About 5 ms. */
const MAX_STEPS_HERE = 100_000;
export const TOO_MUCH_WORK: readonly Fault[] = [{ path: "", message: "takes too much work to be checked against the schema" }];

/** What a tool's schema may be at most. Schemas of tools count as foreign, our own files' too. */
const schemaLimits = { bytes: 65_536, depth: 32, subschemas: 512, patternSteps: 10_000 };

/** Keywords whose value is a list of schemas. */
export const schemaLists: ReadonlySet<string> = new Set(["allOf", "anyOf", "oneOf", "prefixItems"]);
const schemaMaps = ["properties", "$defs", "definitions", "dependentSchemas", "patternProperties"];
/** Keywords whose value is one schema. */
export const schemaMembers: ReadonlySet<string> = new Set([
  "items",
  "contains",
  "additionalProperties",
  "unevaluatedProperties",
  "unevaluatedItems",
  "propertyNames",
  "not",
  "if",
  "then",
  "else",
]);
/** Keywords that speak of the very value that their schema speaks of. */
const IN_PLACE = ["$ref", "allOf", "anyOf", "oneOf", "not", "if", "dependentSchemas", "dependencies"];

/** Whether a value holds a number for which another one that is near would be taken. */
export const namesLarge = (value: unknown): boolean =>
  isRawNumber(value) ||
  (typeof value === "number" && Number.isInteger(value) && !Number.isSafeInteger(value)) ||
  (typeof value === "object" && value !== null && Object.values(value).some(namesLarge));

const hasRawNumber = (value: unknown): boolean =>
  isRawNumber(value) || (typeof value === "object" && value !== null && Object.values(value).some(hasRawNumber));
const asDoubles = (value: unknown): unknown => (hasRawNumber(value) ? withDoubles(value) : value);

interface Node {
  readonly rules: Check[];
  readonly inPlace: Node[];
  isTracking: boolean;
}

/** What a reference within the schema names. Throws an `Error` whose message may be shown. */
const partAt = (root: unknown, reference: unknown): unknown => {
  if (typeof reference !== "string" || !reference.startsWith("#")) throw new Error("only references within the schema are allowed");
  let part: unknown;
  try {
    part = parsePointer(decodeURIComponent(reference.slice(1))).reduce<unknown>(
      (at, name) => (typeof at === "object" && at !== null && Object.hasOwn(at, name) ? (at as Record<string, unknown>)[name] : undefined),
      root,
    );
  } catch {
    part = undefined;
  }
  if (part === undefined || (reference !== "#" && !reference.startsWith("#/"))) throw new Error(`${reference} is not there`);
  return part;
};

/** What the classes of Unicode in its own patterns cost to compile. */
const patternStepsOf = ({ pattern, patternProperties }: Readonly<Record<string, unknown>>): number =>
  [...(typeof pattern === "string" ? [pattern] : []), ...(isObject(patternProperties) ? Object.keys(patternProperties) : [])].reduce(
    (sum, text) => sum + unicodeSteps(text),
    0,
  );

/** Compiles a schema and all that it holds or refers to. Throws an `Error` whose message may be shown. */
const compile = (root: unknown): Check => {
  const nodes = new Map<object, Node>();
  let patternSteps = 0;
  const checkOf =
    (node: Node): Check =>
    (value, run, seen) => {
      spend(run, 2 + node.rules.length);
      const own = seen ?? (node.isTracking ? newSeen() : undefined);
      let fits = true;
      for (const rule of node.rules) if (!rule(value, run, own)) fits = false;
      return fits;
    };
  const make = (part: unknown, depth: number, parent: Node | undefined): Check => {
    if (typeof part === "boolean") return part ? () => true : nothing;
    if (!isObject(part)) throw new Error("a schema is an object or a boolean");
    const known = nodes.get(part);
    if (known !== undefined) {
      parent?.inPlace.push(known);
      return checkOf(known);
    }
    if (depth > schemaLimits.depth) throw new Error(`the schema is nested deeper than ${schemaLimits.depth}`);
    if (nodes.size === schemaLimits.subschemas) throw new Error(`the schema has more than ${schemaLimits.subschemas} parts`);
    const node: Node = { rules: [], inPlace: [], isTracking: "unevaluatedProperties" in part || "unevaluatedItems" in part };
    nodes.set(part, node);
    parent?.inPlace.push(node);
    patternSteps += patternStepsOf(part);
    if (patternSteps > schemaLimits.patternSteps) throw new Error("the patterns of the schema have too many classes of Unicode");
    for (const word of ["enum", "const"])
      if (Object.hasOwn(part, word) && namesLarge(part[word])) throw new Error(`${word} names a number beyond 2^53`);
    for (const word of ["$dynamicRef", "$recursiveRef"]) if (word in part) throw new Error(`${word} is not allowed`);
    const innerOf = (word: string) => (inner: unknown) => make(inner, depth + 1, IN_PLACE.includes(word) ? node : undefined);
    if ("$ref" in part) {
      const target = make(partAt(root, part["$ref"]), 0, node);
      node.rules.push((value, run, seen) => along(target, value, run, seen));
    }
    // `items` says how the items of `prefixItems` are held, too.
    const schema = "prefixItems" in part && !("items" in part) ? { ...part, items: true } : part;
    for (const [word, maker] of Object.entries(makers)) {
      const rule = Object.hasOwn(schema, word) ? maker(schema[word], innerOf(word), schema) : undefined;
      if (rule !== undefined) node.rules.push(rule);
    }
    // What nothing refers to is looked at all the same.
    for (const word of schemaMaps.filter((name) => makers[name] === undefined)) {
      const parts = Object.hasOwn(part, word) ? part[word] : undefined;
      if (isObject(parts)) Object.values(parts).forEach(innerOf(word));
    }
    return checkOf(node);
  };
  const check = make(root, 0, undefined);
  const ended = new Set<Node>();
  const under = new Set<Node>();
  const follow = (node: Node): void => {
    if (ended.has(node)) return;
    if (under.has(node)) throw new Error("the schema refers to itself at the same place");
    under.add(node);
    node.inPlace.forEach(follow);
    under.delete(node);
    ended.add(node);
  };
  for (const node of nodes.values()) follow(node);
  return check;
};

/** Prepares a schema; throws an `Error` whose message may be shown if it is none, or beyond its limits. */
export const prepareSchema = (schema: unknown): SchemaCheck => {
  if (Buffer.byteLength(JSON.stringify(schema) ?? "") > schemaLimits.bytes)
    throw new Error(`the schema is larger than ${schemaLimits.bytes} bytes`);
  const compared = asDoubles(schema);
  const check = compile(compared);
  const issuesOf = (value: unknown, steps = MAX_STEPS_HERE, maxIssues = MAX_ISSUES): readonly Fault[] => {
    const run: Run = { left: steps, path: [], issues: [], maxIssues };
    try {
      if (check(asDoubles(value), run, undefined)) return [];
    } catch (error) {
      if (error instanceof TooMuchWork || error instanceof RangeError) return TOO_MUCH_WORK;
      throw error;
    }
    const unique = new Map(run.issues.map((issue) => [`${issue.path} ${issue.message}`, issue]));
    return unique.size === 0 ? [{ path: "", message: "does not fit the schema" }] : [...unique.values()];
  };
  return Object.assign(issuesOf, { schema: compared });
};
