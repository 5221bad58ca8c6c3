import type { HumanStep } from "#crud/workflows/model/workflow-document.ts";
import { withoutUndefined } from "./without-undefined.ts";
import { hasExpression } from "./expressions.ts";
import type { ExpressionReader, Names } from "./expression-reader.ts";
import type { IssueReport, Path } from "./issue-report.ts";
import { humanShape } from "./task-shapes.ts";

const NODE = /^(person|group|role):\S{1,190}$/;
const decisionsOf = { approval: ["approve", "reject"], form: ["submit"], choice: [] } as const;

export type HumanFields = Omit<HumanStep, "name" | "if" | "outputAs" | "exportAs" | "timeoutMs" | "then" | "metadata">;

/** Reads the `with` of `call: human.task`. */
export const readHuman = (
  { report, expressions }: { readonly report: IssueReport; readonly expressions: ExpressionReader },
  given: unknown,
  { path, names }: { readonly path: Path; readonly names: Names },
): HumanFields | undefined => {
  const task = report.parse(humanShape, given, path);
  if (task === undefined) return undefined;
  const { kind, decisions, separationOfDuties = kind === "approval", due, expires, ...fields } = task;
  for (const member of ["title", "description", "assign", "data", "evidence"] as const)
    expressions.readValue(fields[member], [...path, member], names);
  const assigned = Array.isArray(task.assign) ? task.assign : [task.assign];
  for (const [at, one] of assigned.entries()) {
    const place = Array.isArray(task.assign) ? [...path, "assign", at] : [...path, "assign"];
    if (!hasExpression(one) && !NODE.test(one))
      report.add("wrong_type", place, "must be the id of a person, a group or a role, or an expression");
  }
  const usual: readonly string[] = decisionsOf[kind];
  if (kind === "choice" && decisions === undefined) report.add("missing_key", [...path, "decisions"], "is required for a choice");
  if (kind === "form" && task.form === undefined) report.add("missing_key", [...path, "form"], "is required for a form");
  if (kind !== "choice" && decisions?.some((one) => !usual.includes(one)) === true)
    report.add("wrong_type", [...path, "decisions"], `must be of ${usual.join(", ")}: a choice has its own`);
  if (Array.isArray(separationOfDuties))
    for (const [at, name] of separationOfDuties.entries())
      if (!names.steps.includes(name))
        report.add("unknown_variable", [...path, "separationOfDuties", at], `names ${name}, which is no step that is done`);
  return withoutUndefined({
    ...fields,
    kind: "human" as const,
    taskKind: kind,
    decisions: decisions ?? usual,
    separationOfDuties,
    dueMs: due,
    expiresMs: expires,
  });
};
