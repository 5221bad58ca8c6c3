import { useState, type ReactElement } from "react";
import { ActDialog, type ActDialogProps } from "../../ui/act-dialog.tsx";
import { ReasonField } from "../../ui/reason-field.tsx";
import { isReason } from "./facts.ts";

export interface ReasonedActProps<T> extends Omit<ActDialogProps<T>, "act" | "check" | "rereads" | "size"> {
  readonly act: (reason: string) => Promise<T>;
}

/** An act on a delegation: what it means, then why, then the button. */
export const ReasonedActDialog = <T,>({ act, children, ...rest }: ReasonedActProps<T>): ReactElement => {
  const [reason, setReason] = useState("");
  const [hasTried, setTried] = useState(false);
  const check = (): boolean => {
    setTried(true);
    return isReason(reason);
  };
  return (
    <ActDialog {...rest} act={async () => await act(reason.trim())} check={check} rereads="delegations">
      {children}
      <ReasonField value={reason} hasFault={hasTried && !isReason(reason)} onChange={setReason} />
    </ActDialog>
  );
};
