import type { Simulation } from "#contract/workflows.ts";
import type { StepRow } from "#crud/workflows/engine/run-rows.ts";
import type { Step } from "#crud/workflows/model/workflow-document.ts";

type Rows = ReadonlyMap<string, StepRow>;
type NotTaken = Simulation["not_taken"][number];

/** The lists of steps inside a step; of a loop those of its first round. */
const listsOf = (step: Step, path: string): readonly (readonly [steps: readonly Step[], path: string])[] => {
  if (step.kind === "do") return [[step.steps, path]];
  if (step.kind === "for") return [[step.steps, `${path}[0]`]];
  if (step.kind === "fork") return [[step.branches, path]];
  if (step.kind !== "try") return [];
  return [
    [step.steps, `${path}/try`],
    [step.catch.steps, `${path}/catch`],
  ];
};

/** Of a step in any round of the loops around it. */
export const placeOf = (path: string): string => path.replaceAll(/\[\d+\]/g, "[0]");

/** Every step by its path, those inside others too. */
export const placesOf = (steps: readonly Step[], path: string): readonly (readonly [path: string, step: Step])[] =>
  steps.flatMap((step) => {
    const own = `${path}/${step.name}`;
    return [[own, step] as const, ...listsOf(step, own).flatMap(([list, at]) => placesOf(list, at))];
  });

/** A path and those of what it stands in, the longest first. */
function* upwards(path: string): Generator<string> {
  for (let at = path.length; at > 0; at = Math.max(path.lastIndexOf("/", at - 1), path.lastIndexOf("[", at - 1))) yield path.slice(0, at);
}

/** Rows as their steps were entered: a block, whose row comes last, before what is inside of it. */
export const inOrder = (rows: Rows): readonly StepRow[] => {
  const first = new Map<string, number>();
  for (const [at, path] of [...rows.keys()].entries()) for (const one of upwards(path)) if (!first.has(one)) first.set(one, at);
  return [...rows.values()].toSorted(
    (one, other) => (first.get(one.path) ?? 0) - (first.get(other.path) ?? 0) || one.path.length - other.path.length,
  );
};

/** Steps that no round entered, not what is inside of them, and why: `condition` its `if` is false. `stop`: where the walk ended. */
export const stepsNotTaken = (steps: readonly Step[], rows: Rows, stop: string | undefined): readonly NotTaken[] => {
  const statuses = new Map<string, StepRow["status"] | "entered">();
  for (const { path, status } of rows.values())
    for (const one of upwards(path)) {
      const place = placeOf(one);
      const known = statuses.get(place);
      if (known === undefined || known === "entered" || known === "skipped")
        statuses.set(place, one === path ? status : (known ?? "entered"));
    }
  const stopAt = stop === undefined ? undefined : placeOf(stop);
  const inList = (list: readonly Step[], path: string, unless: NotTaken["because"] | undefined): readonly NotTaken[] => {
    let because: NotTaken["because"] = unless ?? "not_reached";
    return list.flatMap((step): readonly NotTaken[] => {
      const own = `${path}/${step.name}`;
      const status = statuses.get(own);
      if (own === stopAt) because = "not_reached";
      if (status === undefined) return [{ path: own, because }];
      if (own !== stopAt) because = status === "done" || status === "skipped" ? "jump" : "not_reached";
      if (status === "skipped") return [{ path: own, because: "condition" }];
      return listsOf(step, own).flatMap(([inner, at]) => inList(inner, at, reasonOf(step, status, at)));
    });
  };
  return inList(steps, "/do", undefined);
};

/** Why a list inside a step may not have been begun. */
const reasonOf = ({ kind }: Step, status: string, path: string): NotTaken["because"] | undefined => {
  if (kind === "for" && status === "done") return "no_items";
  return kind === "try" && path.endsWith("/catch") && status === "done" ? "nothing_caught" : undefined;
};

/** What a step waits for, or waited for: a time, in seconds, or a reason of a run. */
export const waitOf = ({ kind, status, reason, started_at: from, ended_at: to }: StepRow): Pick<Simulation["path"][number], "waits"> => {
  if (kind === "wait" && to !== null) return { waits: { reason: "timer", seconds: (Date.parse(to) - Date.parse(from)) / 1000 } };
  if (kind === "human") return { waits: { reason: "human" } };
  return status === "waiting" && reason !== null ? { waits: { reason } } : {};
};
