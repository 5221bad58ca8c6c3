import { Textarea } from "@mantine/core";
import { useState, type ReactElement } from "react";
import { delegateTask, type TaskDetail } from "#contract/tasks.ts";
import { useClient } from "../../api/client-context.ts";
import { personSuggestions } from "../../api/nodes.ts";
import { useEndpoint } from "../../api/use-endpoint.ts";
import { visibleText } from "../../strings/format.ts";
import { taskWords } from "../../strings/tasks.ts";
import { ActDialog } from "../../ui/act-dialog.tsx";
import { SuggestInput } from "../../ui/suggest-input.tsx";

const text = taskWords;

/** Passes a task on: somebody else is asked instead. */
export const DelegateDialog = ({
  task,
  onDone,
  onClose,
}: {
  readonly task: TaskDetail;
  readonly onDone: () => void;
  readonly onClose: () => void;
}): ReactElement => {
  const client = useClient();
  const delegate = useEndpoint(delegateTask);
  const [to, setTo] = useState("");
  const [note, setNote] = useState("");
  const [hasTried, setTried] = useState(false);
  return (
    <ActDialog
      title={text.handTitle(visibleText(task.title))}
      sentence={text.handSentence}
      verb={text.handOver}
      check={() => {
        setTried(true);
        return to !== "";
      }}
      act={async () =>
        await delegate.ask({
          params: { id: task.id },
          headers: { "if-match": `"${task.state_version}"` },
          body: { to, note: note.trim() || undefined },
        })
      }
      rereads="tasks"
      onDone={onDone}
      onClose={onClose}
    >
      <SuggestInput
        label={text.to}
        description={text.toHint}
        required
        value={to}
        error={hasTried && to === "" ? text.toIssue : undefined}
        suggest={(typed) => personSuggestions(client, typed)}
        onChange={setTo}
      />
      <Textarea label={text.note} rows={2} maxLength={1000} value={note} onChange={(event) => setNote(event.currentTarget.value)} />
    </ActDialog>
  );
};
