import { Checkbox, NativeSelect, PasswordInput, Radio, Textarea, TextInput } from "@mantine/core";
import { localToUTC, utcToLocal, type RegistryWidgetsType, type WidgetProps } from "@rjsf/utils";
import { useState, type FocusEvent, type ReactElement } from "react";
import { visibleText } from "../strings/format.ts";
import { formWords } from "../strings/forms.ts";
import { SuggestInput } from "../ui/suggest-input.tsx";
import { contextOf, elementId, numbered, pathOf } from "./form-context.ts";
import { isSecret } from "./form-data.ts";

const order = ["label", "input", "description", "error"] as const;

const textOf = (value: unknown): string =>
  value === undefined || value === null ? "" : typeof value === "string" ? value : JSON.stringify(value);

/** What every field has: its name, its hint or what is wrong with it, and the check when it is left. */
const sharedOf = (props: WidgetProps) => {
  const { schema, label, options, rawErrors = [], required = false, disabled = false, readonly = false, registry, placeholder } = props;
  const path = pathOf(props);
  const hint = contextOf(props).hints.get(path);
  const description = options.description ?? schema.description ?? options.help;
  const error = rawErrors.length === 0 ? undefined : visibleText(rawErrors.join(", "));
  return {
    id: elementId(registry.globalFormOptions.idPrefix, path),
    label: visibleText(numbered(label, path)),
    description: error === undefined && typeof description === "string" && description !== "" ? visibleText(description) : undefined,
    error,
    required,
    disabled: disabled || readonly,
    placeholder: hint?.placeholder ?? placeholder,
    inputWrapperOrder: [...order],
    // A press on a button checks what it needs; a line that comes in between would move the button away.
    onBlur: ({ relatedTarget: next }: FocusEvent) => {
      if (!(next instanceof HTMLButtonElement && next.matches(":active"))) contextOf(props).leave(path);
    },
  };
};

type Input = ReturnType<typeof sharedOf> & {
  readonly value: string;
  readonly onChange: (event: { currentTarget: { value: string } }) => void;
};

const inputTypes: Readonly<Record<string, string>> = { date: "date", email: "email", uri: "url", "date-time": "datetime-local" };

const PlainText = ({ props }: { readonly props: WidgetProps }): ReactElement => {
  const { schema, value, onChange, options } = props;
  const isMoment = schema.format === "date-time";
  const write = (text: string): void => onChange(text === "" ? undefined : isMoment ? localToUTC(text) : text);
  const shown = isMoment ? (utcToLocal(textOf(value)) ?? "") : textOf(value);
  const shared: Input = { ...sharedOf(props), value: shown, onChange: (event) => write(event.currentTarget.value) };
  const path = pathOf(props);
  const { hints, suggest } = contextOf(props);
  const hint = hints.get(path);
  if (isSecret({ name: props.name, schema, path }, hints)) return <PasswordInput {...shared} size="xs" autoComplete="off" />;
  if (hint?.suggest !== undefined && suggest !== undefined) {
    const { min_chars: min, limit } = hint.suggest;
    const { placeholder = "", id, label, description, error, required } = shared;
    return (
      <SuggestInput
        {...{ placeholder, id, label, error, required }}
        description={description ?? ""}
        value={shown}
        settleMs={250}
        suggest={(typed) => (typed.length < min ? undefined : suggest(path, typed, limit))}
        onChange={(text) => {
          write(text);
          // Once it is part of the data.
          setTimeout(() => contextOf(props).leave(path));
        }}
      />
    );
  }
  if (options.widget === "textarea") return <Textarea {...shared} rows={3} autosize={false} />;
  return <TextInput {...shared} type={inputTypes[schema.format ?? ""] ?? "text"} autoComplete="off" />;
};

const INTEGER = /^-?\d+$/;
const NUMBER = /^-?(?:\d+\.?\d*|\.\d+)(?:[eE][+-]?\d+)?$/;

/** What a text says as a number; a whole one beyond 2^53 goes as text, and so does what is none. */
export const numberOf = (text: string): unknown => {
  const trimmed = text.trim();
  if (trimmed === "") return undefined;
  if (INTEGER.test(trimmed)) return Number.isSafeInteger(Number(trimmed)) ? Number(trimmed) : trimmed;
  return NUMBER.test(trimmed) && Number.isFinite(Number(trimmed)) ? Number(trimmed) : text;
};

const NumberText = ({ props }: { readonly props: WidgetProps }): ReactElement => {
  const { schema, value, onChange } = props;
  const [typed, setTyped] = useState(textOf(value));
  // "1." and "1.0" are the number 1: the text stays while it says the same.
  const text = numberOf(typed) === (value ?? undefined) ? typed : textOf(value);
  return (
    <TextInput
      {...sharedOf(props)}
      inputMode={schema.type === "integer" ? "numeric" : "decimal"}
      value={text}
      onChange={(event) => {
        setTyped(event.currentTarget.value);
        onChange(numberOf(event.currentTarget.value));
      }}
    />
  );
};

const isNumeric = (type: unknown): boolean => [type].flat().some((one) => one === "number" || one === "integer");

const TextWidget = (props: WidgetProps): ReactElement =>
  isNumeric(props.schema.type) ? <NumberText props={props} /> : <PlainText props={props} />;

const TextareaWidget = (props: WidgetProps): ReactElement => (
  <PlainText props={{ ...props, options: { ...props.options, widget: "textarea" } }} />
);

const CheckboxWidget = (props: WidgetProps): ReactElement => {
  const { required: _required, placeholder: _placeholder, inputWrapperOrder: _order, ...shared } = sharedOf(props);
  return <Checkbox {...shared} checked={props.value === true} onChange={(event) => props.onChange(event.currentTarget.checked)} />;
};

const choicesOf = ({ options }: WidgetProps) =>
  (options.enumOptions ?? []).map(({ label, value }, at) => ({
    label: visibleText(String(label)),
    value: String(at),
    is: value as unknown,
  }));

const same = (one: unknown, other: unknown): boolean => JSON.stringify(one) === JSON.stringify(other);

/** Several of a list. */
const CheckboxesWidget = (props: WidgetProps): ReactElement => {
  const { inputWrapperOrder: _order, placeholder: _placeholder, id, ...shared } = sharedOf(props);
  const chosen = Array.isArray(props.value) ? props.value : [];
  const choices = choicesOf(props);
  return (
    <Checkbox.Group
      {...shared}
      id={id}
      value={choices.filter(({ is }) => chosen.some((one) => same(one, is))).map(({ value }) => value)}
      onChange={(values) => props.onChange(choices.filter(({ value }) => values.includes(value)).map(({ is }) => is))}
    >
      <div className="sp-actions">
        {choices.map(({ value, label }) => (
          <Checkbox key={value} value={value} label={label} />
        ))}
      </div>
    </Checkbox.Group>
  );
};

const chosenOf = (props: WidgetProps): string => choicesOf(props).find(({ is }) => same(is, props.value))?.value ?? "";

const SelectWidget = (props: WidgetProps): ReactElement => {
  if (props.multiple === true) return <CheckboxesWidget {...props} />;
  const choices = choicesOf(props);
  return (
    <NativeSelect
      {...sharedOf(props)}
      value={chosenOf(props)}
      data={[{ value: "", label: formWords.choose }, ...choices.map(({ value, label }) => ({ value, label }))]}
      onChange={(event) => props.onChange(choices.find(({ value }) => value === event.currentTarget.value)?.is)}
    />
  );
};

const RadioWidget = (props: WidgetProps): ReactElement => {
  const { inputWrapperOrder: _order, placeholder: _placeholder, onBlur: _blur, ...shared } = sharedOf(props);
  const choices = choicesOf(props);
  return (
    <Radio.Group
      {...shared}
      value={chosenOf(props)}
      onChange={(chosen) => props.onChange(choices.find(({ value }) => value === chosen)?.is)}
    >
      <div className="sp-actions">
        {choices.map(({ value, label }) => (
          <Radio key={value} value={value} label={label} />
        ))}
      </div>
    </Radio.Group>
  );
};

/** By the names that a UI schema knows; those of a text with a special form are the text. */
export const widgets: RegistryWidgetsType = {
  ...Object.fromEntries(
    ["Text", "Password", "Email", "URL", "Date", "DateTime", "Time", "UpDown", "Range", "Color", "AltDate", "AltDateTime", "File"].map(
      (name) => [`${name}Widget`, TextWidget],
    ),
  ),
  TextareaWidget,
  CheckboxWidget,
  CheckboxesWidget,
  SelectWidget,
  RadioWidget,
};
