import { z } from "zod";
import { configIssue, configKinds, formName, normalizations } from "./configs.ts";
import { endpoint, withoutAgents } from "./endpoint.ts";
import { pageCursor, plainText, queryIntegerOr } from "./ids.ts";
import { jsonMembers } from "./json-members.ts";
import { callKey, execute } from "./tools.ts";
import { startWorkflow } from "./workflows.ts";

/**
 * Forms: how people fill in the arguments of a tool, the input of a workflow or the data of a task. `/forms` and `/config/forms` have the same
 * objects: here who fills forms in reads them, there who looks after configuration.
 */

const reading = { scope: ["forms.read"], decision: "forms/view" } as const;
const named = z.object({ name: formName });

const { query, reply, summary } = configKinds.form.endpoints.list;
export const listForms = endpoint("crud", "GET", "/forms", {
  query,
  reply,
  summary,
  ...withoutAgents(reading),
  problems: ["invalid_cursor"],
});

/** One of them: what is filled in. */
const target = {
  /** Name of a tool that the caller sees. */
  tool: plainText(1, 128).optional(),
  /** `document.name`, or the name of its tool behind `workflow.`. */
  workflow: plainText(1, 64).optional(),
  /** Id of a task that the caller sees. */
  task: plainText(1, 64).optional(),
  /** Id of a form, to look at it. */
  form: formName.optional(),
};
const oneTarget = (query: Readonly<Partial<Record<keyof typeof target, string | undefined>>>): boolean =>
  [query.tool, query.workflow, query.task, query.form].filter((one) => one !== undefined).length === 1;
const ONE = "must be exactly one of tool, workflow, task, form";

const formField = z.object({
  /** The last part of `path`. */
  name: z.string(),
  /** JSON Pointer into the data. Items of lists have no fields of their own. */
  path: z.string(),
  type: z.enum(["string", "number", "integer", "boolean", "array", "object", "any"]),
  required: z.boolean(),
  label: z.string(),
  description: z.string().optional(),
  placeholder: z.string().optional(),
  pattern: z.string().optional(),
  /** `kind`: the keyword of JSON Schema. */
  validation: z.array(z.object({ kind: z.string(), value: z.unknown(), message: z.string() })),
  enum: z.array(z.unknown()).optional(),
  /** A literal, or what `x-default` gives this caller now, where it reads no other field. */
  default: z.unknown().optional(),
  /** A password field. */
  redact: z.literal([true, "last4"]).optional(),
  /** `url`: path and query below the service, e.g. `/forms/suggest?tool=..&field=..`; add `q`, `with`, `limit`, `cursor`. */
  suggest: z.object({ url: z.string(), min_chars: z.int(), limit: z.int() }).optional(),
  normalize: z.array(z.enum(normalizations)).optional(),
});
export type FormField = z.infer<typeof formField>;

export const formSchema = endpoint("crud", "GET", "/forms/schema", {
  query: z.strictObject(target).refine(oneTarget, ONE),
  reply: z.object({
    /** The stored form that it is of; null: it is made of the target's schema alone. */
    form: z.string().nullable(),
    title: z.string(),
    description: z.string().optional(),
    /** JSON Schema 2020-12 of the data. Of `x-` members it has none: `fields` says what they say. */
    schema: z.record(z.string(), z.unknown()),
    /** UI schema of rjsf. */
    ui: z.record(z.string(), z.unknown()),
    /** What is filled in before: of a task its data, without what is not shown. */
    data: z.record(z.string(), z.unknown()),
    fields: z.array(formField),
    ui_hints: z.object({
      debounce_ms: z.int(),
      min_chars: z.int(),
      normalize_on: z.array(z.enum(["blur", "submit"])),
    }),
  }),
  ...withoutAgents(reading),
  problems: ["not_found", "unprocessable", "membership_unavailable"],
  summary: "The form of a tool, a workflow, a task, or a stored one: its schema, its layout and its fields.",
});

export const formSuggestions = endpoint("crud", "GET", "/forms/suggest", {
  query: z
    .strictObject({
      ...target,
      /** JSON Pointer of the field, as `fields` has it. */
      field: plainText(1, 512),
      /** What is typed so far. */
      q: plainText(0, 200).default(""),
      /** JSON of the data so far. */
      with: z.string().max(4_096).optional(),
      limit: queryIntegerOr(20, 1, 100),
      cursor: pageCursor.optional(),
    })
    .refine(oneTarget, ONE),
  reply: z.object({
    items: z.array(z.object({ label: z.string(), value: z.unknown() })),
    nextCursor: z.string().optional(),
    /** There are more than the tool gave, or more than fit. */
    truncated: z.boolean(),
  }),
  ...withoutAgents(reading),
  problems: [...(execute.problems ?? []), "not_found", "invalid_cursor", "upstream_timeout"],
  limits: ["overloaded"],
  summary: "Values for a field, from a tool that is called as the caller with its filters and masks, within 2 s.",
});

export const validateForm = endpoint("crud", "POST", "/forms/{name}/validate", {
  params: named,
  body: z.strictObject({ data: jsonMembers }),
  reply: z.object({
    valid: z.boolean(),
    /** `path`: JSON Pointer into `data`. */
    errors: z.array(configIssue),
    /** Normalized and with defaults; values of fields with `x-redact` are `***`. */
    data: z.record(z.string(), z.unknown()),
  }),
  ...withoutAgents(reading),
  problems: ["not_found"],
  summary: "Check data as a submit would; nothing is called.",
});

export const submitForm = endpoint("crud", "POST", "/forms/{name}/submit", {
  params: named,
  body: z.strictObject({ data: jsonMembers, idempotency_key: callKey }),
  /** Of a form with `tool` as `POST /execute`, of one with `workflow` as `POST /workflows/{name}/start`. */
  reply: z.union([execute.reply, startWorkflow.reply]),
  moreStatuses: [202],
  ...withoutAgents(reading),
  problems: [...new Set([...(execute.problems ?? []), ...(startWorkflow.problems ?? []), "not_found", "unprocessable"] as const)],
  limits: ["overloaded"],
  summary: "Normalize, fill in defaults, check, and call the form's tool or start its workflow with it.",
});
