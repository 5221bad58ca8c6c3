import { isObject } from "#contract/is-object.ts";
import { parsePointer } from "#contract/json-pointer.ts";
import type { Place } from "#contract/masked-values.ts";

type Schema = Readonly<Record<string, unknown>>;

/** How many schemas are looked at for one value, each some 0.5 microseconds: beyond it everything counts as secret. */
const MAX_LOOKS = 50_000;
const hidden: Place = { isSecret: true, into: () => hidden };

const listOf = (value: unknown): readonly unknown[] => (Array.isArray(value) ? value : []);
const valuesOf = (value: unknown): readonly unknown[] => (isObject(value) ? Object.values(value) : []);
const membersOf = (value: unknown): readonly (readonly [string, unknown])[] => (isObject(value) ? Object.entries(value) : []);

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

/** Schemas of the same value as this one but for its `$ref`. */
const besides = (schema: Schema): readonly unknown[] => [
  ...["allOf", "anyOf", "oneOf"].flatMap((name) => listOf(schema[name])),
  ...["if", "then", "else"].map((name) => schema[name]),
  ...valuesOf(schema["dependentSchemas"]),
];
/** Those of one part of the value. */
const named = (schema: Schema): readonly (readonly [string, unknown])[] => [
  ...membersOf(schema["properties"]),
  ...listOf(schema["prefixItems"]).map((item, at) => [String(at), item] as const),
];
/** Those of any part. */
const unnamed = (schema: Schema): readonly unknown[] => [
  ...valuesOf(schema["patternProperties"]),
  ...["additionalProperties", "unevaluatedProperties", "items", "contains", "unevaluatedItems"].map((name) => schema[name]),
];

/**
 * What a tool's input schema says of the secrecy of its values: `writeOnly`, or the format `password`. A branch that
 * does not apply only hides more. Cost: what is known of a place is found once, whatever stands there.
 */
export const placeInSchema = (root: Schema): Place => {
  let left = MAX_LOOKS;
  const targets = new Map<unknown, unknown>();
  const target = (ref: unknown): unknown => {
    if (!targets.has(ref)) targets.set(ref, targetOf(root, ref));
    return targets.get(ref);
  };
  /** Every schema that may speak of the same value. */
  const alike = (schemas: readonly unknown[]): readonly Schema[] => {
    const found = new Set<Schema>();
    const open = [...schemas];
    while (open.length > 0 && left-- > 0) {
      const schema = open.pop();
      if (!isObject(schema) || found.has(schema)) continue;
      found.add(schema);
      open.push(target(schema["$ref"]), ...besides(schema));
    }
    return [...found];
  };
  const placeOf = (schemas: readonly unknown[]): Place => {
    const all = alike(schemas);
    if (left < 0) return hidden;
    let inner: ReadonlyMap<string, readonly unknown[]> | undefined;
    let others: readonly unknown[] | undefined;
    const known = new Map<string | undefined, Place>();
    return {
      isSecret: all.some((schema) => schema["writeOnly"] === true || schema["format"] === "password"),
      into: (part) => {
        if (left < 0) return hidden;
        inner ??= new Map(
          Map.groupBy(all.flatMap(named), ([name]) => name)
            .entries()
            .map(([name, of]) => [name, of.map(([, one]) => one)]),
        );
        const own = inner.get(part);
        const name = own === undefined ? undefined : part;
        const place = known.get(name) ?? placeOf([...(own ?? []), ...(others ??= all.flatMap(unnamed))]);
        known.set(name, place);
        return place;
      },
    };
  };
  return placeOf([root]);
};
