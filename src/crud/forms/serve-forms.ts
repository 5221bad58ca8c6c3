import { formSchema, formSuggestions, submitForm, validateForm } from "#contract/forms.ts";
import type { ReplyOf } from "#contract/endpoint.ts";
import { Problem, type Issue } from "#contract/problem.ts";
import type { Caller } from "#authn/model/caller.ts";
import type { Answer, Router } from "#http/serve.ts";
import { prepareSchema } from "#parsing/foreign-schema.ts";
import { schemaIssues } from "#parsing/schema-issues.ts";
import { executeCall } from "#crud/mcp/serve-execute.ts";
import { hideRedacted, redactedTexts, replaceRedacted } from "#crud/model/redacted-parts.ts";
import { hideSealed } from "#crud/model/sealed-values.ts";
import { isFor } from "#crud/tools/catalogue.ts";
import { workflowNameOf } from "#crud/forms/definition/check-form.ts";
import { defaultOf, fillForm } from "#crud/forms/definition/fill-form.ts";
import { fieldsOf, withoutHints } from "#crud/forms/definition/form-fields.ts";
import { createFindForm, scopeOf, type FormSources, type FormCaller, type FormSource, type FoundForm } from "./find-form.ts";
import { suggestValues, type SuggestContext } from "./suggest-values.ts";

type Data = Readonly<Record<string, unknown>>;

/** A start of a workflow that a form asks for. */
export interface FormStart {
  readonly name: string;
  readonly data: Data;
  readonly idempotencyKey: string;
  readonly signal: AbortSignal;
  /** Schemas whose `x-redact` counts beside that of the workflow's input. */
  readonly redactBy: readonly unknown[];
}

export interface FormsContext extends FormSources, SuggestContext {
  /** As `POST /workflows/{name}/start`. */
  readonly start: (start: FormStart, by: FormCaller) => Promise<Answer<Extract<ReplyOf<typeof submitForm>, { readonly run_id: string }>>>;
}

/** What a request asks a form for, as a query. */
const queryOf = ({ tool, workflow, task, form }: FormSource): string =>
  new URLSearchParams(
    Object.entries({ tool, workflow, task, form }).filter((pair): pair is [string, string] => pair[1] !== undefined),
  ).toString();

/** What a form is filled in with before, without what is not shown: it would be sent back as `***`. */
const shownData = (schema: unknown, data: Data): Record<string, unknown> =>
  JSON.parse(JSON.stringify(replaceRedacted([schema], data, () => undefined)), (_name, value: unknown) =>
    hideSealed(value) === value ? value : undefined,
  ) as Record<string, unknown>;

const HINTS = { debounce_ms: 250, min_chars: 3, normalize_on: ["blur", "submit"] } satisfies ReplyOf<typeof formSchema>["ui_hints"];

/** Forms over HTTP, besides the objects of configuration: schema, suggestions, checks and submits. */
export const serveForms = (router: Router<Caller>, parts: FormsContext): void => {
  const findForm = createFindForm(parts);
  /** Issues of the form and, as it is called, of its target: the form may be older. */
  const check = async ({ schema, target }: FoundForm, data: Data, { caller }: FormCaller): Promise<readonly Issue[]> => {
    const own = await schemaIssues(prepareSchema(withoutHints(schema)), data, { tenant: caller.tenant });
    if (own.length > 0 || target === undefined || !("tool" in target)) return own;
    const tool = parts.catalogue.snapshot.tools.get(target.tool);
    return tool !== undefined && isFor(tool, caller.tenant) ? tool.checkArguments(data, { tenant: caller.tenant }) : [];
  };
  const filled = async (form: string, data: Data, by: FormCaller) => {
    const found = await findForm({ form }, by);
    const made = fillForm(found.schema, data, scopeOf(by, parts.now()));
    return { found, data: made, errors: await check(found, made, by) };
  };

  router.serve(formSchema, async ({ query, caller, correlationId }) => {
    const by = { caller, correlationId };
    const { form, title, description, schema, data } = await findForm(query, by);
    const scope = { ...scopeOf(by, parts.now()), data: {} };
    const source = queryOf(query);
    return {
      form: form?.id ?? null,
      title,
      ...(description === undefined || description === "" ? {} : { description }),
      schema: { ...(withoutHints(schema) as Data) },
      ui: { ...form?.ui },
      data: shownData(schema, data),
      fields: fieldsOf(schema, {
        suggestUrl: (field) => `/forms/suggest?${source}&field=${encodeURIComponent(field)}`,
        defaultOf: (place) => defaultOf(place, scope) ?? place.schema["default"],
      }),
      ui_hints: HINTS,
    };
  });

  router.serve(formSuggestions, async ({ query, caller, correlationId, request }) => {
    const by = { caller, correlationId };
    const { tool, workflow, task, form, ...asked } = query;
    return suggestValues(
      parts,
      { found: await findForm({ tool, workflow, task, form }, by), asked: { ...asked, signal: request.signal } },
      by,
    );
  });

  router.serve(validateForm, async ({ params, body, caller, correlationId }) => {
    const { found, data, errors } = await filled(params.name, body.data, { caller, correlationId });
    return { valid: errors.length === 0, errors: [...errors], data: { ...(hideRedacted([found.schema], data) as Data) } };
  });

  router.serve(submitForm, async ({ params, body, caller, correlationId, request }) => {
    const by = { caller, correlationId };
    const { found, data, errors } = await filled(params.name, body.data, by);
    const { target, schema } = found;
    if (errors.length > 0)
      throw new Problem("unprocessable", { errors: errors.map((one) => ({ ...one, path: `/data${one.path === "/" ? "" : one.path}` })) });
    if (target === undefined)
      throw new Problem("unprocessable", {
        detail: "The form is of tasks: its data is sent with the decision, POST /tasks/{id}/complete.",
      });
    if ("workflow" in target)
      return parts.start(
        { name: workflowNameOf(target.workflow), data, idempotencyKey: body.idempotency_key, signal: request.signal, redactBy: [schema] },
        by,
      );
    const concealed = redactedTexts(schema, data);
    const call = { name: target.tool, arguments: data, concealed, idempotencyKey: body.idempotency_key, signal: request.signal };
    return executeCall(parts.execute, { ...by, ...call });
  });
};
