import { Button, Checkbox, Modal, Textarea } from "@mantine/core";
import { useMutation, useQuery, useQueryClient } from "@tanstack/react-query";
import { useState, type FormEvent, type ReactElement, type ReactNode } from "react";
import { useClient } from "../../api/client-context.ts";
import { GatewayError } from "../../api/gateway-error.ts";
import { activate, matrixQuery, POLICIES, rollBackTo } from "../../api/policies.ts";
import { words } from "../../strings/en.ts";
import { policyWords } from "../../strings/policies.ts";
import { ActButton } from "../../ui/act-button.tsx";
import { Failure } from "../../ui/failure.tsx";
import { MatrixView } from "./matrix-view.tsx";

const text = policyWords.acts;

export interface ActProps {
  readonly version: string;
  readonly onDone: (fact: string) => void;
  readonly onClose: () => void;
}

interface PolicyDialogProps {
  readonly title: string;
  readonly sentence: string;
  readonly verb: string;
  readonly isDangerous?: boolean;
  readonly isReady?: boolean;
  readonly act: () => Promise<unknown>;
  readonly fact: string;
  readonly onDone: (fact: string) => void;
  readonly onClose: () => void;
  readonly children?: ReactNode;
}

/** An act on a version: what it means first, then the button that says what it does. Afterwards everything is read again. */
export const PolicyDialog = (props: PolicyDialogProps): ReactElement => {
  const queries = useQueryClient();
  const reread = async (): Promise<void> => await queries.invalidateQueries({ queryKey: [POLICIES] });
  const acting = useMutation({
    mutationFn: props.act,
    onSuccess: () => {
      props.onClose();
      props.onDone(props.fact);
    },
    onSettled: reread,
  });
  const submit = (event: FormEvent): void => {
    event.preventDefault();
    if (!acting.isPending && props.isReady !== false) acting.mutate();
  };
  const isUnknown = acting.error instanceof GatewayError && acting.error.problem.code === "outcome_unknown";
  return (
    <Modal opened onClose={props.onClose} title={props.title} size="xl" closeButtonProps={{ "aria-label": words.common.close }}>
      <form className="sp-stack" onSubmit={submit} noValidate>
        <p>{props.sentence}</p>
        {props.children}
        {acting.isError ? <Failure error={acting.error} /> : null}
        <div className="sp-actions">
          <ActButton
            type="submit"
            isBusy={acting.isPending}
            disabled={props.isReady === false}
            {...(props.isDangerous === true ? { color: "red.9" } : {})}
          >
            {props.verb}
          </ActButton>
          <Button variant="default" onClick={props.onClose}>
            {words.common.cancel}
          </Button>
          {isUnknown ? (
            <Button variant="default" onClick={props.onClose}>
              {words.common.refresh}
            </Button>
          ) : null}
        </div>
      </form>
    </Modal>
  );
};

/** Lets a version decide: the difference is shown, has to be said to be seen, and its digest goes along. */
export const ActivateDialog = ({ version, onDone, onClose }: ActProps): ReactElement => {
  const client = useClient();
  const query = useQuery(matrixQuery(client, version));
  const [seen, setSeen] = useState<string>();
  const read = query.data;
  const isSeen = read !== undefined && seen === read.matrix.digest;
  return (
    <PolicyDialog
      title={text.activateTitle}
      sentence={text.activateSentence}
      verb={text.activate}
      isReady={isSeen}
      act={async () => (read === undefined ? undefined : await activate(client, read))}
      fact={text.activated(version)}
      onDone={onDone}
      onClose={onClose}
    >
      <MatrixView query={query} />
      {read === undefined ? null : (
        <Checkbox
          label={text.seen(read.matrix.changed.length)}
          checked={isSeen}
          onChange={(event) => setSeen(event.currentTarget.checked ? read.matrix.digest : undefined)}
        />
      )}
    </PolicyDialog>
  );
};

/** Lets a version that decided before decide again. */
export const RollBackDialog = ({ version: given, onDone, onClose }: ActProps): ReactElement => {
  const client = useClient();
  // The one it was opened for: which version is the last retired changes while the dialog is still open.
  const [version] = useState(given);
  const query = useQuery(matrixQuery(client, version));
  const [message, setMessage] = useState("");
  const read = query.data;
  return (
    <PolicyDialog
      title={text.rollbackTitle(version)}
      sentence={text.rollbackSentence}
      verb={text.rollback}
      isDangerous
      isReady={read !== undefined}
      act={async () => (read === undefined ? undefined : await rollBackTo(client, read, message.trim()))}
      fact={text.rolledBack(version)}
      onDone={onDone}
      onClose={onClose}
    >
      <MatrixView query={query} />
      <Textarea
        data-autofocus
        label={text.messageLabel}
        description={text.messageHint}
        rows={2}
        maxLength={500}
        value={message}
        onChange={(event) => setMessage(event.currentTarget.value)}
      />
    </PolicyDialog>
  );
};
