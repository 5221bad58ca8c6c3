import { Textarea } from "@mantine/core";
import { useState, type ReactElement } from "react";
import { REASON } from "#contract/ids.ts";
import { SYSTEMS } from "../../api/systems.ts";
import { systemWords } from "../../strings/systems.ts";
import { ActDialog, type ActDialogProps } from "../../ui/act-dialog.tsx";

const text = systemWords.one;

/** An act with its reason, which is kept in the record: as long as the most demanding of the endpoints wants it. */
export const ReasonedDialog = <T,>({
  act,
  children,
  ...rest
}: Omit<ActDialogProps<T>, "act" | "rereads" | "check" | "size"> & { readonly act: (reason: string) => Promise<T> }): ReactElement => {
  const [reason, setReason] = useState("");
  const [hasTried, setTried] = useState(false);
  const isGiven = reason.trim().length >= REASON.least;
  return (
    <ActDialog
      {...rest}
      size="xl"
      rereads={SYSTEMS}
      check={() => {
        setTried(true);
        return isGiven;
      }}
      act={async () => await act(reason.trim())}
    >
      {children}
      <Textarea
        data-autofocus
        label={text.reasonLabel}
        description={text.reasonHint(REASON.least, REASON.most)}
        required
        rows={2}
        maxLength={REASON.most}
        value={reason}
        error={hasTried && !isGiven ? text.reasonFault(REASON.least, REASON.most) : undefined}
        onChange={(event) => setReason(event.currentTarget.value)}
      />
    </ActDialog>
  );
};
