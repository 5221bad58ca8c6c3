import { z } from "zod";
import { MAX_CONFIG_BYTES } from "#contract/configs.ts";
import { isObject } from "#contract/is-object.ts";
import type { Issue } from "#contract/problem.ts";
import { CelIssue } from "#parsing/cel.ts";
import { schemaRefusal } from "#parsing/foreign-schema.ts";
import { shapeIssues } from "#parsing/shape-issues.ts";
import { readYaml, type YamlDocument } from "#parsing/yaml-document.ts";
import { compileWorkflowExpression, expressionIn, variableTypes } from "#crud/workflows/definition/expressions.ts";
import type { FormDocument } from "./form-document.ts";
import { placesOf, type Place } from "./form-fields.ts";
import { formShape, normalizeShape, redactShape, suggestShape, type FormText } from "./form-shape.ts";

export type ReadForm =
  | { readonly value: FormDocument; readonly yaml: YamlDocument }
  | { readonly issues: readonly Issue[]; readonly name?: string };

const { caller, now } = variableTypes;
const filling = { caller, now, data: "map" };
const asking = { ...filling, q: "string", limit: "int" };

const hintShapes: Readonly<Record<string, z.ZodType>> = {
  "x-suggest": suggestShape,
  "x-normalize": normalizeShape,
  "x-default": z.unknown(),
  "x-redact": redactShape,
};

/** Every text of a value that is an expression. */
function* expressionsIn(value: unknown, path: readonly (string | number)[]): Generator<readonly [string, readonly (string | number)[]]> {
  const text = typeof value === "string" ? expressionIn(value) : undefined;
  if (text !== undefined) yield [text, path];
  if (typeof value === "object" && value !== null)
    for (const [name, item] of Object.entries(value)) yield* expressionsIn(item, [...path, name]);
}

const issuesOfPlace = (yaml: YamlDocument, { at, schema }: Place): Issue[] => {
  const path = ["schema", ...at];
  const issues: Issue[] = [];
  for (const [name, given] of Object.entries(schema).filter(([word]) => word.startsWith("x-"))) {
    const shape = hintShapes[name];
    if (shape === undefined) {
      issues.push(
        yaml.issue([...path, name], `is not known here: ${Object.keys(hintShapes).join(", ")}`, { code: "unknown", onKey: true }),
      );
      continue;
    }
    const parsed = shape.safeParse(given);
    if (!parsed.success) issues.push(...shapeIssues(yaml, parsed.error, { under: [...path, name], shape }));
  }
  const compile = (value: unknown, variables: Readonly<Record<string, string>>, ...under: readonly string[]): void => {
    for (const [text, where] of expressionsIn(value, [...path, ...under]))
      try {
        compileWorkflowExpression(text, variables);
      } catch (error) {
        if (!(error instanceof CelIssue)) throw error;
        const hint = error.hint === undefined ? {} : { hint: error.hint };
        issues.push(yaml.issue(where, error.message, { code: error.code, ...hint }));
      }
  };
  compile(schema["x-default"], filling, "x-default");
  const suggest = schema["x-suggest"];
  if (isObject(suggest)) {
    compile(suggest["with"], asking, "x-suggest", "with");
    compile(suggest["items"], { ...asking, result: "dyn" }, "x-suggest", "items");
    for (const name of ["label", "value"]) compile(suggest[name], { item: "dyn" }, "x-suggest", name);
  }
  return issues;
};

/** Marks and references that no property has are read by nobody. */
const strayIssues = (yaml: YamlDocument, schema: unknown): Issue[] => {
  const known = new Set(placesOf(schema).map(({ at }) => at.join("/")));
  const issues: Issue[] = [];
  const look = (part: unknown, at: readonly string[], isNames: boolean): void => {
    if (typeof part !== "object" || part === null) return;
    for (const [name, inner] of Object.entries(part)) {
      if (!isNames && ["$ref", "$defs", "definitions"].includes(name))
        issues.push(yaml.issue(["schema", ...at, name], "a form has no references of its own", { code: "unsupported", onKey: true }));
      if (!isNames && name.startsWith("x-") && name !== "x-redact" && !known.has(at.join("/")))
        issues.push(yaml.issue(["schema", ...at, name], "is of a property alone", { code: "unsupported", onKey: true }));
      if (isNames || !name.startsWith("x-"))
        look(inner, [...at, name], !isNames && (name === "properties" || name === "patternProperties"));
    }
  };
  look(schema, [], false);
  return issues;
};

const documentOf = ({ tool, workflow, ...read }: FormText): FormDocument => ({
  id: read.id,
  title: read.title,
  ...(read.description === undefined ? {} : { description: read.description }),
  tenants: read.tenants ?? null,
  target: tool !== undefined ? { tool } : workflow !== undefined ? { workflow } : undefined,
  schema: read.schema,
  ui: read.ui,
  tests: read.tests,
});

/** Reads the text of a form, YAML or JSON, as far as the text alone shows. Answers the document, or every issue in the order of the file. Pure. */
export const readForm = (text: string, shown: string): ReadForm => {
  const read = readYaml(text, shown, { mebibytes: MAX_CONFIG_BYTES / 1_048_576 });
  const yaml = read.document;
  if (yaml === undefined) return { issues: read.issues };
  const { value } = yaml;
  const parsed = formShape.safeParse(value);
  const given = isObject(value) ? value : {};
  const schema = given["schema"];
  const issues = [...(parsed.success ? [] : shapeIssues(yaml, parsed.error, { shape: formShape }))];
  if (given["tool"] !== undefined && given["workflow"] !== undefined)
    issues.push(yaml.issue(["workflow"], "a form has one target: tool or workflow", { onKey: true }));
  if (isObject(schema)) {
    const refusal = schemaRefusal(schema);
    if (refusal !== undefined) issues.push(yaml.issue(["schema"], refusal));
    if (schema["type"] !== "object") issues.push(yaml.issue(["schema", "type"], "must be object"));
    issues.push(...strayIssues(yaml, schema), ...placesOf(schema).flatMap((place) => issuesOfPlace(yaml, place)));
  }
  if (parsed.success && issues.length === 0) return { value: documentOf(parsed.data), yaml };
  const name = z.object({ id: formShape.shape.id }).safeParse(value).data?.id;
  const inOrder = issues.toSorted((one, other) => (one.line ?? 0) - (other.line ?? 0) || (one.column ?? 0) - (other.column ?? 0));
  return { issues: inOrder, ...(name === undefined ? {} : { name }) };
};
