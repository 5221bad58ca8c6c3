import type { ReactElement } from "react";
import { runWords } from "../strings/runs.ts";
import { Chip, Status, type ChipProps } from "./chip.tsx";

const looks = {
  done: { tone: "allow", icon: "check" },
  running: { tone: "run", icon: "running" },
  waiting: { tone: "stepup", icon: "clock" },
  failed: { tone: "deny", icon: "cross" },
  quiet: { tone: "quiet", icon: "minus" },
  unknown: { tone: "quiet", icon: "question" },
} as const satisfies Readonly<Record<string, Omit<ChipProps, "text">>>;

type Look = keyof typeof looks;

const ofSteps: Readonly<Record<keyof typeof runWords.steps, Look>> = {
  running: "running",
  waiting: "waiting",
  done: "done",
  skipped: "quiet",
  failed: "failed",
  unknown: "unknown",
  undone: "quiet",
  cancelled: "quiet",
  open: "quiet",
};
export type StepState = keyof typeof ofSteps;

/** How the state of a step looks and reads; `open`: the run has not reached it. */
export const stepLook = (state: StepState): ChipProps => ({ ...looks[ofSteps[state]], text: runWords.steps[state] });

export const StepStatus = ({ state }: { readonly state: StepState }): ReactElement => <Status {...stepLook(state)} />;

const ofPhases: Readonly<Record<keyof typeof runWords.phases, Look>> = {
  pending: "quiet",
  running: "running",
  waiting: "waiting",
  waitingForYou: "waiting",
  suspended: "quiet",
  undoing: "running",
  completed: "done",
  faulted: "failed",
  cancelled: "quiet",
};
export type RunPhase = keyof typeof ofPhases;

/** The phase of a run and why, as a chip, or in a row as a plain word. */
export const RunStatus = ({
  phase,
  reason,
  isRow = false,
}: {
  readonly phase: RunPhase;
  readonly reason: string | null;
  readonly isRow?: boolean;
}): ReactElement => {
  const because = phase === "waitingForYou" ? undefined : runWords.reasons[reason ?? ""];
  const text = [runWords.phases[phase], ...(because === undefined ? [] : [because])].join(" ");
  const props = { ...looks[ofPhases[phase]], text };
  return isRow ? <Status {...props} /> : <Chip {...props} />;
};
