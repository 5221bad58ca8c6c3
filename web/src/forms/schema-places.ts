import { isRawNumber } from "#contract/exact-numbers.ts";
import { isObject } from "#contract/is-object.ts";
import { parsePointer, pointerText } from "#contract/json-pointer.ts";

/** Where a JSON Schema says something of a value of the data. The schema may be of anybody: what cannot be read says nothing. */

export type Schema = Readonly<Record<string, unknown>>;
export type Data = Readonly<Record<string, unknown>>;

const MAX_HOPS = 20;
const MAX_NESTED = 12;

/** The schema that `$ref` leads to, inside the document. */
export const resolved = (schema: unknown, root: Schema): Schema => {
  let found = schema;
  for (let hop = 0; hop < MAX_HOPS; hop++) {
    if (!isObject(found)) return {};
    const ref = found["$ref"];
    if (typeof ref !== "string" || !ref.startsWith("#")) return found;
    found = parsePointer(ref.slice(1)).reduce<unknown>((at, part) => (isObject(at) ? at[part] : undefined), root);
  }
  return {};
};

const branchesOf = (schema: Schema): readonly unknown[] =>
  ["allOf", "anyOf", "oneOf", "then", "else"].flatMap((name) => schema[name] ?? []);

/** The schema of a member or item, also of one that only an alternative has. */
export const partOf = (schema: unknown, part: string | number, root: Schema): Schema => {
  const search = (of: unknown, depth: number): Schema | undefined => {
    const here = resolved(of, root);
    const { properties, items } = here;
    const direct =
      typeof part === "number" ? items : isObject(properties) && Object.hasOwn(properties, part) ? properties[part] : undefined;
    if (isObject(direct)) return resolved(direct, root);
    if (depth === MAX_NESTED) return undefined;
    for (const branch of branchesOf(here)) {
      const found = search(branch, depth + 1);
      if (found !== undefined) return found;
    }
    return undefined;
  };
  return search(schema, 0) ?? {};
};

const has = (schema: Schema, list: string, name: string): boolean => Array.isArray(schema[list]) && schema[list].includes(name);

/** A value of the data, with what is said of it. */
export interface Place {
  /** JSON Pointer. */
  readonly path: string;
  readonly name: string;
  readonly schema: Schema;
  /** It may not be left out. Items of lists may not. */
  readonly isRequired: boolean;
}

/** A copy of the data. `change` gets each value after what is inside it, and leaves it out by `undefined`; a left out item is null. */
export const mapData = (data: unknown, root: Schema, change: (value: unknown, place: Place) => unknown): unknown => {
  const walk = (value: unknown, place: Place): unknown => {
    const inner = (part: string | number, item: unknown): unknown =>
      walk(item, {
        path: `${place.path}${pointerText([part])}`,
        name: String(part),
        schema: partOf(place.schema, part, root),
        isRequired: typeof part === "number" || has(place.schema, "required", part),
      });
    if (Array.isArray(value))
      return change(
        value.map((item, at) => inner(at, item) ?? null),
        place,
      );
    if (!isObject(value) || isRawNumber(value)) return change(value, place);
    const entries = Object.entries(value).map(([name, item]) => [name, inner(name, item)] as const);
    return change(Object.fromEntries(entries.filter(([, item]) => item !== undefined)), place);
  };
  return walk(data, { path: "", name: "", schema: resolved(root, root), isRequired: true });
};

/** What people call a place: the title of its field, with its number in a list. */
export const titleAt = (root: Schema, path: string): string => {
  let schema = resolved(root, root);
  let title = "";
  for (const part of parsePointer(path)) {
    const isItem = /^\d+$/.test(part) && isObject(schema["items"]);
    schema = partOf(schema, isItem ? Number(part) : part, root);
    const own = typeof schema["title"] === "string" && schema["title"] !== "" ? schema["title"] : undefined;
    title = isItem ? `${own ?? title} ${Number(part) + 1}` : (own ?? part);
  }
  return title;
};

const startOf = (schema: unknown, root: Schema, depth: number): unknown => {
  const here = resolved(schema, root);
  if (here["default"] !== undefined) return here["default"];
  if (here["const"] !== undefined) return here["const"];
  const { properties } = here;
  if (!isObject(properties) || depth === MAX_NESTED) return undefined;
  const entries = Object.entries(properties).flatMap(([name, inner]) => {
    const isRequired = has(here, "required", name);
    const said = resolved(inner, root);
    // What is inside an optional part is not begun, or its required fields would be missed.
    const value = isRequired || !isObject(said["properties"]) ? startOf(inner, root, depth + 1) : said["default"];
    const begun = value === undefined && isRequired && said["type"] === "boolean" ? false : value;
    return begun === undefined ? [] : [[name, begun] as const];
  });
  return entries.length === 0 && depth > 0 ? undefined : Object.fromEntries(entries);
};

/** What is filled in before anybody did: the schema's defaults. A box that must be answered begins unticked. */
export const startData = (root: Schema): Data => {
  const start = startOf(root, root, 0);
  return isObject(start) ? start : {};
};
