import { isObject } from "#contract/is-object.ts";
import { expressionsOf, hasExpression, type Scope } from "#crud/workflows/definition/expressions.ts";
import { normalizationsOf, placesOf, type Place } from "./form-fields.ts";

type Data = Record<string, unknown>;

/** Expressions of forms stand at no place of a file that a caller is to know. */
export const expressions = expressionsOf({ places: {} });

const normalizers: Readonly<Record<string, (text: string) => string>> = {
  nfc: (text) => text.normalize("NFC"),
  trim: (text) => text.trim(),
  lower: (text) => text.toLowerCase(),
  upper: (text) => text.toUpperCase(),
};
const order = Object.keys(normalizers);

const normalized = (value: unknown, by: readonly string[]): unknown => {
  if (Array.isArray(value)) return value.map((item) => normalized(item, by));
  if (typeof value !== "string") return value;
  return order.filter((name) => by.includes(name)).reduce((text, name) => normalizers[name]?.(text) ?? text, value);
};

/** The object that holds a property; undefined where the data has none. */
const holderOf = (data: Data, path: readonly string[]): Data | undefined =>
  path.slice(0, -1).reduce<Data | undefined>((at, name) => {
    const inner = at !== undefined && Object.hasOwn(at, name) ? at[name] : undefined;
    return isObject(inner) ? inner : undefined;
  }, data);

/** What `x-default` gives; undefined where it has none, or reads what is not there. */
export const defaultOf = ({ schema }: Place, scope: Scope): unknown => {
  const given = schema["x-default"];
  if (!hasExpression(given)) return given;
  try {
    return expressions.evaluate(given, scope);
  } catch {
    return undefined;
  }
};

/** Data as it is checked and sent: normalized, and with defaults for what is absent, in the order of the schema. Leaves `data` as it is. */
export const fillForm = (schema: unknown, given: Readonly<Data>, scope: Scope): Data => {
  const data = structuredClone(given) as Data;
  const places = placesOf(schema);
  for (const { path, schema: part } of places) {
    const by = normalizationsOf(part);
    const holder = by.length === 0 ? undefined : holderOf(data, path);
    const name = path.at(-1) ?? "";
    if (holder !== undefined && Object.hasOwn(holder, name)) holder[name] = normalized(holder[name], by);
  }
  for (const place of places) {
    const holder = "x-default" in place.schema ? holderOf(data, place.path) : undefined;
    const name = place.path.at(-1) ?? "";
    if (holder === undefined || Object.hasOwn(holder, name)) continue;
    const value = defaultOf(place, { ...scope, data });
    if (value !== undefined) holder[name] = value;
  }
  return data;
};
