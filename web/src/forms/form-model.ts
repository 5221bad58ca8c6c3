import { isObject } from "#contract/is-object.ts";
import type { Schema } from "./schema-places.ts";

/**
 * How a JSON Schema is drawn. Fields are drawn for plain values, lists, objects and alternatives; a part that says nothing of its
 * form is one field of JSON. What only checks data is left to the check of the whole schema.
 */

export type RawReason = "none" | "large" | "unusable";

export type FormModel =
  | { readonly kind: "fields"; readonly schema: Schema; readonly drawn: Schema }
  | { readonly kind: "raw"; readonly schema: Schema; readonly reason: RawReason };

const MAX_DEPTH = 8;
const MAX_PROPERTIES = 200;

/** What was found of the whole schema so far. */
interface Seen {
  properties: number;
  depth: number;
  isUnusable: boolean;
}

interface At {
  readonly seen: Seen;
  readonly depth: number;
}

const textOf = (value: unknown): string | undefined => (typeof value === "string" && value !== "" ? value : undefined);

const typesOf = (schema: Schema): readonly unknown[] => [schema["type"] ?? []].flat().filter((type) => type !== "null");

const ALTERNATIVES = ["anyOf", "oneOf"] as const;

/** Whether a part of a combination is more than a condition. */
const drawsSomething = (schema: unknown): boolean =>
  isObject(schema) &&
  ["type", "properties", "$ref", "enum", "const", "items", ...ALTERNATIVES, "allOf"].some((name) => schema[name] !== undefined);

const isNull = (schema: unknown): boolean => isObject(schema) && schema["type"] === "null";

/** A choice between one thing and nothing is the thing. */
const withoutNull = (schema: Schema): Schema => {
  for (const name of ALTERNATIVES) {
    const { [name]: branches, ...rest } = schema;
    const real = Array.isArray(branches) ? branches.filter((branch) => !isNull(branch)) : [];
    if (Array.isArray(branches) && real.length === 1 && isObject(real[0])) return { ...real[0], ...rest };
  }
  return schema;
};

const mapped = (value: unknown, draw: (inner: unknown, name: string) => Schema): Schema =>
  Object.fromEntries(Object.entries(isObject(value) ? value : {}).map(([name, inner]) => [name, draw(inner, name)]));

const combined = (schema: Schema, draw: (inner: unknown) => Schema): Schema => {
  const parts: Record<string, unknown> = {};
  for (const name of ALTERNATIVES) {
    const branches = schema[name];
    if (Array.isArray(branches) && branches.length > 0 && branches.every(drawsSomething)) parts[name] = branches.map(draw);
  }
  const all = Array.isArray(schema["allOf"]) ? schema["allOf"].filter(drawsSomething).map(draw) : [];
  if (all.length > 0) parts["allOf"] = all;
  const { if: condition } = schema;
  const cases = ["then", "else"].filter((name) => drawsSomething(schema[name]));
  if (!isObject(condition) || cases.length === 0) return parts;
  return { ...parts, if: condition, ...Object.fromEntries(cases.map((name) => [name, draw(schema[name])])) };
};

const kept = [
  "default",
  "const",
  "enum",
  "format",
  "minItems",
  "maxItems",
  "uniqueItems",
  "maxLength",
  "writeOnly",
  "readOnly",
  "required",
];

const drawn = (given: unknown, name: string, { seen, depth }: At): Schema => {
  seen.depth = Math.max(seen.depth, depth);
  if (!isObject(given) || depth > MAX_DEPTH) return { title: name };
  if (given["$dynamicRef"] !== undefined || given["$recursiveRef"] !== undefined) seen.isUnusable = true;
  const ref = given["$ref"];
  if (ref !== undefined && !(typeof ref === "string" && /^#(\/|$)/.test(ref))) seen.isUnusable = true;
  const schema = withoutNull(given);
  const draw = (inner: unknown, of = name): Schema => drawn(inner, of, { seen, depth: depth + 1 });
  const words = { title: textOf(schema["title"]) ?? name, description: textOf(schema["description"]) ?? "" };
  const parts = combined(schema, draw);
  const base = { ...Object.fromEntries(kept.flatMap((key) => (key in schema ? [[key, schema[key]]] : []))), ...words, ...parts };
  const types = typesOf(schema);
  const isPlain = schema["enum"] !== undefined || schema["const"] !== undefined;
  if (typeof schema["$ref"] === "string") return { $ref: schema["$ref"], ...(textOf(schema["title"]) === undefined ? {} : words) };
  if (isObject(schema["properties"]) && Object.keys(schema["properties"]).length > 0) {
    seen.properties += Object.keys(schema["properties"]).length;
    return { ...base, type: "object", properties: mapped(schema["properties"], draw) };
  }
  if (types.length === 1 && types[0] === "array" && isObject(schema["items"]))
    return { ...base, type: "array", items: draw(schema["items"]) };
  if (isPlain && types.length < 2) return { ...base, ...(types.length === 1 ? { type: types[0] } : {}) };
  if (types.length === 1 && types[0] !== "array" && types[0] !== "object") return { ...base, type: types[0] };
  if (Object.keys(parts).length > 0) return types[0] === "object" ? { ...base, type: "object" } : base;
  return { ...words, ...("default" in schema ? { default: schema["default"] } : {}) };
};

const reasonOf = (schema: Schema, top: Schema, seen: Seen): RawReason | undefined => {
  const types = typesOf(schema);
  if (seen.isUnusable || (types.length > 0 && !types.includes("object"))) return "unusable";
  if (seen.properties > MAX_PROPERTIES || seen.depth > MAX_DEPTH) return "large";
  const isClosed = schema["additionalProperties"] === false;
  return ["properties", "$ref", "anyOf", "oneOf", "allOf", "if"].some((name) => top[name] !== undefined) || isClosed ? undefined : "none";
};

/** How the schema of an object is filled in: by fields, or as JSON and why. */
export const formModel = (schema: unknown): FormModel => {
  if (!isObject(schema)) return { kind: "raw", schema: {}, reason: "unusable" };
  const seen: Seen = { properties: 0, depth: 0, isUnusable: false };
  const definitions = Object.fromEntries(
    ["$defs", "definitions"].flatMap((name) =>
      isObject(schema[name]) ? [[name, mapped(schema[name], (inner, of) => drawn(inner, of, { seen, depth: 1 }))]] : [],
    ),
  );
  const top = drawn(schema, "", { seen, depth: 0 });
  const reason = reasonOf(schema, top, seen);
  if (reason !== undefined) return { kind: "raw", schema, reason };
  const { title: _title, description: _description, ...rest } = top;
  return { kind: "fields", schema, drawn: { type: "object", properties: {}, ...rest, ...definitions } };
};
