import { z } from "zod";
import { formName, normalizations } from "#contract/configs.ts";
import { nodeId, plainText, prose } from "#contract/ids.ts";
import { boundedList } from "#parsing/bounded-list.ts";
import { said } from "#parsing/said.ts";

const anyObject = z.record(z.string(), z.unknown());
const expression = z.string().regex(/^\s*\$\{[\s\S]*\}\s*$/, "must be ${ ... }");
const minChars = z.int().min(0).max(20).default(3);
const maxItems = z.int().min(1).max(100).default(20);

/** Lists that need no tool of a system. */
export const suggestQueries = ["identity_nodes", "workflows"] as const;

/** Value of `x-suggest`. */
export const suggestShape = z.union([
  z.strictObject({
    tool: plainText(1, 128),
    with: anyObject.default({}),
    items: expression.optional(),
    label: expression.optional(),
    value: expression.optional(),
    min_chars: minChars,
    limit: maxItems,
  }),
  z.strictObject({ query: z.enum(suggestQueries), min_chars: minChars, limit: maxItems }),
]);
export type Suggest = z.output<typeof suggestShape>;

export const normalizeShape = z.union([z.enum(normalizations), z.array(z.enum(normalizations)).min(1)]);
export const redactShape = z.literal([true, "last4"]);

const hints =
  "Members of a property: `x-suggest` {tool, with, items, label, value, min_chars, limit} or {query: identity_nodes | workflows}, `x-normalize` (nfc, trim, lower, upper), " +
  "`x-default` (a value or `${}` over caller, now, data), `x-redact` (true or last4).";

export const formShape = z.strictObject({
  apiVersion: said(z.literal("forms/v1"), "The version of this format.", "forms/v1"),
  id: said(formName, "Its id, which is the file's name.", "update_salary"),
  title: said(plainText(1, 200), "What people read above it.", "Change a salary"),
  description: said(prose(1, 2000).optional(), "What people read below the title.", "Takes effect at once."),
  tenants: said(boundedList(nodeId, 200).min(1).optional(), "Tenants that it is there for; without it, all.", ["tenant:example"]),
  tool: said(plainText(1, 128).optional(), "The tool whose arguments it fills in.", "crm.main.update_contact"),
  workflow: said(plainText(1, 64).optional(), "The workflow whose input it fills in; one with neither is for tasks.", "grant-access"),
  schema: said(
    anyObject,
    "JSON Schema 2020-12 of the data, root `object`; what it leaves out is as the target's schema has it, and nothing is looser than there. " +
      `No references. ${hints}`,
    { type: "object", properties: { salary: { title: "New salary" } } },
  ),
  ui: said(anyObject.default({}), "UI schema of react-jsonschema-form.", { note: { "ui:widget": "textarea" } }),
  tests: said(
    boundedList(
      z.strictObject({
        data: said(anyObject, "What somebody fills in.", { salary: -1 }),
        valid: said(z.boolean(), "Whether the form takes it.", false),
      }),
      50,
    ).default([]),
    "Data that the form takes or refuses; each publish runs them.",
    [{ data: { salary: -1 }, valid: false }],
  ),
});
export type FormText = z.output<typeof formShape>;
