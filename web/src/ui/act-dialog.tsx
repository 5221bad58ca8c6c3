import { Button, Modal } from "@mantine/core";
import { useMutation, useQueryClient } from "@tanstack/react-query";
import type { FormEvent, ReactElement, ReactNode } from "react";
import { hasCode } from "../model/gateway-error.ts";
import { words } from "../strings/en.ts";
import { ActButton } from "./act-button.tsx";
import { Failure } from "./failure.tsx";

export interface ActDialogProps<T> {
  readonly title: string;
  readonly sentence: string;
  /** The button: the verb of what happens. */
  readonly verb: string;
  readonly isDangerous?: boolean;
  /** False: the button is off. */
  readonly isReady?: boolean;
  readonly size?: "lg" | "xl";
  /** Looks at what was filled in when somebody sends it; false keeps it here. */
  readonly check?: () => boolean;
  readonly act: () => Promise<T>;
  /** The root of the queries that are read again afterwards, however it ended; none after a question that changes nothing. */
  readonly rereads: string | undefined;
  readonly onDone: (done: T) => void;
  readonly onClose: () => void;
  /** A milder act in its place. */
  readonly instead?: { readonly verb: string; readonly go: () => void } | undefined;
  /** What it means, read from the server, and what has to be filled in. */
  readonly children?: ReactNode;
}

/** An act with consequences: verb and object, what changes (`Consequences`), what to fill in, the verb as button. */
export const ActDialog = <T,>(props: ActDialogProps<T>): ReactElement => {
  const queries = useQueryClient();
  const reread = async (root: string | undefined): Promise<void> => {
    if (root !== undefined) await queries.invalidateQueries({ queryKey: [root] });
  };
  const acting = useMutation({
    mutationFn: (_rereads: string | undefined) => props.act(),
    onSuccess: props.onDone,
    // As it was when it was sent: what comes back may make another act of this one.
    onSettled: (_done, _error, rereads) => reread(rereads),
  });
  const submit = (event: FormEvent): void => {
    event.preventDefault();
    if (props.check?.() !== false && !acting.isPending && props.isReady !== false) acting.mutate(props.rereads);
  };
  const isUnknown = hasCode(acting.error, "outcome_unknown");
  // The answer was lost: the object itself is read again, and what it says is the truth.
  const checkNow = (): void => {
    void reread(props.rereads);
    props.onClose();
  };
  return (
    <Modal opened onClose={props.onClose} title={props.title} size={props.size ?? "lg"}>
      <form className="sp-stack" onSubmit={submit} noValidate>
        <p>{props.sentence}</p>
        {props.children}
        {acting.isError ? <Failure error={acting.error} /> : null}
        {isUnknown ? (
          <div>
            <Button variant="default" onClick={checkNow}>
              {words.common.refresh}
            </Button>
          </div>
        ) : null}
        <div className="sp-actions sp-dialog-foot">
          <Button variant="default" onClick={props.onClose}>
            {words.common.cancel}
          </Button>
          {props.instead === undefined ? null : (
            <Button variant="default" onClick={props.instead.go}>
              {props.instead.verb}
            </Button>
          )}
          <ActButton
            type="submit"
            isBusy={acting.isPending}
            disabled={props.isReady === false}
            color={props.isDangerous === true ? "red.9" : undefined}
          >
            {props.verb}
          </ActButton>
        </div>
      </form>
    </Modal>
  );
};
