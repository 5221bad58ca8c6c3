import { SegmentedControl, Textarea } from "@mantine/core";
import Form, { getDefaultRegistry, type IChangeEvent } from "@rjsf/core";
import { ErrorSchemaBuilder, type FieldProps, type RJSFSchema, type UiSchema } from "@rjsf/utils";
import { Fragment, useEffect, useId, useMemo, useRef, useState, type FormEvent, type ReactElement, type ReactNode } from "react";
import { parsePointer, pointerText } from "#contract/json-pointer.ts";
import { visibleText } from "../strings/format.ts";
import { formWords } from "../strings/forms.ts";
import { IssueSummary } from "../ui/issue-summary.tsx";
import { Boundary } from "../ui/panel.tsx";
import { elementId, type FormContext, type SuggestFor } from "./form-context.ts";
import { normalized, readForm, switchMode, type FormValue } from "./form-data.ts";
import { issuesOf, type FormIssue } from "./form-issues.ts";
import validator from "./rjsf-validator.ts";
import { titleAt, type Data } from "./schema-places.ts";
import { templates } from "./templates.tsx";
import { areLines, JsonField, LinesField } from "./text-fields.tsx";
import type { FormState } from "./use-form.ts";
import { widgets } from "./widgets.tsx";

const own = getDefaultRegistry().fields;
const ListOfAnything = own["ArrayField"] ?? JsonField;
const ArrayField = (props: FieldProps): ReactElement =>
  areLines(props.schema.items) && props.uiSchema?.["ui:widget"] === undefined ? <LinesField {...props} /> : <ListOfAnything {...props} />;
// A number is a text until it is one.
const fields = { ArrayField, FallbackField: JsonField, ...(own["StringField"] && { NumberField: own["StringField"] }) };

/** Defaults are filled in before; what is cleared stays so. */
const defaults = { emptyObjectFields: "skipDefaults", constAsDefaults: "never", arrayMinItems: { populate: "never" } } as const;

const same = (one: FormIssue, other: FormIssue): boolean => one.path === other.path && one.keyword === other.keyword;
const isWithin = (path: string, outer: string): boolean => path === outer || path.startsWith(`${outer}/`);

interface SchemaFormProps {
  readonly form: FormState;
  /** UI schema of rjsf. */
  readonly ui?: UiSchema | undefined;
  /** Values to choose, where the hint of a field says that there are some. */
  readonly suggest?: SuggestFor | undefined;
  /** What the server said of data that was sent, and of which. It goes once other data is filled in. */
  readonly reported?: { readonly of: unknown; readonly issues: readonly { readonly path: string; readonly message: string }[] } | undefined;
  /** All that is filled in fits the schema. `via` is the value of the button that was pressed. */
  readonly onSubmit: (data: Data, via: string | undefined) => void;
  /** The buttons, one of them of type `submit`. */
  readonly children: ReactNode;
}

/** A form made of any JSON Schema: its fields, or JSON by choice and where no fields can be made. Issues stand on their fields and in a list. */
export const SchemaForm = ({ form, ui, suggest, reported, onSubmit, children }: SchemaFormProps): ReactElement => {
  const { model, hints, value } = form;
  const prefix = useId();
  const broken = useRef(new Set<string>());
  const [found, setFound] = useState<readonly FormIssue[]>([]);
  const [attempt, setAttempt] = useState(0);
  const isDrawn = useRef(false);
  useEffect(() => {
    isDrawn.current = true;
  }, []);

  const check = (of: FormValue): { readonly data: Data; readonly issues: readonly FormIssue[] } => {
    const read = readForm(model, of, hints);
    if ("issue" in read) return { data: {}, issues: [{ path: "", keyword: read.issue, message: formWords.issues[read.issue] }] };
    const unread = of.mode === "json" ? [] : [...broken.current].map((path) => ({ path, keyword: "json", message: formWords.issues.json }));
    return { data: read.data, issues: [...unread, ...issuesOf(model.schema, read.data)] };
  };
  /** What was shown goes as soon as it is mended; what is new waits until its field is left, or all is sent. */
  const change = (next: FormValue): void => {
    form.change(next);
    if (found.length === 0) return;
    const left = check(next).issues;
    setFound(found.filter((issue) => left.some((other) => same(issue, other))));
  };
  const leave = (path: string): void => {
    const data = normalized(value.data, model.schema, hints);
    const next = { ...value, data };
    if (JSON.stringify(data) !== JSON.stringify(value.data)) form.change(next);
    // What is still to be filled in is missed when it is sent.
    const here = check(next).issues.filter((issue) => isWithin(issue.path, path) && issue.keyword !== "required");
    setFound([...found.filter((issue) => !isWithin(issue.path, path) || issue.keyword === "required"), ...here]);
  };
  const submit = (event: FormEvent<HTMLFormElement>): void => {
    event.preventDefault();
    const { submitter } = event.nativeEvent as SubmitEvent;
    const { data, issues } = check(value);
    setFound(issues);
    if (issues.length > 0) setAttempt(attempt + 1);
    else onSubmit(data, submitter?.getAttribute("value") ?? undefined);
  };

  // rjsf takes functions for equal: what it is given is always the same, and calls what is so now.
  const latest = useRef({ change, leave, value });
  latest.current = { change, leave, value };
  const context = useMemo<FormContext>(
    () => ({
      hints,
      suggest,
      leave: (path) => latest.current.leave(path),
      setBroken: (path, isBroken) => void (isBroken ? broken.current.add(path) : broken.current.delete(path)),
    }),
    [hints, suggest],
  );
  const now = form.read();
  const isOfThis = reported !== undefined && "data" in now && JSON.stringify(reported.of) === JSON.stringify(now.data);
  const issues: readonly FormIssue[] = found.length === 0 && isOfThis ? reported.issues : found;
  const errors = useMemo(() => {
    const builder = new ErrorSchemaBuilder();
    for (const { path, message } of issues) builder.addErrors(message, [...parsePointer(path)]);
    return builder.ErrorSchema;
  }, [issues]);
  const hasFields = model.kind === "fields";
  const asJson = !hasFields || value.mode === "json";
  /** The nearest element of a place. */
  const fieldOf = (path: string): string | undefined => {
    if (asJson) return `${prefix}json`;
    const parts = parsePointer(path);
    const ids = parts.map((_part, at) => elementId(prefix, pointerText(parts.slice(0, parts.length - at))));
    return ids.find((id) => document.getElementById(id) !== null);
  };
  const rows = issues.map(({ path, message }) => ({
    field: fieldOf(path),
    text: visibleText([path === "" ? "" : titleAt(model.schema, path), message].filter((text) => text !== "").join(": ")),
  }));
  const isEmpty = hasFields && Object.keys(model.drawn["properties"] ?? {}).length === 0 && Object.keys(model.drawn).length <= 2;

  return (
    <form className="sp-stack" noValidate onSubmit={submit}>
      {hasFields && !isEmpty ? (
        <div>
          <SegmentedControl
            aria-label={formWords.mode}
            value={value.mode}
            data={[
              { value: "fields", label: formWords.asFields },
              { value: "json", label: formWords.asJson },
            ]}
            onChange={(mode) => {
              setFound([]);
              form.change(switchMode(model, value, mode === "json" ? "json" : "fields"));
            }}
          />
        </div>
      ) : null}
      {hasFields ? null : <p className="sp-dim sp-small">{formWords.rawReason[model.reason]}</p>}
      <IssueSummary issues={rows} attempt={attempt} />
      {asJson ? (
        <Textarea
          id={`${prefix}json`}
          label={formWords.json}
          className="sp-json"
          value={value.json}
          rows={8}
          spellCheck={false}
          aria-invalid={rows.length > 0}
          onChange={(event) => change({ ...value, json: event.currentTarget.value })}
        />
      ) : isEmpty ? (
        <p className="sp-dim">{formWords.noFields}</p>
      ) : (
        <Boundary>
          <Form
            tagName="div"
            className="sp-form"
            idPrefix={prefix}
            nameGenerator={(path) => pointerText(path)}
            schema={model.drawn as RJSFSchema}
            uiSchema={ui ?? {}}
            formData={value.data}
            formContext={context}
            validator={validator}
            fields={fields}
            widgets={widgets}
            templates={templates}
            extraErrors={errors}
            experimental_defaultFormStateBehavior={defaults}
            noValidate
            showErrorList={false}
            onChange={({ formData }: IChangeEvent) => {
              if (isDrawn.current) latest.current.change({ ...latest.current.value, data: (formData ?? {}) as Data });
            }}
          >
            <Fragment />
          </Form>
        </Boundary>
      )}
      {children}
    </form>
  );
};
