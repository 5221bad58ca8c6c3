import type { Step } from "#crud/workflows/model/workflow-document.ts";
import type { IssueReport, Path } from "./issue-report.ts";

const DIRECTIVES = ["continue", "exit", "end"];

/** A task as it stands in a list. */
export interface Listed {
  readonly name: string;
  readonly path: Path;
  readonly task: unknown;
}

/** Checks one `then`: a directive or a later task of the list. */
export const checkTarget = (
  target: string,
  path: Path,
  { report, all, at }: { readonly report: IssueReport; readonly all: readonly Listed[]; readonly at: number },
): void => {
  if (DIRECTIVES.includes(target)) return;
  const found = all.findIndex(({ name }) => name === target);
  if (found === -1) report.add("wrong_type", path, `must be ${DIRECTIVES.join(", ")} or a later task of the list`);
  else if (found <= at) report.add("backward_jump", path, `${target} does not come later: a repetition is a for`);
};

/** Where the flow may go from a step: names of tasks, and `continue`. */
const waysFrom = (step: Step): readonly string[] => {
  const skipped = step.if === undefined ? [] : ["continue"];
  if (step.kind === "raise") return skipped;
  if (step.kind === "switch") return [...skipped, ...step.cases.map(({ then }) => then)];
  return [...skipped, step.then ?? "continue"];
};

/** Reports the first of the tasks behind each other that no flow comes to. */
export const checkReach = (report: IssueReport, all: readonly Listed[], steps: readonly (Step | undefined)[]): void => {
  const placeOf = (name: string): number => all.findIndex((one) => one.name === name);
  // Nothing is known of a task that could not be read.
  const ways = steps.map((step) => (step === undefined ? ["continue"] : waysFrom(step)));
  // A jump back is an issue already.
  const reached = new Set([0, ...ways.flatMap((names, at) => names.map(placeOf).filter((target) => target <= at))]);
  for (const [at, names] of ways.entries()) {
    if (reached.has(at)) {
      for (const way of names) if (way !== "exit" && way !== "end") reached.add(Math.max(placeOf(way), at + 1));
    } else if (reached.has(at - 1)) {
      const { path, name } = all[at] ?? { path: [], name: "" };
      report.addAtKey("unreachable", path, `no task leads to ${name}`);
    }
  }
};
