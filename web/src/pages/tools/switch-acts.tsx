import { Button } from "@mantine/core";
import { useQueryClient } from "@tanstack/react-query";
import { useState, type ReactElement, type ReactNode } from "react";
import type { SwitchedOff } from "#contract/switched-off.ts";
import { deleteKillSwitch, putKillSwitch } from "#contract/kill-switches.ts";
import { SYSTEMS } from "../../api/systems.ts";
import { useEndpoint } from "../../api/use-endpoint.ts";
import { Gate } from "../../decisions/use-can.ts";
import { switchWords } from "../../strings/switches.ts";
import { ActDialog } from "../../ui/act-dialog.tsx";
import { ReasonedDialog } from "./reasoned-dialog.tsx";

const text = switchWords;

/** Switches a tool or a system off at once, or lifts the switch that is in its way: for who may. */
export const SwitchActs = ({
  kind,
  name,
  off,
  onDone,
  children,
}: {
  readonly kind: keyof typeof text.sentences;
  readonly name: string;
  readonly off: SwitchedOff | undefined;
  readonly onDone: (said: string) => void;
  /** What else it means, before it is switched off. */
  readonly children?: ReactNode;
}): ReactElement => {
  const switchOn = useEndpoint(deleteKillSwitch);
  const switchOff = useEndpoint(putKillSwitch);
  const queries = useQueryClient();
  /** As it was when the dialog was opened: the page may hear of the switch before the dialog's own answer is there. */
  const [open, setOpen] = useState<{ readonly scope: string; readonly isOff: boolean }>();
  const close = (): void => setOpen(undefined);
  const done = (said: string) => (): void => {
    close();
    for (const root of ["tools", SYSTEMS]) void queries.invalidateQueries({ queryKey: [root] });
    onDone(said);
  };
  const isOff = off !== undefined;
  return (
    <Gate ask={{ type: "kill_switch", action: "set" }}>
      <Button
        variant="default"
        className={isOff ? undefined : "sp-dangerous"}
        onClick={() => setOpen({ scope: off?.scope ?? `${kind}:${name}`, isOff })}
      >
        {isOff ? text.switchOn : text.switchOff}
      </Button>
      {open === undefined ? null : open.isOff ? (
        <ActDialog
          title={text.onTitle(open.scope)}
          sentence={text.onSentence}
          verb={text.switchOn}
          rereads="tools"
          act={async () => await switchOn.ask({ params: { scope: open.scope } })}
          onDone={done(text.switchedOn)}
          onClose={close}
        />
      ) : (
        <ReasonedDialog
          title={text.offTitle(open.scope)}
          sentence={text.sentences[kind]}
          verb={text.switchOff}
          isDangerous
          act={async (reason) => await switchOff.ask({ params: { scope: open.scope }, body: { reason } })}
          onDone={done(text.switchedOff)}
          onClose={close}
        >
          {children}
        </ReasonedDialog>
      )}
    </Gate>
  );
};
