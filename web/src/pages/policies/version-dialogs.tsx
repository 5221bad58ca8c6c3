import { Checkbox, Textarea } from "@mantine/core";
import { useQuery } from "@tanstack/react-query";
import { useState, type ReactElement } from "react";
import { promoteRollout, rollBack } from "#contract/rollouts.ts";
import { useClient } from "../../api/client-context.ts";
import { matrixQuery, POLICIES } from "../../api/policies.ts";
import { ifMatch } from "../../api/queries.ts";
import { useEndpoint } from "../../api/use-endpoint.ts";
import { policyWords } from "../../strings/policies.ts";
import { ActDialog, type ActDialogProps } from "../../ui/act-dialog.tsx";
import { MatrixView } from "./matrix-view.tsx";

const text = policyWords.acts;

export interface ActProps {
  readonly version: string;
  readonly onDone: (fact: string) => void;
  readonly onClose: () => void;
}

interface PolicyDialogProps extends Omit<ActDialogProps<unknown>, "onDone" | "rereads" | "size"> {
  /** Said once it is done. */
  readonly fact: string;
  readonly onDone: (fact: string) => void;
}

/** An act on a version; afterwards everything of policies is read again. */
export const PolicyDialog = ({ fact, onDone, ...rest }: PolicyDialogProps): ReactElement => {
  const done = (): void => {
    rest.onClose();
    onDone(fact);
  };
  return <ActDialog {...rest} size="xl" rereads={POLICIES} onDone={done} />;
};

/** Lets a version decide: the difference is shown, has to be said to be seen, and its digest goes along. */
export const ActivateDialog = ({ version, onDone, onClose }: ActProps): ReactElement => {
  const promote = useEndpoint(promoteRollout);
  const query = useQuery(matrixQuery(useClient(), version));
  const [seen, setSeen] = useState<string>();
  const read = query.data;
  const isSeen = read !== undefined && seen === read.matrix.digest;
  return (
    <PolicyDialog
      title={text.activateTitle(version)}
      sentence={text.activateSentence}
      verb={text.activate}
      isReady={isSeen}
      // Refused when another has been made to decide since.
      act={async () =>
        read === undefined
          ? undefined
          : await promote.ask({ params: { version }, body: { to: "active", acknowledged_diff: read.matrix.digest }, ...ifMatch(read.etag) })
      }
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
  const rollBackTo = useEndpoint(rollBack);
  // The one it was opened for: which version is the last retired changes while the dialog is still open.
  const [version] = useState(given);
  const query = useQuery(matrixQuery(useClient(), version));
  const [message, setMessage] = useState("");
  const read = query.data;
  return (
    <PolicyDialog
      title={text.rollbackTitle(version)}
      sentence={text.rollbackSentence}
      verb={text.rollback}
      isDangerous
      isReady={read !== undefined}
      act={async () =>
        read === undefined
          ? undefined
          : await rollBackTo.ask({ params: { version }, body: { message: message.trim() || undefined }, ...ifMatch(read.etag) })
      }
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
