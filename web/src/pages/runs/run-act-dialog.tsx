import { Checkbox } from "@mantine/core";
import { useState, type ReactElement } from "react";
import type { ReplyOf } from "#contract/endpoint.ts";
import { cancelRun, retryRun, suspendRun, takeOverRun, unsuspendRun, type Run, type RunStep } from "#contract/workflow-runs.ts";
import { rerunRun } from "#contract/workflows.ts";
import { useEndpoint } from "../../api/use-endpoint.ts";
import { visibleText } from "../../strings/format.ts";
import { runWords } from "../../strings/runs.ts";
import { ActDialog } from "../../ui/act-dialog.tsx";
import { Consequences } from "../../ui/consequences.tsx";
import { undoPlan, type RunAct, type RunDiagramReply } from "./run-steps.ts";

const text = runWords;

interface RunActProps {
  readonly act: RunAct;
  readonly run: Run;
  readonly steps: readonly RunStep[];
  readonly nodes: RunDiagramReply["nodes"];
  readonly onClose: () => void;
  /** `id` is that of the new run after `rerun`. */
  readonly onDone: (fact: string, id: string) => void;
}

const Undone = ({ steps, nodes, isUndone }: Pick<RunActProps, "steps" | "nodes"> & { readonly isUndone: boolean }): ReactElement => {
  const plan = undoPlan(steps, nodes);
  const [readAt] = useState(() => new Date());
  const count = isUndone ? plan.filter(({ tool }) => tool !== undefined).length : 0;
  return (
    <Consequences
      summary={[
        { tone: "run", icon: "refresh", text: text.willUndo(count) },
        ...(count === plan.length ? [] : [{ tone: "stepup", icon: "warning", text: text.willStay(plan.length - count) } as const]),
      ]}
      changes={plan.map(({ step, name, tool }) => ({
        key: step.path,
        what: visibleText(name),
        now: text.steps.done,
        after: isUndone && tool !== undefined ? text.undoneBy(visibleText(tool)) : text.stays,
      }))}
      readAt={readAt}
    />
  );
};

/** What an act means for the run, then the act. */
export const RunActDialog = ({ act, run, steps, nodes, onDone, onClose }: RunActProps): ReactElement => {
  const [isUndone, setUndone] = useState(true);
  const [cancel, suspend, unsuspend, takeOver, retry, rerun] = [
    useEndpoint(cancelRun),
    useEndpoint(suspendRun),
    useEndpoint(unsuspendRun),
    useEndpoint(takeOverRun),
    useEndpoint(retryRun),
    useEndpoint(rerunRun),
  ];
  const call = { params: { id: run.id }, headers: { "if-match": `"${run.state_version}"` } };
  const send: Readonly<Record<RunAct, () => Promise<ReplyOf<typeof cancelRun>>>> = {
    cancel: async () => await cancel.ask({ ...call, body: { undo: isUndone } }),
    suspend: async () => await suspend.ask(call),
    unsuspend: async () => await unsuspend.ask(call),
    takeover: async () => await takeOver.ask(call),
    retry: async () => await retry.ask(call),
    rerun: async () => await rerun.ask(call),
  };
  return (
    <ActDialog
      title={text.titles[act]}
      sentence={text.sentences[act]}
      verb={text.acts[act]}
      isDangerous={act === "cancel"}
      isReady={run.may?.includes(act) === true}
      act={send[act]}
      rereads="workflows"
      onDone={(after) => onDone(text.facts[act], after.id)}
      onClose={onClose}
    >
      {act === "cancel" ? (
        <>
          <Undone steps={steps} nodes={nodes} isUndone={isUndone} />
          <Checkbox
            label={text.undo}
            description={text.undoHint}
            checked={isUndone}
            onChange={(event) => setUndone(event.currentTarget.checked)}
          />
        </>
      ) : null}
    </ActDialog>
  );
};
