import { Textarea } from "@mantine/core";
import { useState, type ReactElement } from "react";
import { ActDialog, type ActDialogProps } from "./act-dialog.tsx";

export interface ReasonedActProps<T> extends Omit<ActDialogProps<T>, "act" | "check" | "rereads" | "size"> {
  readonly act: (reason: string) => Promise<T>;
}

/** An act: what it means, then why it is done, which is kept in the record, then the button. */
export const DialogWithReason = <T,>({
  asked,
  act,
  children,
  ...rest
}: ReasonedActProps<T> &
  Pick<ActDialogProps<T>, "rereads" | "size"> & {
    /** How the reason is asked for, and how long it has to be. */
    readonly asked: {
      readonly label: string;
      readonly hint: string;
      readonly issue: string;
      readonly least: number;
      readonly max: number;
    };
  }): ReactElement => {
  const [reason, setReason] = useState("");
  const [hasTried, setTried] = useState(false);
  const isGiven = reason.trim().length >= asked.least;
  const check = (): boolean => {
    setTried(true);
    return isGiven;
  };
  return (
    <ActDialog {...rest} act={async () => await act(reason.trim())} check={check}>
      {children}
      <Textarea
        data-autofocus
        label={asked.label}
        description={asked.hint}
        required
        rows={2}
        maxLength={asked.max}
        value={reason}
        error={hasTried && !isGiven ? asked.issue : undefined}
        onChange={(event) => setReason(event.currentTarget.value)}
      />
    </ActDialog>
  );
};
