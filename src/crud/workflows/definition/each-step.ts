import type { Step } from "#crud/workflows/model/workflow-document.ts";
import type { Path } from "./issue-report.ts";

const below = (step: Step, path: Path): readonly (readonly [readonly Step[], Path])[] => {
  if (step.kind === "do" || step.kind === "for") return [[step.steps, [...path, "do"]]];
  if (step.kind === "fork") return [[step.branches, [...path, "fork", "branches"]]];
  if (step.kind !== "try") return [];
  return [
    [step.steps, [...path, "try"]],
    [step.catch.steps, [...path, "catch", "do"]],
  ];
};

/** Every step of a document, those inside others too, with its place there. */
export function* eachStep(steps: readonly Step[], path: Path = ["do"]): Generator<{ readonly step: Step; readonly path: Path }> {
  for (const [at, step] of steps.entries()) {
    const own = [...path, at, step.name];
    yield { step, path: own };
    for (const [list, place] of below(step, own)) yield* eachStep(list, place);
  }
}
