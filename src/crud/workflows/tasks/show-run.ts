import { usdFromMicro } from "#contract/ids.ts";
import { shownStatus } from "#crud/workflows/engine/run-events.ts";
import { hideSealed } from "#crud/model/sealed-values.ts";
import type { RunRow } from "#crud/workflows/engine/run-rows.ts";
import { pageOfRun } from "./task-port.ts";
import type { WaitingView } from "./waiting.ts";

/** A run as lists have it. */
export const showRunRow = (run: Omit<RunRow, "input" | "context" | "output" | "error">) => ({
  id: run.id,
  workflow: run.name,
  namespace: run.namespace,
  version: run.version,
  phase: run.phase,
  status: shownStatus(run.phase),
  reason: run.reason,
  state_version: run.state_version,
  started_by: { sub: run.subject, agent: run.agent, delegation_id: run.delegation_id },
  cost: { usd: usdFromMicro(run.cost_micro), steps: run.cost_steps },
  created_at: run.created_at,
  updated_at: run.updated_at,
  ended_at: run.ended_at,
  wake_at: run.wake_at,
  deadline: run.deadline,
  correlation_id: run.correlation_id,
});

/** A run as its endpoints answer it. Its values only where `canViewRun`: who only decides a task of it sees none. */
export const showRun = (run: RunRow, waiting: WaitingView, { canViewRun }: { readonly canViewRun: boolean }) => {
  const self = pageOfRun(run.id);
  return {
    ...showRunRow(run),
    ...(canViewRun ? hideSealed({ input: run.input, output: run.output, error: run.error }) : {}),
    waiting,
    _links: { self, resume: `${self}/resume`, steps: `${self}/steps`, diagram: `${self}/diagram` },
  };
};
export type RunView = ReturnType<typeof showRun>;
