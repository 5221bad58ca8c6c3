import { LRUCache } from "lru-cache";
import { isObject } from "#contract/is-object.ts";
import { parsePointer, shownPointer } from "#contract/json-pointer.ts";
import type { Issue } from "#contract/problem.ts";
import { checkSteps } from "./pattern.ts";
import { along, makers, MAX_ISSUES, newSeen, nothing, spend, TooMuchWork, type Check, type Place, type Run } from "./schema-rules.ts";

/**
 * All issues of a value, at most 50; empty = it fits. Values are never echoed, long names and paths are shortened.
 * `integers` is filled with the places of texts where an integer may be, as far as those are issues. Numbers are compared on their digits, those that no
 * double holds too (`exact-numbers.ts`). `steps` bounds the work, each some 50 ns; beyond it the answer is `TOO_MUCH_WORK` itself. Cost: linear in the work that the schema
 * asks for; equal items, `enum` and `const` are looked up, not compared.
 */
export interface SchemaCheck {
  (value: unknown, steps?: number, integers?: Place[]): readonly Issue[];
  /** JSON of the schema. */
  readonly text: string;
}

/** About 5 ms. */
const MAX_STEPS_HERE = 100_000;
/** Where places of texts are looked for, too. */
const MAX_PLACED_ISSUES = 10_000;
export const TOO_MUCH_WORK: readonly Issue[] = [{ path: "", message: "takes too much work to be checked against the schema" }];

/** What the schemas of one list may cost to be prepared together. */
export interface ListBudget {
  /** Steps of some 4 microseconds. */
  left: number;
  /** Only what was prepared lately: for whoever cannot wait. */
  readonly isOfKnown?: boolean;
}
export const BEYOND_LIST = "the schemas of its list take too much work together";
/** Bytes of a schema that cost one such step. */
const BYTES_A_STEP = 10;

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

/** What all patterns of a schema cost to be compiled, each once. Cost: one walk. */
const patternStepsOf = (schema: unknown): number => {
  const patterns = new Set<string>();
  const look = (part: unknown): void => {
    if (typeof part !== "object" || part === null) return;
    const { pattern, patternProperties } = part as Readonly<Record<string, unknown>>;
    if (typeof pattern === "string") patterns.add(pattern);
    if (isObject(patternProperties)) for (const name of Object.keys(patternProperties)) patterns.add(name);
    Object.values(part).forEach(look);
  };
  look(schema);
  return [...patterns].reduce((sum, text) => sum + checkSteps(text), 0);
};

/** Compiles a schema and all that it holds or refers to. Throws an `Error` whose message may be shown. */
const compile = (root: unknown): Check => {
  const nodes = new Map<object, Node>();
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

/** The issues that are shown, each once. */
const shownIssues = (run: Run): readonly Issue[] => {
  const shown = new Map<string, Issue>();
  for (const { place, message } of run.issues) {
    if (shown.size === MAX_ISSUES) break;
    const keys: PropertyKey[] = [];
    for (let at = place; at !== undefined; at = at.up) keys.push(at.key);
    const path = shownPointer(keys.reverse());
    spend(run, keys.length + path.length / 8);
    shown.set(`${path} ${message}`, { path, message });
  }
  return shown.size === 0 ? [{ path: "", message: "does not fit the schema" }] : [...shown.values()];
};

/** Where texts are that may be integers. Counts their names, for they are copied from thread to thread. */
const integerPlaces = (run: Run): readonly Place[] => {
  const known = new Set<Place>();
  return run.issues.flatMap(({ place, isInteger }) => {
    if (!isInteger || place === undefined) return [];
    for (let at: Place | undefined = place; at !== undefined && !known.has(at); at = at.up) {
      known.add(at);
      spend(run, String(at.key).length);
    }
    return [place];
  });
};

const issuesBy =
  (check: Check) =>
  (value: unknown, steps = MAX_STEPS_HERE, integers?: Place[]): readonly Issue[] => {
    const run: Run = { left: steps, place: undefined, issues: [], maxIssues: integers === undefined ? MAX_ISSUES : MAX_PLACED_ISSUES };
    try {
      if (check(value, run, undefined)) return [];
      const shown = shownIssues(run);
      if (integers !== undefined) for (const place of integerPlaces(run)) integers.push(place);
      return shown;
    } catch (error) {
      if (error instanceof TooMuchWork || error instanceof RangeError) return TOO_MUCH_WORK;
      throw error;
    }
  };

const preparedSchema = (schema: unknown, text: string): SchemaCheck | Error => {
  try {
    return Object.assign(issuesBy(compile(schema)), { text });
  } catch (error) {
    return error instanceof Error ? error : new Error("is no schema");
  }
};

/** What was prepared lately, by its text, and what it cost: each list and each call brings the same schemas again. */
const prepared = new LRUCache<string, { readonly steps: number; readonly made: SchemaCheck | Error }>({
  maxSize: 8_388_608,
  sizeCalculation: (_made, text) => text.length + 1,
});

/**
 * Prepares a schema, or finds it prepared; throws an `Error` whose message may be shown if it is none, beyond its limits or beyond what its list
 * may cost. Cost: at most some 50 ms, with as many patterns as may be.
 */
export const prepareSchema = (schema: unknown, list: ListBudget = { left: Infinity }): SchemaCheck => {
  const text = JSON.stringify(schema) ?? "";
  const bytes = Buffer.byteLength(text);
  if (bytes > schemaLimits.bytes) throw new Error(`the schema is larger than ${schemaLimits.bytes} bytes`);
  const known = prepared.get(text);
  if (known === undefined && list.isOfKnown === true) throw new Error("the schema is not prepared yet");
  const patternSteps = known === undefined ? patternStepsOf(schema) : 0;
  if (patternSteps > schemaLimits.patternSteps) throw new Error("the patterns of the schema take too much work to be compiled");
  const steps = known?.steps ?? patternSteps + bytes / BYTES_A_STEP;
  if (steps > list.left) throw new Error(BEYOND_LIST);
  list.left -= steps;
  const { made } = known ?? { made: preparedSchema(schema, text) };
  if (known === undefined) prepared.set(text, { steps, made });
  if (made instanceof Error) throw made;
  return made;
};

/** Why a schema cannot be prepared, if so. */
export const schemaRefusal = (schema: unknown, list?: ListBudget): string | undefined => {
  try {
    prepareSchema(schema, list);
    return undefined;
  } catch (error) {
    return error instanceof Error ? error.message : "is no schema";
  }
};
