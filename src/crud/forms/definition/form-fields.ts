import { isObject } from "#contract/is-object.ts";
import type { FormField } from "#contract/forms.ts";
import { pointerText } from "#contract/json-pointer.ts";
import { normalizeShape, redactShape, suggestShape, type Suggest } from "./form-shape.ts";

type Schema = Readonly<Record<string, unknown>>;

/** A property that somebody fills in. */
export interface Place {
  /** In the data. */
  readonly path: readonly string[];
  /** In the schema. */
  readonly at: readonly string[];
  readonly schema: Schema;
  readonly isRequired: boolean;
}

/** Every property of a schema, those of objects among them, in the order of the schema. */
export const placesOf = (schema: unknown, path: readonly string[] = [], at: readonly string[] = []): readonly Place[] => {
  if (!isObject(schema) || !isObject(schema["properties"])) return [];
  const required = Array.isArray(schema["required"]) ? (schema["required"] as unknown[]) : [];
  return Object.entries(schema["properties"]).flatMap(([name, part]): readonly Place[] => {
    const inner = isObject(part) ? part : {};
    const here = { path: [...path, name], at: [...at, "properties", name] };
    return [{ ...here, schema: inner, isRequired: required.includes(name) }, ...placesOf(inner, here.path, here.at)];
  });
};

/** A hint of a property, where it is as it should be. */
export const suggestOf = (schema: Schema): Suggest | undefined => suggestShape.safeParse(schema["x-suggest"]).data;
export const redactionOf = (schema: Schema) => redactShape.safeParse(schema["x-redact"]).data;
export const normalizationsOf = (schema: Schema) => {
  const given = normalizeShape.safeParse(schema["x-normalize"]).data ?? [];
  return typeof given === "string" ? [given] : given;
};

/** A schema without what only fields say. */
export const withoutHints = (schema: unknown): unknown => {
  if (Array.isArray(schema)) return schema.map(withoutHints);
  if (!isObject(schema)) return schema;
  return Object.fromEntries(
    Object.entries(schema).flatMap(([name, part]) => {
      if (name.startsWith("x-")) return [];
      // Names of members are no keywords, and values no schemas.
      if (["properties", "patternProperties", "$defs", "definitions", "dependentSchemas"].includes(name) && isObject(part))
        return [[name, Object.fromEntries(Object.entries(part).map(([key, inner]) => [key, withoutHints(inner)]))]];
      return [[name, ["enum", "const", "default", "examples"].includes(name) ? part : withoutHints(part)]];
    }),
  );
};

const bounds: Readonly<Record<string, (value: unknown) => string>> = {
  minLength: (value) => `At least ${String(value)} characters.`,
  maxLength: (value) => `At most ${String(value)} characters.`,
  minimum: (value) => `At least ${String(value)}.`,
  maximum: (value) => `At most ${String(value)}.`,
  exclusiveMinimum: (value) => `More than ${String(value)}.`,
  exclusiveMaximum: (value) => `Less than ${String(value)}.`,
  multipleOf: (value) => `A multiple of ${String(value)}.`,
  pattern: () => "Has another form.",
  minItems: (value) => `At least ${String(value)} items.`,
  maxItems: (value) => `At most ${String(value)} items.`,
  uniqueItems: () => "Each item once.",
};
const types = new Set(["string", "number", "integer", "boolean", "array", "object"]);

const labelOf = (name: string): string => {
  const words = name.replaceAll(/[_-]+/g, " ").trim();
  return words === "" ? name : words.slice(0, 1).toUpperCase() + words.slice(1);
};
const textOf = (value: unknown): string | undefined => (typeof value === "string" && value !== "" ? value : undefined);

/** The fields of a form. `defaultOf`: what `x-default` gives for now. */
export const fieldsOf = (
  schema: unknown,
  { suggestUrl, defaultOf }: { readonly suggestUrl: (field: string) => string; readonly defaultOf: (place: Place) => unknown },
): FormField[] =>
  placesOf(schema).map((place): FormField => {
    const { path, schema: part, isRequired } = place;
    const name = path.at(-1) ?? "";
    const pointer = pointerText(path);
    const suggest = suggestOf(part);
    const redact = redactionOf(part);
    const normalize = normalizationsOf(part);
    const given = Array.isArray(part["type"]) ? part["type"].find((type) => type !== "null") : part["type"];
    const [example] = Array.isArray(part["examples"]) ? (part["examples"] as unknown[]) : [];
    const type = typeof given === "string" && types.has(given) ? (given as FormField["type"]) : "any";
    const initial = defaultOf(place);
    const optional = {
      description: textOf(part["description"]),
      placeholder: redact === undefined ? textOf(example) : undefined,
      pattern: textOf(part["pattern"]),
      enum: Array.isArray(part["enum"]) ? (part["enum"] as unknown[]) : undefined,
      default: initial,
      redact,
      suggest: suggest === undefined ? undefined : { url: suggestUrl(pointer), min_chars: suggest.min_chars, limit: suggest.limit },
      normalize: normalize.length === 0 ? undefined : [...normalize],
    };
    return {
      name,
      path: pointer,
      type,
      required: isRequired,
      label: textOf(part["title"]) ?? labelOf(name),
      validation: Object.entries(bounds).flatMap(([kind, message]) =>
        Object.hasOwn(part, kind) ? [{ kind, value: part[kind], message: message(part[kind]) }] : [],
      ),
      ...(Object.fromEntries(Object.entries(optional).filter(([, value]) => value !== undefined)) as Partial<FormField>),
    };
  });
