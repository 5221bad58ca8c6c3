import { z } from "zod";
import { said } from "#parsing/said.ts";
import { dslDuration } from "./durations.ts";
import { declared } from "./task-shapes.ts";

export const NAME = /^[a-z]([a-z0-9-]{0,38}[a-z0-9])?$/;
const semver =
  /^(0|[1-9]\d*)\.(0|[1-9]\d*)\.(0|[1-9]\d*)(?:-((?:0|[1-9]\d*|\d*[a-zA-Z-][0-9a-zA-Z-]*)(?:\.(?:0|[1-9]\d*|\d*[a-zA-Z-][0-9a-zA-Z-]*))*))?(?:\+[0-9a-zA-Z-]+(?:\.[0-9a-zA-Z-]+)*)?$/;
const anyObject = z.record(z.string(), z.unknown());
const asValue = z.union([z.string(), anyObject]);

const schemaOf = (what: string) =>
  said(
    z.strictObject({
      format: said(z.literal("json").default("json"), "The format of the schema.", "json"),
      document: said(anyObject, `JSON Schema 2020-12 of ${what}.`, { type: "object", properties: { id: { type: "string" } } }),
    }),
    `The schema of ${what}.`,
    { document: { type: "object" } },
  );

const metadata = z.strictObject({
  owner: said(z.string().min(1).max(200), "The person or group that answers for it.", "group:hr"),
  mcp: said(
    z
      .strictObject({
        enabled: said(z.boolean().default(false), "Agents may start it, by the tool `workflow.<name>`.", true),
        wait: said(dslDuration("PT0S", "PT20S").prefault("PT0S"), "How long a start waits for the end of the run.", "PT5S"),
        annotations: said(anyObject.default({}), "Annotations of the tool.", { destructiveHint: true }),
      })
      .prefault({}),
    "How agents start it.",
    { enabled: true },
  ),
});

const header = z.strictObject({
  dsl: said(z.string().regex(/^1\.0\.[0-3]$/, "must be 1.0.0 to 1.0.3"), "The version of the Open Workflow DSL.", "1.0.0"),
  namespace: said(z.string().min(1).max(64), "The tenant's id without `tenant:`, or `all`.", "acme"),
  name: said(z.string(), "The workflow's name.", "offboard"),
  version: said(
    z.string().regex(semver, "must be a semantic version, such as 1.0.0"),
    "The version; each change has a higher one.",
    "1.0.0",
  ),
  title: said(z.string().min(1).max(200).optional(), "The title in lists.", "Offboard a person"),
  summary: said(z.string().max(2000).default(""), "What it does.", "Ends all access of a person."),
  tags: said(z.record(z.string().max(60), z.union([z.string(), z.boolean()])).default({}), "Tags, by name.", { area: "hr" }),
  metadata: said(metadata, "Whose it is, and how agents start it.", { owner: "group:hr" }),
});

/** A workflow document but for its tasks, each of which is read on its own. */
export const workflowShape = z.strictObject({
  document: said(header, "What the workflow is.", {
    dsl: "1.0.0",
    namespace: "acme",
    name: "offboard",
    version: "1.0.0",
    metadata: { owner: "group:hr" },
  }),
  evaluate: said(
    z.strictObject({
      language: said(z.literal("cel"), "The language of expressions.", "cel"),
      mode: said(z.literal("strict").default("strict"), "Expressions stand in `${ }`.", "strict"),
    }),
    "How expressions are read.",
    { language: "cel" },
  ),
  input: said(z.strictObject({ schema: schemaOf("what a start sends").optional() }).prefault({}), "What a start sends.", {
    schema: { document: { type: "object" } },
  }),
  output: said(
    z
      .strictObject({
        schema: schemaOf("what it gives").optional(),
        as: said(asValue.optional(), "What it gives: an expression, or an object with expressions.", "${ steps.record }"),
      })
      .prefault({}),
    "What a run gives.",
    { as: "${ steps.record }" },
  ),
  timeout: said(
    z.union([declared.timeouts, z.string().min(1)]).prefault({ after: "P30D" }),
    "When a run ends at the latest, or a name of `use.timeouts`.",
    { after: "P7D" },
  ),
  use: said(
    z
      .strictObject({
        retries: said(anyObject.default({}), "Retries by name.", { often: { delay: "PT5S" } }),
        errors: said(anyObject.default({}), "Errors by name.", { gone: { type: "urn:acme:gone", status: 404 } }),
        timeouts: said(anyObject.default({}), "Timeouts by name.", { short: { after: "PT1M" } }),
      })
      .prefault({}),
    "What tasks refer to by name.",
    { timeouts: { short: { after: "PT1M" } } },
  ),
  do: said(z.array(z.unknown()).min(1), "The tasks, in their order: each a map of one name to a task.", [{ cool_off: { wait: "PT10S" } }]),
});
export type WorkflowText = z.output<typeof workflowShape>;
