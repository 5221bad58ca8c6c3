import { isObject } from "#contract/is-object.ts";
import { parsePointer } from "#contract/json-pointer.ts";
import type { Issue } from "#contract/problem.ts";
import { nearestWord } from "#parsing/nearest-word.ts";
import type { YamlDocument } from "#parsing/yaml-document.ts";
import { isFor, type Snapshot } from "#crud/tools/catalogue.ts";
import type { Tool } from "#crud/tools/tool.ts";
import type { WorkflowDocument } from "#crud/workflows/model/workflow-document.ts";
import { eachStep } from "./each-step.ts";
import { hasExpression } from "./expressions.ts";
import { createIssueReport, hintOf, type Path } from "./issue-report.ts";

/** What a workflow is published beside. */
export interface WorkflowWorld {
  readonly snapshot: Pick<Snapshot, "tools">;
  readonly tenant: string;
  /** Whom a system serves, by its name: null is everybody, undefined a system that is not known. */
  readonly tenantsOfSystem?: ((system: string) => readonly string[] | null | undefined) | undefined;
  /** Whether the tenant has such a form; absent: forms are not looked for. */
  readonly hasForm?: ((id: string, tenant: string) => boolean) | undefined;
}
interface Call {
  readonly tool: string;
  readonly with: unknown;
  /** Where `call` and `with` stand. */
  readonly path: Path;
}

/** Of a member that the schema does not let be. */
const SURPLUS = "is not known here";

const toolsOf = ({ snapshot, tenant }: WorkflowWorld): ReadonlyMap<string, Tool> =>
  new Map([...snapshot.tools].filter(([, tool]) => isFor(tool, tenant)));

function* callsOf({ steps }: WorkflowDocument): Generator<Call> {
  for (const { step, path } of eachStep(steps)) {
    if (step.kind !== "call") continue;
    yield { tool: step.tool, with: step.with, path };
    const undo = step.compensate;
    if (undo !== undefined) yield { ...undo, path: [...path, "metadata", "compensate"] };
  }
}

/** Whether a tool may come yet: of a system of the tenant none is known, for its server has not answered, or it is published in the same act. */
const mayCome = (name: string, tools: ReadonlyMap<string, Tool>, { tenant, tenantsOfSystem }: WorkflowWorld): boolean => {
  const system = `${name.split(".", 2).join(".")}.`;
  const tenants = tenantsOfSystem?.(system.slice(0, -1));
  return tenants !== undefined && tenants?.includes(tenant) !== false && !tools.keys().some((one) => one.startsWith(system));
};

/** Whether an issue of arguments shows already: it is not of what an expression gives, nor of anything that has one in it. */
const isPlain = (given: unknown, { path, message }: Issue): boolean => {
  let at: unknown = given;
  for (const name of parsePointer(path === "/" ? "" : path)) {
    if (hasExpression(at) && !isObject(at) && !Array.isArray(at)) return false;
    at = isObject(at) && Object.hasOwn(at, name) ? at[name] : Array.isArray(at) ? (at[Number(name)] as unknown) : undefined;
  }
  return message === SURPLUS || !hasExpression(at);
};

/** What of a workflow does not fit the tools and forms that there are for its tenant. Throws `overloaded`. */
export const checkWorkflow = async (document: WorkflowDocument, yaml: YamlDocument, world: WorkflowWorld): Promise<readonly Issue[]> => {
  const report = createIssueReport(yaml);
  const tools = toolsOf(world);
  for (const { tool: name, with: given, path } of callsOf(document)) {
    const tool = tools.get(name);
    if (tool === undefined) {
      if (mayCome(name, tools, world)) continue;
      const hint = hintOf(nearestWord(name, [...tools.keys()]));
      report.addWith("unknown_tool", [...path, "call"], { message: `${name} is no tool that you see`, ...hint });
      continue;
    }
    for (const issue of await tool.checkArguments(given, { tenant: world.tenant }))
      if (isPlain(given, issue))
        report.add("bad_argument", [...path, "with", ...parsePointer(issue.path === "/" ? "" : issue.path)], issue.message);
  }
  for (const { step, path } of eachStep(document.steps))
    if (step.kind === "human" && step.form !== undefined && world.hasForm?.(step.form, world.tenant) === false)
      report.add("unknown_form", [...path, "with", "form"], `${step.form} is no form that you see`);
  return report.sorted();
};

/** What the publisher of a workflow is to know: what cannot be undone, and what cannot be repeated after a crash. */
export const workflowWarnings = (document: WorkflowDocument, yaml: YamlDocument, world: WorkflowWorld): readonly string[] => {
  const tools = toolsOf(world);
  const placeOf = (path: Path): string => {
    const { line, column } = yaml.placeOf([...path, "call"]);
    return `${yaml.file}:${line}:${column}`;
  };
  const unknown = [...callsOf(document)].filter(({ tool }) => !tools.has(tool));
  return [
    ...unknown.map(({ tool, path }) => `${placeOf(path)}: unknown_tool: ${tool} is not known yet, and its arguments were not checked.`),
    ...[...eachStep(document.steps)].flatMap(({ step, path }) => {
      const tool = step.kind === "call" ? tools.get(step.tool) : undefined;
      if (step.kind !== "call" || tool === undefined || tool.rules.isReadOnly) return [];
      const at = placeOf(path);
      const isRepeatable = tool.definition.annotations?.["idempotentHint"] === true;
      return [
        ...(step.compensate === undefined ? [`${at}: compensate_missing: ${step.name} changes something, and nothing undoes it.`] : []),
        ...(isRepeatable
          ? []
          : [`${at}: not_idempotent: ${step.name} is not repeated by itself where its outcome is unknown (metadata.onUnknown).`]),
      ];
    }),
  ];
};
