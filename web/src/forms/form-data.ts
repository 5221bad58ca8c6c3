import { digitsOf, isRawNumber, parseExactJson } from "#contract/exact-numbers.ts";
import { isObject } from "#contract/is-object.ts";
import type { FormModel } from "./form-model.ts";
import { mapData, startData, type Data, type Place, type Schema } from "./schema-places.ts";

/** What is said of a field besides its schema: of `fields` in the answer of `GET /forms/schema`. */
export interface FieldHint {
  /** JSON Pointer. */
  readonly path: string;
  readonly placeholder?: string | undefined;
  readonly default?: unknown;
  readonly redact?: true | "last4" | undefined;
  readonly suggest?: { readonly min_chars: number; readonly limit: number } | undefined;
  readonly normalize?: readonly ("nfc" | "trim" | "lower" | "upper")[] | undefined;
}
export type Hints = ReadonlyMap<string, FieldHint>;

export const hintsOf = (fields: readonly FieldHint[] = []): Hints => new Map(fields.map((field) => [field.path, field]));

/** What is filled in: the data of the fields, or JSON as text. */
export interface FormValue {
  readonly mode: "fields" | "json";
  readonly data: Data;
  readonly json: string;
}

const SECRET = /pass(word|phrase)|secret|token|api_?key|credential/i;
const SECRET_NAME = new RegExp(`"[^"]*(?:${SECRET.source})[^"]*"\\s*:`, "i");

/** Shown as a password, and never part of a draft. */
export const isSecret = ({ name, schema, path }: Pick<Place, "name" | "schema" | "path">, hints: Hints): boolean =>
  hints.get(path)?.redact !== undefined || schema["writeOnly"] === true || schema["format"] === "password" || SECRET.test(name);

const asData = (value: unknown): Data => (isObject(value) ? value : {});

const withoutSecrets = (data: Data, schema: Schema, hints: Hints): Data =>
  asData(mapData(data, schema, (value, place) => (place.path !== "" && isSecret(place, hints) ? undefined : value)));

/** The form before anybody filled it in. */
export const emptyValue = (model: FormModel, hints: Hints, prefill: Data = {}): FormValue => {
  const hinted = [...hints.values()].flatMap(({ path, default: value }) =>
    value === undefined || path.lastIndexOf("/") !== 0 ? [] : [[path.slice(1).replaceAll("~1", "/").replaceAll("~0", "~"), value]],
  );
  const data = { ...startData(model.schema), ...Object.fromEntries(hinted), ...withoutSecrets(prefill, model.schema, hints) };
  return { mode: model.kind === "raw" ? "json" : "fields", data, json: model.kind === "raw" ? JSON.stringify(data, undefined, 2) : "{}" };
};

const normalizers: Readonly<Record<string, (text: string) => string>> = {
  nfc: (text) => text.normalize("NFC"),
  trim: (text) => text.trim(),
  lower: (text) => text.toLowerCase(),
  upper: (text) => text.toUpperCase(),
};

export const normalized = (data: Data, schema: Schema, hints: Hints): Data =>
  asData(
    mapData(data, schema, (value, { path }) =>
      typeof value === "string"
        ? (hints.get(path)?.normalize ?? []).reduce((text, name) => normalizers[name]?.(text) ?? text, value)
        : value,
    ),
  );

/** Without the optional parts that nobody filled in. */
const pruned = (data: Data, schema: Schema): Data =>
  asData(
    mapData(data, schema, (value, { path, isRequired }) => {
      const isEmpty = value !== null && typeof value === "object" && !isRawNumber(value) && Object.keys(value).length === 0;
      return isEmpty && !isRequired && path !== "" ? undefined : value;
    }),
  );

export type ReadForm = { readonly data: Data } | { readonly issue: "json" | "object" };

/** The data that would be sent. */
export const readForm = (model: FormModel, value: FormValue, hints: Hints): ReadForm => {
  if (model.kind === "fields" && value.mode === "fields")
    return { data: pruned(normalized(value.data, model.schema, hints), model.schema) };
  try {
    const data = value.json.trim() === "" ? {} : parseExactJson(value.json);
    return isObject(data) ? { data: normalized(data, model.schema, hints) } : { issue: "object" };
  } catch {
    return { issue: "json" };
  }
};

/** Between fields and JSON what is filled in comes along, as far as it can be read. */
export const switchMode = (model: FormModel, value: FormValue, mode: FormValue["mode"]): FormValue => {
  const read = readForm(model, value, new Map());
  if (model.kind === "raw" || mode === value.mode) return value;
  if (!("data" in read)) return { ...value, mode };
  if (mode === "json") return { ...value, mode, json: JSON.stringify(read.data, undefined, 2) };
  return { ...value, mode, data: asData(mapData(read.data, model.schema, (item) => (isRawNumber(item) ? digitsOf(item) : item))) };
};

/** What may be stored of it: no secret field, nor JSON that could hold one. */
export const storable = (model: FormModel, value: FormValue, hints: Hints): FormValue => {
  const hasSecret = SECRET_NAME.test(value.json) || [...hints.values()].some(({ redact }) => redact !== undefined);
  const isDeclared = /"(?:writeOnly"\s*:\s*true|format"\s*:\s*"password")/.test(JSON.stringify(model.schema));
  const isKept = !hasSecret && !isDeclared;
  return {
    mode: isKept || model.kind === "raw" ? value.mode : "fields",
    data: withoutSecrets(value.data, model.schema, hints),
    json: isKept ? value.json : "{}",
  };
};
