import { isObject } from "#contract/is-object.ts";
import { parsePointer } from "#contract/json-pointer.ts";
import type { Place } from "#contract/masked-values.ts";

type Schema = Readonly<Record<string, unknown>>;

const listOf = (value: unknown): readonly unknown[] => (Array.isArray(value) ? value : []);
const valuesOf = (value: unknown): readonly unknown[] => (isObject(value) ? Object.values(value) : []);

/** What an inner `$ref` names. Others lead nowhere: a tool's schema has none. */
const targetOf = (root: Schema, ref: unknown): unknown => {
  if (typeof ref !== "string" || !ref.startsWith("#")) return undefined;
  return parsePointer(decoded(ref.slice(1))).reduce<unknown>(
    (held, name) => (isObject(held) || Array.isArray(held) ? (held as Schema)[name] : undefined),
    root,
  );
};

const decoded = (part: string): string => {
  try {
    return decodeURIComponent(part);
  } catch {
    return part;
  }
};

/** Every schema that may speak of the same value: a branch that does not apply only hides more. */
const alike = (root: Schema, schemas: readonly unknown[]): readonly Schema[] => {
  const found = new Set<Schema>();
  const open = [...schemas];
  while (open.length > 0) {
    const schema = open.pop();
    if (!isObject(schema) || found.has(schema)) continue;
    found.add(schema);
    open.push(
      targetOf(root, schema["$ref"]),
      ...["allOf", "anyOf", "oneOf"].flatMap((name) => listOf(schema[name])),
      ...["if", "then", "else"].map((name) => schema[name]),
      ...valuesOf(schema["dependentSchemas"]),
    );
  }
  return [...found];
};

const innerOf = (schema: Schema, part: string): readonly unknown[] => {
  const { properties } = schema;
  return [
    isObject(properties) && Object.hasOwn(properties, part) ? properties[part] : undefined,
    ...valuesOf(schema["patternProperties"]),
    ...["additionalProperties", "unevaluatedProperties", "items", "contains", "unevaluatedItems"].map((name) => schema[name]),
    listOf(schema["prefixItems"])[Number(part)],
  ];
};

/** What a tool's input schema says of the secrecy of its values: `writeOnly`, or the format `password`. */
export const placeInSchema = (root: Schema): Place => {
  const placeOf = (schemas: readonly unknown[]): Place => {
    const all = alike(root, schemas);
    return {
      isSecret: all.some((schema) => schema["writeOnly"] === true || schema["format"] === "password"),
      into: (part) => placeOf(all.flatMap((schema) => innerOf(schema, part))),
    };
  };
  return placeOf([root]);
};
