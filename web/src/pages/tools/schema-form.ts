import { parseExactJson } from "#contract/exact-numbers.ts";
import { isObject } from "#contract/is-object.ts";
import { pointerText } from "#contract/json-pointer.ts";
/**
 * A form for the arguments of a tool, made from its input schema. Flat schemas of plain values become fields; anything
 * else is written as JSON. The server's check of the arguments is the one that counts: this only helps to fill them in.
 */

export type Schema = Readonly<Record<string, unknown>>;

export type FieldKind = "text" | "integer" | "number" | "boolean" | "choice" | "list";

export interface Field {
  readonly name: string;
  readonly title: string;
  readonly description: string | undefined;
  readonly kind: FieldKind;
  readonly isRequired: boolean;
  /** Never kept in a draft. */
  readonly isSecret: boolean;
  /** Of kind `choice`: the values, as JSON knows them. */
  readonly choices: readonly unknown[];
  /** Text that is in the field at first. */
  readonly initial: string;
  readonly format: string | undefined;
}

export type FormModel =
  | { readonly kind: "fields"; readonly fields: readonly Field[] }
  | { readonly kind: "raw"; readonly reason: "none" | "nested" | "combined" | "large" | "unusable" };

export interface FieldIssue {
  /** JSON Pointer. */
  readonly path: string;
  readonly code: "required" | "whole_number" | "number" | "json" | "object" | "choice";
}

export type Collected = { readonly value: Readonly<Record<string, unknown>> } | { readonly issues: readonly FieldIssue[] };

const MAX_FIELDS = 40;
const COMBINERS = ["oneOf", "anyOf", "allOf", "not", "if", "$ref", "patternProperties", "dependentSchemas"];

const textOf = (value: unknown): string | undefined => (typeof value === "string" && value !== "" ? value : undefined);

const typeOf = (schema: Schema): string | undefined => {
  const type = schema["type"];
  if (typeof type === "string") return type;
  if (!Array.isArray(type)) return undefined;
  const real = type.filter((name) => name !== "null");
  return real.length === 1 && typeof real[0] === "string" ? real[0] : undefined;
};

const isPlain = (value: unknown): boolean => typeof value === "string" || typeof value === "number" || typeof value === "boolean";

const kinds: Readonly<Record<string, FieldKind>> = { string: "text", integer: "integer", number: "number", boolean: "boolean" };

const kindOf = (schema: Schema): FieldKind | undefined => {
  if (COMBINERS.some((name) => schema[name] !== undefined)) return undefined;
  if (Array.isArray(schema["enum"])) return schema["enum"].every(isPlain) ? "choice" : undefined;
  if (schema["const"] !== undefined) return isPlain(schema["const"]) ? "choice" : undefined;
  const type = typeOf(schema) ?? "";
  if (type === "array") {
    const { items } = schema;
    return isObject(items) && kindOf(items) === "text" ? "list" : undefined;
  }
  return kinds[type];
};

const choicesOf = (schema: Schema): readonly unknown[] =>
  Array.isArray(schema["enum"]) ? schema["enum"] : schema["const"] === undefined ? [] : [schema["const"]];

/** Text of a plain value; of anything else its JSON. */
export const plainText = (value: unknown): string => (typeof value === "string" ? value : (JSON.stringify(value) ?? ""));

const initialOf = (schema: Schema, kind: FieldKind): string => {
  const value = schema["default"] ?? schema["const"];
  if (value === undefined || value === null) return "";
  if (kind === "choice") return JSON.stringify(value);
  if (kind === "list") return Array.isArray(value) ? value.filter((item) => typeof item === "string").join("\n") : "";
  return plainText(value);
};

const SECRET = /pass(word|phrase)|secret|token|api_?key|credential/i;

const fieldOf = (name: string, schema: Schema, required: readonly unknown[]): Field | undefined => {
  const kind = kindOf(schema);
  if (kind === undefined) return undefined;
  return {
    name,
    title: textOf(schema["title"]) ?? name,
    description: textOf(schema["description"]),
    kind,
    isRequired: required.includes(name),
    isSecret: schema["writeOnly"] === true || schema["format"] === "password" || SECRET.test(name),
    choices: kind === "choice" ? choicesOf(schema) : [],
    initial: initialOf(schema, kind),
    format: textOf(schema["format"]),
  };
};

/** What kind of form the schema allows. */
export const formModel = (schema: unknown): FormModel => {
  if (!isObject(schema)) return { kind: "raw", reason: "unusable" };
  if (COMBINERS.some((name) => schema[name] !== undefined)) return { kind: "raw", reason: "combined" };
  if (schema["type"] !== undefined && typeOf(schema) !== "object") return { kind: "raw", reason: "unusable" };
  const properties = schema["properties"];
  if (properties !== undefined && !isObject(properties)) return { kind: "raw", reason: "unusable" };
  const entries = Object.entries(properties ?? {});
  if (entries.length === 0)
    return schema["additionalProperties"] === false ? { kind: "fields", fields: [] } : { kind: "raw", reason: "none" };
  if (entries.length > MAX_FIELDS) return { kind: "raw", reason: "large" };
  const required = Array.isArray(schema["required"]) ? schema["required"] : [];
  const fields = entries.map(([name, property]) => (isObject(property) ? fieldOf(name, property, required) : undefined));
  return fields.every((field) => field !== undefined) ? { kind: "fields", fields } : { kind: "raw", reason: "nested" };
};

type Read = { readonly value: unknown } | { readonly code: FieldIssue["code"] };

const INTEGER = /^-?\d+$/;
const NUMBER = /^-?(?:\d+\.?\d*|\.\d+)(?:[eE][+-]?\d+)?$/;

const readText = (field: Field, text: string): Read => {
  const trimmed = text.trim();
  switch (field.kind) {
    case "integer":
      if (!INTEGER.test(trimmed)) return { code: "whole_number" };
      // Beyond 2^53 the server takes it as text.
      return { value: Number.isSafeInteger(Number(trimmed)) ? Number(trimmed) : trimmed };
    case "number":
      return NUMBER.test(trimmed) && Number.isFinite(Number(trimmed)) ? { value: Number(trimmed) } : { code: "number" };
    case "boolean":
      return { value: trimmed === "true" };
    case "choice": {
      const chosen = field.choices.find((choice) => JSON.stringify(choice) === text);
      return chosen === undefined ? { code: "choice" } : { value: chosen };
    }
    case "list":
      return {
        value: text
          .split("\n")
          .map((line) => line.trim())
          .filter((line) => line !== ""),
      };
    case "text":
      return { value: text };
  }
};

/** The arguments that the filled-in fields say; all issues at once. An empty field that may be left out is left out. */
export const collectFields = (fields: readonly Field[], values: Readonly<Record<string, string>>): Collected => {
  const value: Record<string, unknown> = {};
  const issues: FieldIssue[] = [];
  for (const field of fields) {
    const text = values[field.name] ?? field.initial;
    if (text.trim() === "") {
      if (field.isRequired) issues.push({ path: pointerText([field.name]), code: "required" });
      continue;
    }
    const read = readText(field, text);
    if ("code" in read) issues.push({ path: pointerText([field.name]), code: read.code });
    else value[field.name] = read.value;
  }
  return issues.length > 0 ? { issues } : { value };
};

/** The arguments written as JSON. */
export const collectRaw = (text: string): Collected => {
  if (text.trim() === "") return { value: {} };
  try {
    const value = parseExactJson(text);
    return isObject(value) ? { value } : { issues: [{ path: "", code: "object" }] };
  } catch {
    return { issues: [{ path: "", code: "json" }] };
  }
};

/** Fields filled from arguments, e.g. when a person goes from JSON back to fields. */
export const valuesOf = (fields: readonly Field[], value: Readonly<Record<string, unknown>>): Readonly<Record<string, string>> =>
  Object.fromEntries(
    fields
      .filter((field) => value[field.name] !== undefined && value[field.name] !== null)
      .map((field) => {
        const given = value[field.name];
        if (field.kind === "choice") return [field.name, JSON.stringify(given)];
        if (Array.isArray(given)) return [field.name, given.map(String).join("\n")];
        return [field.name, plainText(given)];
      }),
  );

/** The field that an issue of the server belongs to; `undefined` = the whole form. */
export const fieldOfIssue = (fields: readonly Field[], path: string): string | undefined =>
  fields.find((field) => path === pointerText([field.name]) || path.startsWith(`${pointerText([field.name])}/`))?.name;
