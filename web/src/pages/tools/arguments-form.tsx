import { Checkbox, NativeSelect, PasswordInput, Textarea, TextInput } from "@mantine/core";
import type { ReactElement } from "react";
import { grantWords } from "../../strings/grant.ts";
import { toolWords } from "../../strings/tools.ts";
import { visibleText } from "../../strings/format.ts";
import { Foreign } from "../../ui/foreign.tsx";
import { fieldOfIssue, type Field, type FieldIssue, type FormModel } from "./schema-form.ts";
import type { TryValue } from "./try-draft.ts";

/** An issue to be shown: of our own reading, or told by the server. */
interface Shown {
  readonly path: string;
  readonly text: string;
}

const inputType = (format: string | undefined): string => {
  if (format === "date") return "date";
  if (format === "email") return "email";
  if (format === "uri") return "url";
  return "text";
};

const FieldInput = ({
  field,
  text,
  issue,
  onChange,
}: {
  readonly field: Field;
  readonly text: string;
  readonly issue: string | undefined;
  readonly onChange: (text: string) => void;
}): ReactElement => {
  const shared = {
    id: `argument-${field.name}`,
    label: visibleText(field.title),
    description: field.description && visibleText(field.description),
    error: issue && visibleText(issue),
    required: field.isRequired,
    value: text,
    onChange: (event: { readonly currentTarget: { readonly value: string } }) => onChange(event.currentTarget.value),
  };
  switch (field.kind) {
    case "boolean": {
      const { value: _value, onChange: _change, required: _required, ...rest } = shared;
      return (
        <Checkbox {...rest} checked={text === "true"} onChange={(event) => onChange(event.currentTarget.checked ? "true" : "false")} />
      );
    }
    case "choice":
      return (
        <NativeSelect
          {...shared}
          data={[
            { value: "", label: toolWords.choose },
            ...field.choices.map((choice) => ({ value: JSON.stringify(choice), label: visibleText(String(choice)) })),
          ]}
        />
      );
    case "list":
      return <Textarea {...shared} description={shared.description ?? toolWords.listHint} rows={3} />;
    case "integer":
      return <TextInput {...shared} inputMode="numeric" />;
    case "number":
      return <TextInput {...shared} inputMode="decimal" />;
    case "text":
      if (field.isSecret) return <PasswordInput {...shared} size="xs" autoComplete="off" />;
      return <TextInput {...shared} type={inputType(field.format)} autoComplete="off" />;
  }
};

/** The arguments, as fields or as JSON, with all issues beside what they belong to. */
export const ArgumentsForm = ({
  model,
  value,
  onChange,
  own,
  reported,
}: {
  readonly model: FormModel;
  readonly value: TryValue;
  readonly onChange: (value: TryValue) => void;
  readonly own: readonly FieldIssue[];
  readonly reported: readonly { readonly path: string; readonly message: string }[];
}): ReactElement => {
  const shown: readonly Shown[] = [
    ...own.map((issue) => ({ path: issue.path, text: toolWords.issues[issue.code] })),
    ...(own.length > 0 ? [] : reported.map((issue) => ({ path: issue.path, text: issue.message }))),
  ];
  const asJson = model.kind === "raw" || value.mode === "json";
  const fields = model.kind === "fields" ? model.fields : [];
  const rest = asJson ? shown : shown.filter((issue) => fieldOfIssue(fields, issue.path) === undefined);
  const issueOf = (field: Field): string | undefined => shown.find((issue) => fieldOfIssue([field], issue.path) !== undefined)?.text;
  return (
    <>
      {rest.length === 0 ? null : (
        <div className="sp-state sp-failure" role="alert">
          <strong>{grantWords.issuesTitle}</strong>
          <ul className="sp-issue-list">
            {rest.map((issue) => (
              <li key={`${issue.path} ${issue.text}`}>
                {issue.path === "" ? null : <Foreign text={`${issue.path} `} isCode />}
                <Foreign text={issue.text} />
              </li>
            ))}
          </ul>
        </div>
      )}
      {asJson ? (
        <Textarea
          label={toolWords.json}
          className="sp-json"
          value={value.json}
          rows={8}
          spellCheck={false}
          aria-invalid={rest.length > 0}
          onChange={(event) => onChange({ ...value, json: event.currentTarget.value })}
        />
      ) : fields.length === 0 ? (
        <p className="sp-dim">{toolWords.schemaNone}</p>
      ) : (
        <div className="sp-form">
          {fields.map((field) => (
            <FieldInput
              key={field.name}
              field={field}
              text={value.values[field.name] ?? field.initial}
              issue={issueOf(field)}
              onChange={(text) => onChange({ ...value, values: { ...value.values, [field.name]: text } })}
            />
          ))}
        </div>
      )}
    </>
  );
};
