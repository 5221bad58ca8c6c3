import { isObject } from "#contract/is-object.ts";
import { parsePointer } from "#contract/json-pointer.ts";

/** Value of `x-redact`: nothing of it is shown, or its last four characters. */
export type Redaction = true | "last4";
type Schema = Readonly<Record<string, unknown>>;
type Replace = (value: unknown, how: Redaction) => unknown;

export const REDACTED = "***";

/** Keywords with schemas of the very value that a schema is of. */
const inPlaceLists = ["allOf", "anyOf", "oneOf"];
const inPlaceMembers = ["if", "then", "else"];
const isRedaction = (how: unknown): how is Redaction => how === true || how === "last4";

const mapped = (schema: Schema, word: string): readonly unknown[] => (isObject(schema[word]) ? Object.values(schema[word]) : []);
const listed = (schema: Schema, word: string): readonly unknown[] => (Array.isArray(schema[word]) ? (schema[word] as unknown[]) : []);
const refersTo = (root: unknown, reference: unknown): unknown =>
  typeof reference === "string" && reference.startsWith("#")
    ? parsePointer(decodeURIComponent(reference.slice(1))).reduce<unknown>(
        (at, name) => (typeof at === "object" && at !== null && Object.hasOwn(at, name) ? (at as Schema)[name] : undefined),
        root,
      )
    : undefined;

/** Whether a schema names anything at all that is not shown. Cost: one walk. */
export const hasRedaction = (schema: unknown): boolean =>
  typeof schema === "object" && schema !== null && ("x-redact" in schema || Object.values(schema).some(hasRedaction));

/** A part of a schema, and the whole, in which its references lead. */
type Part = readonly [one: Schema, root: unknown];
const inPlaceOf = ([one, root]: Part): readonly unknown[] => [
  refersTo(root, one["$ref"]),
  ...inPlaceLists.flatMap((word) => listed(one, word)),
  ...inPlaceMembers.map((word) => one[word]),
  ...mapped(one, "dependentSchemas"),
];
const ofMember = (one: Schema, name: string): readonly unknown[] => [
  ...(isObject(one["properties"]) && Object.hasOwn(one["properties"], name) ? [one["properties"][name]] : []),
  ...mapped(one, "patternProperties"),
  one["additionalProperties"],
  one["unevaluatedProperties"],
];
const ofItem = (one: Schema, at: number): readonly unknown[] => [
  listed(one, "prefixItems")[at],
  one["items"],
  one["contains"],
  one["unevaluatedItems"],
];

/** Schemas of one value with all that are of the same value. */
const withInPlace = (parts: readonly (readonly [unknown, unknown])[]): readonly Part[] => {
  const all = new Map<Schema, Part>();
  const add = ([one, root]: readonly [unknown, unknown]): void => {
    if (!isObject(one) || all.has(one)) return;
    const part: Part = [one, root];
    all.set(one, part);
    for (const inner of inPlaceOf(part)) add([inner, root]);
  };
  parts.forEach(add);
  return [...all.values()];
};

/**
 * A value with what any of its schemas marks as `x-redact` replaced. Where branches of a schema differ, a mark in any of them counts. Cost: one
 * walk of the value for each schema that is of a part.
 */
export const replaceRedacted = (schemas: readonly unknown[], value: unknown, replace: Replace): unknown => {
  const marking = schemas.filter(hasRedaction);
  if (marking.length === 0) return value;
  const walk = (parts: readonly Part[], part: unknown): unknown => {
    const how = parts.map(([one]) => one["x-redact"]).filter(isRedaction);
    if (how.length > 0) return part === null || part === undefined ? part : replace(part, how.includes(true) ? true : "last4");
    const inner = (of: (one: Schema) => readonly unknown[]): readonly Part[] =>
      withInPlace(parts.flatMap(([one, root]) => of(one).map((schema) => [schema, root] as const)));
    if (Array.isArray(part))
      return part.map((item, at) =>
        walk(
          inner((one) => ofItem(one, at)),
          item,
        ),
      );
    if (!isObject(part)) return part;
    return Object.fromEntries(
      Object.entries(part).map(([name, item]) => [
        name,
        walk(
          inner((one) => ofMember(one, name)),
          item,
        ),
      ]),
    );
  };
  return walk(withInPlace(marking.map((schema) => [schema, schema])), value);
};

/** How a value is shown: its last four characters only where they are less than half of it. */
export const shownAs = (value: unknown, how: Redaction): string => {
  const text = typeof value === "string" || typeof value === "number" ? String(value) : "";
  return how === "last4" && text.length > 8 ? `${REDACTED}${text.slice(-4)}` : REDACTED;
};

/** A value as it may be echoed. */
export const hideRedacted = (schemas: readonly unknown[], value: unknown): unknown => replaceRedacted(schemas, value, shownAs);

/** Texts and numbers in what is not shown: they are taken out of whatever comes back. */
export const redactedTexts = (schema: unknown, value: unknown): readonly string[] => {
  const texts: string[] = [];
  replaceRedacted([schema], value, (part) => {
    textsIn(part, texts);
    return part;
  });
  return texts;
};
export const textsIn = (value: unknown, texts: string[]): void => {
  if (typeof value === "string" || typeof value === "number") texts.push(String(value));
  else if (typeof value === "object" && value !== null) for (const item of Object.values(value)) textsIn(item, texts);
};
