import { Button, Modal } from "@mantine/core";
import { useMutation, useQueryClient } from "@tanstack/react-query";
import { useState, type FormEvent, type ReactElement, type ReactNode } from "react";
import { GatewayError } from "../../api/gateway-error.ts";
import { words } from "../../strings/en.ts";
import { ActButton } from "../../ui/act-button.tsx";
import { Failure } from "../../ui/failure.tsx";
import { ReasonField } from "../../ui/reason-field.tsx";
import { isReason } from "./facts.ts";

export interface ActDialogProps<T> {
  readonly title: string;
  readonly sentence: string;
  /** The button: the verb of what happens. */
  readonly verb: string;
  readonly isDangerous?: boolean;
  readonly isReady?: boolean;
  readonly act: (reason: string) => Promise<T>;
  readonly onDone: (done: T) => void;
  readonly onClose: () => void;
  /** The consequences, read from the server. */
  readonly children?: ReactNode;
}

/** An act on a delegation: first what it means, then why, then the button that says what it does. */
export const ActDialog = <T,>(props: ActDialogProps<T>): ReactElement => {
  const [reason, setReason] = useState("");
  const [hasTried, setTried] = useState(false);
  const queries = useQueryClient();
  const acting = useMutation({
    mutationFn: async () => await props.act(reason.trim()),
    onSuccess: props.onDone,
    onSettled: async () => await queries.invalidateQueries({ queryKey: ["delegations"] }),
  });
  const submit = (event: FormEvent): void => {
    event.preventDefault();
    setTried(true);
    if (isReason(reason) && !acting.isPending && props.isReady !== false) acting.mutate();
  };
  const isUnknown = acting.error instanceof GatewayError && acting.error.problem.code === "outcome_unknown";
  // The answer was lost: the object itself is read again, and what it says is the truth.
  const checkNow = (): void => {
    void queries.invalidateQueries({ queryKey: ["delegations"] });
    props.onClose();
  };
  return (
    <Modal opened onClose={props.onClose} title={props.title} size="lg" closeButtonProps={{ "aria-label": words.common.close }}>
      <form className="sp-stack" onSubmit={submit} noValidate>
        <p>{props.sentence}</p>
        {props.children}
        <ReasonField value={reason} hasFault={hasTried && !isReason(reason)} onChange={setReason} />
        {acting.isError ? <Failure error={acting.error} /> : null}
        {isUnknown ? (
          <div>
            <Button variant="default" onClick={checkNow}>
              {words.common.refresh}
            </Button>
          </div>
        ) : null}
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
        </div>
      </form>
    </Modal>
  );
};
