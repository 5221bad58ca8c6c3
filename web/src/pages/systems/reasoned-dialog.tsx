import { Textarea } from "@mantine/core";
import { useState, type ReactElement } from "react";
import { SYSTEMS } from "../../api/systems.ts";
import { systemWords } from "../../strings/systems.ts";
import { ActDialog, type ActDialogProps } from "../../ui/act-dialog.tsx";

const text = systemWords.one;

/** An act on a system with its reason, which is kept with the version. */
export const ReasonedDialog = <T,>({
  act,
  children,
  ...rest
}: Omit<ActDialogProps<T>, "act" | "rereads" | "check" | "size"> & { readonly act: (reason: string) => Promise<T> }): ReactElement => {
  const [reason, setReason] = useState("");
  const [hasTried, setTried] = useState(false);
  const isGiven = reason.trim() !== "";
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
        description={text.reasonHint}
        required
        rows={2}
        maxLength={500}
        value={reason}
        error={hasTried && !isGiven ? text.reasonFault : undefined}
        onChange={(event) => setReason(event.currentTarget.value)}
      />
    </ActDialog>
  );
};
