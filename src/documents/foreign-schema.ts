import { format, Validator, type Schema } from "@cfworker/json-schema";
import { RE2JS } from "re2js";
import { isRawNumber, withDoubles } from "#contract/exact-numbers.ts";
import { isObject } from "#contract/is-object.ts";
import type { Fault } from "#contract/problem.ts";

/**
 * All faults of a value, at most 50 unless `most` says more; empty = it fits. Values are never echoed. A number that no double holds is held
 * against the schema as the nearest double.
 */
export type SchemaCheck = (value: unknown, most?: number) => readonly Fault[];

/** What a tool's schema may be at most. Schemas of tools count as foreign, our own files' too. */
const schemaLimits = { bytes: 65_536, depth: 32, subschemas: 512 };
const MAX_FAULTS = 50;

type Format = (text: string) => boolean;
const formats = format as Record<string, Format>;
/** The library's `regex` format compiles what it is given; it is not for foreign input. */
const dropped: ReadonlySet<string> = new Set(["regex", "json-pointer-uri-fragment"]);

/**
 * Patterns run on RE2, whose time is linear: the library would compile them to backtracking expressions. They become
 * formats of its table, named after their own text, so equal patterns are compiled once.
 */
const formatOf = (pattern: string): readonly [name: string, format: Format] => {
  const name = `re2:${pattern}`;
  const known = formats[name];
  if (known !== undefined) return [name, known];
  const compiled = RE2JS.compile(pattern);
  return [name, (text) => compiled.matcher(text).find()];
};

const users = new Map<string, number>();
/** The library's table is one for the process: a format leaves it with the last schema that uses it, or foreign lists would fill it. */
const unused = new FinalizationRegistry<readonly string[]>((names) => {
  for (const name of names) {
    const left = (users.get(name) ?? 1) - 1;
    users.set(name, left);
    if (left === 0 && users.delete(name)) delete formats[name];
  }
});

const keepFormats = (own: ReadonlyMap<string, Format>, user: object): void => {
  for (const [name, format] of own) {
    formats[name] = format;
    users.set(name, (users.get(name) ?? 0) + 1);
  }
  if (own.size > 0) unused.register(user, [...own.keys()]);
};

/** Keywords whose value is a list of schemas. */
export const schemaLists: ReadonlySet<string> = new Set(["allOf", "anyOf", "oneOf", "prefixItems"]);
const schemaMaps = new Set(["properties", "$defs", "definitions", "dependentSchemas", "patternProperties"]);
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

/** Whether a value holds a number for which another one that is near would be taken. */
export const namesLarge = (value: unknown): boolean =>
  isRawNumber(value) ||
  (typeof value === "number" && Number.isInteger(value) && !Number.isSafeInteger(value)) ||
  (typeof value === "object" && value !== null && Object.values(value).some(namesLarge));

/** A copy that the library may run: inner references only, patterns on RE2, nothing that is not a schema keyword's shape. */
const adopt = (schema: unknown, depth: number, adopting: { left: number; readonly patterns: Map<string, Format> }): Schema | boolean => {
  if (typeof schema === "boolean") return schema;
  if (!isObject(schema)) throw new Error("a schema is an object or a boolean");
  if (depth > schemaLimits.depth) throw new Error(`the schema is nested deeper than ${schemaLimits.depth}`);
  if (--adopting.left < 0) throw new Error(`the schema has more than ${schemaLimits.subschemas} parts`);
  const inner = (value: unknown) => adopt(value, depth + 1, adopting);
  const copy: Record<string, unknown> = {};
  const all: unknown[] = [];
  for (const [word, value] of Object.entries(schema)) {
    // Assigned, it would be the prototype of the copy.
    if (word === "__proto__") continue;
    if (word === "$id" || word === "id" || word === "$anchor" || word === "$schema") continue;
    if ((word === "enum" || word === "const") && namesLarge(value)) throw new Error(`${word} names a number beyond 2^53`);
    if (word === "$dynamicRef" || word === "$recursiveRef") throw new Error(`${word} is not allowed`);
    if (word === "$ref") {
      if (typeof value !== "string" || !value.startsWith("#")) throw new Error("only references within the schema are allowed");
      copy[word] = value;
    } else if (word === "pattern") {
      const [name, format] = formatOf(String(value));
      adopting.patterns.set(name, format);
      all.push({ format: name });
    } else if (word === "patternProperties") throw new Error("patternProperties is not allowed");
    else if (word === "format") {
      if (typeof value === "string" && !dropped.has(value) && !value.startsWith("re2:")) copy[word] = value;
    } else if (schemaLists.has(word) && Array.isArray(value)) copy[word] = value.map(inner);
    else if (schemaMaps.has(word) && isObject(value))
      copy[word] = Object.fromEntries(Object.entries(value).map(([name, item]) => [name, inner(item)]));
    else if (schemaMembers.has(word) && (isObject(value) || typeof value === "boolean")) copy[word] = inner(value);
    else copy[word] = value;
  }
  if (all.length > 0) copy["allOf"] = [...((copy["allOf"] as unknown[] | undefined) ?? []), ...all];
  return copy as Schema;
};

/** Prepares a schema; throws an `Error` whose message may be shown if it is none, or beyond its limits. */
export const prepareSchema = (schema: unknown): SchemaCheck => {
  if (Buffer.byteLength(JSON.stringify(schema) ?? "") > schemaLimits.bytes)
    throw new Error(`the schema is larger than ${schemaLimits.bytes} bytes`);
  const patterns = new Map<string, Format>();
  const adopted = adopt(schema, 0, { left: schemaLimits.subschemas, patterns });
  const validator = new Validator(adopted, "2020-12", false) as unknown as Prepared;
  requireReferences(adopted, validator.lookup);
  keepFormats(patterns, validator);
  const budget = { left: 0 };
  validator.lookup = new Proxy(validator.lookup, {
    get: (known, name) => {
      if (--budget.left < 0) throw new TooMuchWork();
      return Reflect.get(known, name) as unknown;
    },
  });
  return (value, most = MAX_FAULTS) => {
    const parts = { isExact: true };
    budget.left = MOST_REFERENCES + REFERENCES_A_PART * partsOf(value, parts);
    const found = validated(validator, parts.isExact ? value : withDoubles(value));
    if (found === undefined) return [{ path: "", message: "takes too much work to be held against the schema: its references multiply" }];
    const { valid, errors } = found;
    if (valid) return [];
    const faults = errors.filter((error) => !umbrellas.has(error.keyword)).map(faultOf);
    const unique = new Map(faults.map((fault) => [`${fault.path} ${fault.message}`, fault]));
    return unique.size === 0 ? [{ path: "", message: "does not fit the schema" }] : [...unique.values()].slice(0, most);
  };
};

/** The library's validator: what a reference leads to it looks up here, each time that it meets one. */
interface Prepared {
  lookup: Readonly<Record<string, unknown>>;
  validate(value: unknown): ReturnType<Validator["validate"]>;
}

/**
 * References that a value may lead through, and how many more for each part of it. Without references the work is bounded by the sizes of schema and
 * value; with them it can double at each step (`A0: allOf [A1, A1]`, `A1: allOf [A2, A2]`), or never end.
 */
const MOST_REFERENCES = 20_000;
const REFERENCES_A_PART = 50;
class TooMuchWork extends Error {}

const validated = (validator: Prepared, value: unknown): ReturnType<Validator["validate"]> | undefined => {
  try {
    return validator.validate(value);
  } catch (error) {
    if (error instanceof TooMuchWork || error instanceof RangeError) return undefined;
    throw error;
  }
};

const partsOf = (value: unknown, seen: { isExact: boolean }): number => {
  if (typeof value !== "object" || value === null) return 1;
  if (isRawNumber(value)) seen.isExact = false;
  let parts = 1;
  for (const item of Object.values(value)) parts += partsOf(item, seen);
  return parts;
};

const referenceOf = (schema: unknown): string | undefined => (schema as { readonly __absolute_ref__?: string }).__absolute_ref__;

/** Schemas that speak of the very value that this one speaks of. */
const inPlace = (schema: Readonly<Record<string, unknown>>, known: Prepared["lookup"]): readonly unknown[] => [
  ...["allOf", "anyOf", "oneOf"].flatMap((word) => (Array.isArray(schema[word]) ? (schema[word] as unknown[]) : [])),
  ...["not", "if", "then", "else"].map((word) => schema[word]),
  ...(isObject(schema["dependentSchemas"]) ? Object.values(schema["dependentSchemas"]) : []),
  known[referenceOf(schema) ?? ""],
];

/** An unresolved reference shows only when it is met, and one that leads back to itself at the same value never ends: both are looked for now. */
const requireReferences = (schema: Schema | boolean, known: Prepared["lookup"]): void => {
  const ended = new Set<unknown>();
  const under = new Set<unknown>();
  const follow = (at: unknown): void => {
    if (!isObject(at) || ended.has(at)) return;
    if (under.has(at)) throw new Error("the schema refers to itself at the same place");
    under.add(at);
    inPlace(at, known).forEach(follow);
    under.delete(at);
    ended.add(at);
  };
  const visit = (at: unknown): void => {
    if (Array.isArray(at)) at.forEach(visit);
    if (!isObject(at)) return;
    const reference = referenceOf(at);
    if (typeof at["$ref"] === "string" && reference !== undefined && known[reference] === undefined)
      throw new Error(`${at["$ref"]} is not there`);
    follow(at);
    Object.values(at).forEach(visit);
  };
  visit(schema);
};

/** They only say that an inner schema has faults, which are listed themselves. */
const umbrellas: ReadonlySet<string> = new Set(["$ref", "properties", "items", "prefixItems", "allOf", "then", "else"]);

const typeOf = (error: string): string => /Expected "(.+)"\.$/.exec(error)?.[1]?.replaceAll('", "', " or ") ?? "of another type";
const number = (error: string): string => /(-?[\d.e+]+)\.?\)?$/.exec(error.replace(/\.$/, ""))?.[1] ?? "";
const article = (type: string): string => (/^[aio]/.test(type) ? `an ${type}` : `a ${type}`);

const MAX_SHOWN = 200;
/** What a schema wants, as its own text: whoever may call the tool has read it. Long ones are only spoken of. */
const wanted = (error: string, before: RegExp, lead: string, otherwise: string): string => {
  const text = before.exec(error)?.[1];
  return text === undefined || text.length > MAX_SHOWN ? otherwise : `${lead} ${text}`;
};

const counted = (error: string, what: string): string => `${number(error)} ${what}${number(error) === "1" ? "" : "s"}`;

/** Our own words for each keyword: the library's messages repeat the value. */
const messages: Readonly<Record<string, (error: string) => string>> = {
  type: (error) => `must be ${article(typeOf(error))}`,
  required: () => "is required",
  false: () => "is not known here",
  additionalProperties: () => "is not known here",
  unevaluatedProperties: () => "is not known here",
  const: (error) => wanted(error, /^Instance does not match (.*)\.$/s, "must be", "must be the value the schema names"),
  enum: (error) =>
    wanted(error, /^Instance does not match any of \[(.*)\]\.$/s, "must be one of", "must be one of the values the schema names"),
  format: (error) =>
    error.includes('"re2:')
      ? wanted(error, /format "re2:(.*)"\.$/s, "must match", "does not match the pattern")
      : `must be a ${/format "([^"]+)"/.exec(error)?.[1] ?? "text of its format"}`,
  minimum: (error) => `must be at least ${number(error)}`,
  maximum: (error) => `must be at most ${number(error)}`,
  exclusiveMinimum: (error) => `must be more than ${number(error)}`,
  exclusiveMaximum: (error) => `must be less than ${number(error)}`,
  multipleOf: (error) => `must be a multiple of ${number(error)}`,
  minLength: (error) => `must have at least ${counted(error, "character")}`,
  maxLength: (error) => `must have at most ${counted(error, "character")}`,
  minItems: (error) => `must have at least ${counted(error, "item")}`,
  maxItems: (error) => `must have at most ${counted(error, "item")}`,
  uniqueItems: () => "repeats an item",
};

const faultOf = (error: { readonly keyword: string; readonly instanceLocation: string; readonly error: string }): Fault => {
  const at = decodeURIComponent(error.instanceLocation.replace(/^#/, ""));
  const named = /"([^"]*)"/.exec(error.error)?.[1];
  const isAboutMember = error.keyword === "required" || (/ropert/.test(error.keyword) && error.error.startsWith("Property "));
  const path = isAboutMember && named !== undefined && !at.endsWith(`/${named}`) ? `${at}/${named}` : at;
  return { path, message: messages[error.keyword]?.(error.error) ?? `does not fit (${error.keyword})` };
};
