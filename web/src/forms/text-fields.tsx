import { Textarea } from "@mantine/core";
import type { ErrorSchema, FieldProps } from "@rjsf/utils";
import { useState, type ReactElement } from "react";
import { parseExactJson } from "#contract/exact-numbers.ts";
import { isObject } from "#contract/is-object.ts";
import { visibleText } from "../strings/format.ts";
import { formWords } from "../strings/forms.ts";
import { contextOf, elementId, pathOf } from "./form-context.ts";

/** All that is wrong with a value and what is inside it. */
const errorsIn = (errors: ErrorSchema | undefined): readonly string[] =>
  errors === undefined ? [] : Object.values(errors).flatMap((inner) => (Array.isArray(inner) ? inner.map(String) : errorsIn(inner)));

const sharedOf = (props: FieldProps, hint: string) => {
  const { schema, name, required = false, disabled = false, readonly = false, registry, fieldPathId, title } = props;
  const errors = [...(props.rawErrors ?? []), ...errorsIn(props.errorSchema)];
  const path = pathOf({ htmlName: fieldPathId.name });
  return {
    id: elementId(registry.globalFormOptions.idPrefix, path),
    label: visibleText(schema.title ?? title ?? name),
    description:
      errors.length > 0
        ? undefined
        : [schema.description, hint]
            .filter((text) => text !== undefined && text !== "")
            .map((text) => visibleText(text ?? ""))
            .join(" \u00b7 "),
    error: errors.length > 0 ? visibleText([...new Set(errors)].join(", ")) : undefined,
    required,
    disabled: disabled || readonly,
    rows: 3,
    spellCheck: false,
    inputWrapperOrder: ["label", "input", "description", "error"] as ("label" | "input" | "description" | "error")[],
  };
};

const same = (one: unknown, other: unknown): boolean => JSON.stringify(one) === JSON.stringify(other);

/** A list of texts: one a line. */
export const LinesField = (props: FieldProps): ReactElement => {
  const read = (text: string): readonly string[] | undefined => {
    const lines = text.split("\n").map((line) => line.trim());
    const entries = lines.filter((line) => line !== "");
    return entries.length === 0 ? undefined : entries;
  };
  const shown = Array.isArray(props.formData) ? props.formData.join("\n") : "";
  const [typed, setTyped] = useState(shown);
  return (
    <Textarea
      {...sharedOf(props, formWords.listHint)}
      // The text stays while it says the same.
      value={same(read(typed), read(shown)) ? typed : shown}
      onChange={(event) => {
        setTyped(event.currentTarget.value);
        props.onChange(read(event.currentTarget.value), props.fieldPathId.path);
      }}
    />
  );
};

const readJson = (text: string): { readonly value: unknown } | undefined => {
  if (text.trim() === "") return { value: undefined };
  try {
    return { value: parseExactJson(text) };
  } catch {
    // What cannot be meant as JSON is a text.
    return /^\s*[[{"]/.test(text) ? undefined : { value: text };
  }
};

/** A part of which the schema does not say what it is. */
export const JsonField = (props: FieldProps): ReactElement => {
  const { formData, fieldPathId } = props;
  const shown = formData === undefined ? "" : typeof formData === "string" ? formData : JSON.stringify(formData, undefined, 2);
  const [typed, setTyped] = useState(shown);
  const read = readJson(typed);
  const isKept = read === undefined || same(read.value, formData);
  return (
    <Textarea
      {...sharedOf(props, formWords.jsonHint)}
      className="sp-json"
      value={isKept ? typed : shown}
      onChange={(event) => {
        const text = event.currentTarget.value;
        setTyped(text);
        const next = readJson(text);
        contextOf(props).setBroken(pathOf({ htmlName: fieldPathId.name }), next === undefined);
        if (next !== undefined) props.onChange(next.value, fieldPathId.path);
      }}
    />
  );
};

/** Whether items are plain texts, each of which fits on a line. */
export const areLines = (items: unknown): boolean =>
  isObject(items) &&
  items["type"] === "string" &&
  ["enum", "const", "format", "anyOf", "oneOf", "allOf"].every((name) => items[name] === undefined);
