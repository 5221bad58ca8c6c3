import { isObject } from "#contract/is-object.ts";
import { MAX_CONFIG_BYTES } from "#contract/configs.ts";
import type { Issue } from "#contract/problem.ts";
import { schemaRefusal } from "#parsing/foreign-schema.ts";
import { readYaml, type YamlDocument } from "#parsing/yaml-document.ts";
import type { WorkflowDocument } from "#crud/workflows/model/workflow-document.ts";
import { createExpressionReader } from "./expression-reader.ts";
import { createIssueReport, type IssueReport, type Path } from "./issue-report.ts";
import { createPolicyReader } from "./policy-reader.ts";
import { createStepReader } from "./step-reader.ts";
import { withoutUndefined } from "./without-undefined.ts";
import { NAME, workflowShape, type WorkflowText } from "./workflow-shape.ts";

/** Names that stand in addresses for something else. */
const reserved = new Set(["start", "status", "resume", "cancel", "simulate", "runs", "events", "validate"]);
const MAX_STEPS_DEPTH = 40;

export type ReadWorkflow =
  | { readonly value: WorkflowDocument; readonly yaml: YamlDocument }
  | { readonly issues: readonly Issue[]; readonly name?: string; readonly owner?: { readonly owner: string; readonly at: Issue } };

/** Members of an input that can have no others. */
const closedMembers = (schema: Readonly<Record<string, unknown>> | undefined): readonly string[] | undefined => {
  const isClosed = schema?.["additionalProperties"] === false && schema["patternProperties"] === undefined;
  return isClosed && isObject(schema["properties"]) ? Object.keys(schema["properties"]) : undefined;
};

const checkName = (report: IssueReport, name: string): void => {
  const path = ["document", "name"];
  if (!NAME.test(name)) report.add("bad_name", path, "must be a-z, 0-9 and -, a letter first, at most 40 characters");
  else if (reserved.has(name)) report.add("bad_name", path, `${name} stands for something else: choose another name`);
};

const checkSchema = (report: IssueReport, schema: unknown, path: Path): void => {
  const refusal = schemaRefusal(schema);
  if (refusal !== undefined) report.add("wrong_type", path, refusal);
};

const documentOf = (
  read: WorkflowText,
  steps: WorkflowDocument["steps"],
  more: Pick<WorkflowDocument, "timeoutMs" | "places">,
): WorkflowDocument => {
  const { name, namespace, version, title = name, summary, tags, metadata } = read.document;
  const { enabled, wait, annotations } = metadata.mcp;
  return {
    name,
    tenant: namespace === "all" ? undefined : `tenant:${namespace}`,
    version,
    title,
    summary,
    tags: Object.entries(tags).map(([tag, value]) => (value === true || value === "" ? tag : `${tag}:${String(value)}`)),
    owner: metadata.owner,
    mcp: { isEnabled: enabled, waitMs: wait, annotations },
    input: read.input.schema?.document ?? { type: "object" },
    output: withoutUndefined({ schema: read.output.schema?.document, as: read.output.as }),
    steps,
    ...more,
  };
};

/**
 * Reads the text of a workflow, YAML or JSON, as far as the text alone shows. Answers the document, or every issue, at most 50, in the order
 * of the file. Pure. Cost: some 100 ms for 500 tasks.
 */
export const readWorkflow = (text: string, shown: string): ReadWorkflow => {
  const read = readYaml(text, shown, { mebibytes: MAX_CONFIG_BYTES / 1_048_576, depth: MAX_STEPS_DEPTH });
  const yaml = read.document;
  if (yaml === undefined)
    return { issues: read.issues.map((issue) => ({ ...issue, code: issue.message.startsWith("is larger") ? "limit" : "syntax" })) };
  const report = createIssueReport(yaml);
  const { value } = yaml;
  const parsed = report.parse(workflowShape, value, []);
  const { document, use, input, output, do: tasks } = isObject(value) ? value : {};
  const header = isObject(document) ? document : {};
  const { name, metadata } = header;
  if (typeof name === "string") checkName(report, name);
  const schema = isObject(input) && isObject(input["schema"]) ? input["schema"]["document"] : undefined;
  if (isObject(schema)) {
    checkSchema(report, schema, ["input", "schema", "document"]);
    if (schema["type"] !== "object") report.add("wrong_type", ["input", "schema", "document", "type"], "must be object");
  }
  const given = isObject(output) ? output : {};
  if (isObject(given["schema"]) && isObject(given["schema"]["document"]))
    checkSchema(report, given["schema"]["document"], ["output", "schema", "document"]);
  const expressions = createExpressionReader({ yaml, report, input: closedMembers(isObject(schema) ? schema : undefined) });
  const policies = createPolicyReader(report, expressions, use);
  const { readList } = createStepReader({ report, expressions, policies });
  const steps = Array.isArray(tasks) ? readList(tasks, { path: ["do"], names: { steps: [], locals: {} }, depth: 1 }) : [];
  const done = steps.map((step) => step.name);
  expressions.readValue(given["as"], ["output", "as"], { steps: done, locals: {} });
  const timeoutMs = parsed === undefined ? 0 : (policies.timeoutOf(parsed.timeout, ["timeout"]) ?? 0);
  const issues = report.sorted();
  if (parsed !== undefined && issues.length === 0)
    return { value: documentOf(parsed, steps, { timeoutMs, places: expressions.places }), yaml };
  const owner = isObject(metadata) ? metadata["owner"] : undefined;
  return {
    issues,
    ...(typeof name === "string" && NAME.test(name) ? { name } : {}),
    ...(typeof owner === "string" ? { owner: { owner, at: yaml.issue(["document", "metadata", "owner"], "") } } : {}),
  };
};
