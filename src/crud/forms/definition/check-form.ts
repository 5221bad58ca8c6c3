import type { Issue } from "#contract/problem.ts";
import { nearestWord } from "#parsing/nearest-word.ts";
import { prepareSchema } from "#parsing/foreign-schema.ts";
import type { YamlDocument } from "#parsing/yaml-document.ts";
import { isFor, type Snapshot } from "#crud/tools/catalogue.ts";
import type { PlacedWorkflows } from "#crud/workflows/definition/placed-workflows.ts";
import { fillForm } from "./fill-form.ts";
import type { FormDocument } from "./form-document.ts";
import { placesOf, suggestOf, withoutHints } from "./form-fields.ts";
import { narrowSchema } from "./narrow-schema.ts";

/** What a form is published beside. */
export interface FormWorld {
  readonly snapshot: Pick<Snapshot, "tools">;
  readonly workflows: Pick<PlacedWorkflows, "find">;
  readonly tenant: string;
  /** Whether an object that the same act publishes, or a system whose tools are not known yet, may bring it. */
  readonly mayCome: (kind: "tool" | "workflow", name: string) => boolean;
}

/** The document name of a workflow, however it is named. */
export const workflowNameOf = (name: string): string => name.replace(/^workflow\./, "").replaceAll("_", "-");

/** JSON Schema of what a target takes; undefined: the tenant sees no such target. */
export const targetSchema = (
  target: NonNullable<FormDocument["target"]>,
  { snapshot, workflows, tenant }: Pick<FormWorld, "snapshot" | "workflows" | "tenant">,
): Readonly<Record<string, unknown>> | undefined => {
  if ("tool" in target) {
    const tool = snapshot.tools.get(target.tool);
    return tool !== undefined && isFor(tool, tenant) ? tool.definition.inputSchema : undefined;
  }
  const document = workflows.find(workflowNameOf(target.workflow))?.document;
  return document !== undefined && (document.tenant === undefined || document.tenant === tenant) ? document.input : undefined;
};

/** A caller of whom nothing is known, for the tests of a document. */
const nobody = { caller: { sub: "", tenant: "" }, now: new Date(0) };

/** What of a form does not fit the tools and workflows that there are for its tenant, and which of its tests fail. */
export const checkForm = (form: FormDocument, yaml: YamlDocument, world: FormWorld): readonly Issue[] => {
  const issues: Issue[] = [];
  const { target } = form;
  const wide = target === undefined ? {} : targetSchema(target, world);
  const names = [...world.snapshot.tools.values()].flatMap((tool) => (isFor(tool, world.tenant) ? [tool.name] : []));
  const addUnknownTool = (path: readonly string[], name: string): void => {
    if (world.mayCome("tool", name)) return;
    const near = nearestWord(name, names);
    const hint = near === undefined ? {} : { hint: `did you mean ${near}?` };
    issues.push(yaml.issue(path, `${name} is no tool that you see`, { code: "unknown_tool", ...hint }));
  };
  if (wide === undefined && target !== undefined) {
    if ("tool" in target) addUnknownTool(["tool"], target.tool);
    else if (!world.mayCome("workflow", workflowNameOf(target.workflow)))
      issues.push(yaml.issue(["workflow"], `${target.workflow} is no workflow that you see`, { code: "unknown_workflow" }));
  }
  const schema = narrowSchema(wide ?? {}, form.schema, (at, message) =>
    issues.push(yaml.issue(["schema", ...at], message, { code: "looser" })),
  );
  for (const { at, schema: part } of placesOf(form.schema)) {
    const suggest = suggestOf(part);
    if (suggest === undefined || "query" in suggest) continue;
    const path = ["schema", ...at, "x-suggest", "tool"];
    const tool = world.snapshot.tools.get(suggest.tool);
    if (tool === undefined || !isFor(tool, world.tenant)) addUnknownTool(path, suggest.tool);
    else if (!tool.rules.isReadOnly) issues.push(yaml.issue(path, `${suggest.tool} changes something: suggestions only read`));
  }
  // What the target is like is not known before it is there: then its schema is checked by whom it comes with.
  if (issues.length > 0 || (target !== undefined && wide === undefined)) return issues;
  try {
    const check = prepareSchema(withoutHints(schema));
    for (const [at, { data, valid }] of form.tests.entries()) {
      const [found] = check(fillForm(schema, data, nobody));
      if ((found === undefined) === valid) continue;
      const message = found === undefined ? "is taken, and should not be" : `is refused: ${found.path || "/"} ${found.message}`;
      issues.push(yaml.issue(["tests", at, "data"], message, { code: "test_failed" }));
    }
  } catch (error) {
    issues.push(yaml.issue(["schema"], error instanceof Error ? error.message : "is no schema"));
  }
  return issues;
};
