import type { TryStep } from "#crud/workflows/model/workflow-document.ts";
import { callStep } from "./call-step.ts";
import type { StepRow } from "./run-rows.ts";
import { StepFailure, type Trying } from "./step-errors.ts";
import { doneRow, failedRow, rowOf, type Flow, type Place, type WalkContext } from "./step-place.ts";

const RETRY = { delayMs: 1000, backoff: { kind: "exponential", factor: 4, incrementMs: 0 }, maxAttempts: 5 } as const;
const step: TryStep = { kind: "try", name: "undo", steps: [], catch: { as: "error", retry: RETRY, steps: [] } };
const trying: Trying = { step, scope: {} };

/** Done steps that have something to undo, the last that was done first. */
export const stepsToUndo = ({ session }: Pick<WalkContext, "session">): readonly StepRow[] =>
  [...session.steps.values()]
    .filter(({ status, undo }) => undo !== null && (status === "done" || status === "undone"))
    .toSorted((one, other) => (other.done_seq ?? 0) - (one.done_seq ?? 0));

/** Undoes a step as any step runs, 5 times at most: the row is `<path>~undo`. */
export const undoStep = async (parts: WalkContext, undone: StepRow): Promise<Flow> => {
  const { session } = parts;
  const { undo } = undone;
  const path = `${undone.path}~undo`;
  const startedAt = session.steps.get(path)?.started_at ?? session.now().toISOString();
  const place: Place = { path, kind: "undo", scope: {}, tries: [trying], deadline: Infinity, startedAt };
  try {
    if (undo === null || undo.error !== undefined) throw new StepFailure(undo?.error ?? { type: "urn:sallyport:error:undo", status: 500 });
    return await callStep(parts, place, {
      tool: undo.tool,
      purpose: "compensation",
      onUnknown: "ask",
      input: () => undo.input ?? {},
      done: (raw) => {
        const row = doneRow(parts, place, { raw });
        session.put({ ...undone, status: "undone" });
        return row;
      },
    });
  } catch (error) {
    if (!(error instanceof StepFailure)) throw error;
    const row = failedRow(parts, undo?.error === undefined ? place : { ...place, tries: [] }, error.error);
    session.put(rowOf(parts, place, row));
    return { kind: row.status === "failed" ? "failed" : "parked", error: error.error, wakeAt: Date.parse(row.wake_at ?? "") } as Flow;
  }
};
