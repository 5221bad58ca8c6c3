import { Validator, type Schema as CfSchema } from "@cfworker/json-schema";
import { isObject } from "#contract/is-object.ts";
import { parsePointer, pointerText } from "#contract/json-pointer.ts";
import { formWords } from "../strings/forms.ts";
import type { Data, Schema } from "./schema-places.ts";

/** Checks data as its schema wants it. The server's check is the one that counts: this only helps to fill in. */

export interface FormIssue {
  /** JSON Pointer; `""` is the whole form. */
  readonly path: string;
  readonly message: string;
  /** The keyword that it breaks. */
  readonly keyword?: string;
}

/** A pattern of others could run for ever: one that repeats a group is the server's to check, which runs it in linear time. */
const isPlainPattern = (pattern: string): boolean => pattern.length <= 200 && !/\)[*+{?]|\\[1-9k]|\(\?/.test(pattern);

const VALUES = new Set(["const", "enum", "default", "examples"]);

/** The schema without what is only a hint, or not safe to run. */
const checkable = (schema: unknown): unknown => {
  if (Array.isArray(schema)) return schema.map(checkable);
  if (!isObject(schema)) return schema;
  return Object.fromEntries(
    Object.entries(schema).flatMap(([name, value]) => {
      if (VALUES.has(name)) return [[name, value]];
      if (typeof value === "string" && (name === "format" || (name === "pattern" && !isPlainPattern(value)))) return [];
      if (name === "patternProperties" && isObject(value)) {
        const safe = Object.entries(value).filter(([pattern]) => isPlainPattern(pattern));
        return safe.length < Object.keys(value).length ? [] : [[name, checkable(value)]];
      }
      return [[name, checkable(value)]];
    }),
  );
};

const validators = new WeakMap<object, Validator>();

/** The issues are enough without those that only say where they are. */
const WRAPPERS = new Set([
  "properties",
  "patternProperties",
  "additionalProperties",
  "unevaluatedProperties",
  "propertyNames",
  "dependentSchemas",
  "items",
  "prefixItems",
  "additionalItems",
  "unevaluatedItems",
  "allOf",
  "$ref",
  "if",
  "then",
  "else",
]);

const quoted = (text: string): string => /"(.*)"/s.exec(text)?.[1] ?? "";
/** The limit stands last in the text. */
const limit = (text: string): string => /(-?[\d.e+]+)\D*$/.exec(text.replace(/\.$/, ""))?.[1] ?? "";

const sentences: Readonly<Record<string, (text: string) => string>> = {
  required: () => formWords.issues.required,
  type: (text) => formWords.issues.types[quoted(text.slice(text.indexOf("Expected")))] ?? formWords.issues.type,
  enum: () => formWords.issues.choice,
  const: () => formWords.issues.choice,
  false: () => formWords.issues.unexpected,
  anyOf: () => formWords.issues.alternatives,
  oneOf: () => formWords.issues.alternatives,
  pattern: () => formWords.issues.pattern,
  uniqueItems: () => formWords.issues.unique,
  minLength: (text) => formWords.issues.minLength(limit(text)),
  maxLength: (text) => formWords.issues.maxLength(limit(text)),
  minItems: (text) => formWords.issues.minItems(limit(text)),
  maxItems: (text) => formWords.issues.maxItems(limit(text)),
  minimum: (text) => formWords.issues.minimum(limit(text)),
  maximum: (text) => formWords.issues.maximum(limit(text)),
};

const valueAt = (data: unknown, path: string): unknown =>
  parsePointer(path).reduce<unknown>((at, part) => (typeof at === "object" && at !== null ? (at as Data)[part] : undefined), data);

/** A whole number that no double holds goes as text. */
const isLongInteger = (value: unknown): boolean => typeof value === "string" && /^-?\d{16,}$/.test(value);

const issueOf = (
  unit: { readonly keyword: string; readonly instanceLocation: string; readonly error: string },
  data: Data,
): FormIssue[] => {
  const at = decodeURI(unit.instanceLocation.slice(1));
  const path = unit.keyword === "required" ? `${at}${pointerText([quoted(unit.error)])}` : at;
  if (unit.keyword === "type") {
    const value = valueAt(data, path);
    if (isLongInteger(value) && /"(integer|number)"/.test(unit.error)) return [];
    if (value === null) return [{ path, keyword: "required", message: formWords.issues.required }];
  }
  const message = sentences[unit.keyword]?.(unit.error) ?? unit.error;
  return [{ path, keyword: unit.keyword, message }];
};

/** All issues of the data at once, one for each place and keyword; none of a schema that cannot be run. */
export const issuesOf = (schema: Schema, given: Data): readonly FormIssue[] => {
  // As it is sent: without what is not filled in, numbers as doubles.
  const data = JSON.parse(JSON.stringify(given)) as Data;
  try {
    const validator = validators.get(schema) ?? new Validator(checkable(schema) as CfSchema, "2020-12", false);
    validators.set(schema, validator);
    const units = validator.validate(data).errors;
    const inAlternative = /\/(?:anyOf|oneOf|not|contains)\//;
    const issues = units
      .filter(({ keyword, keywordLocation }) => !WRAPPERS.has(keyword) && !inAlternative.test(keywordLocation))
      .flatMap((unit) => issueOf(unit, data));
    return [...new Map(issues.map((issue) => [`${issue.path} ${issue.keyword}`, issue])).values()];
  } catch {
    return [];
  }
};
