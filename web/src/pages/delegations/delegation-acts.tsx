import { Button } from "@mantine/core";
import { useState, type ReactElement } from "react";
import type { ReadDelegation } from "../../api/delegations.ts";
import { Gate } from "../../decisions/gate.tsx";
import { useSession } from "../../session/session-context.ts";
import { words } from "../../strings/en.ts";
import { visibleText } from "../../strings/format.ts";
import { isLive } from "./facts.ts";
import { PauseDialog, ResumeDialog, RevokeAllDialog, RevokeDialog } from "./revoke-dialogs.tsx";

type Open = "revoke" | "pause" | "resume" | "all";

/** What may be done with a delegation, each behind its own question. */
export const DelegationActs = ({
  read,
  onFact,
}: {
  readonly read: ReadDelegation;
  readonly onFact: (fact: string) => void;
}): ReactElement | null => {
  const [open, setOpen] = useState<Open>();
  const { subject } = useSession();
  const { delegation, etag } = read;
  const close = (): void => setOpen(undefined);
  const done = (fact: string): void => {
    close();
    onFact(fact);
  };
  const id = delegation.delegation_id;
  const agentName = visibleText(delegation.agent_name ?? delegation.agent_id);
  const dialogs = (
    <>
      {open === "revoke" ? <RevokeDialog id={id} onDone={done} onClose={close} /> : null}
      {open === "pause" ? <PauseDialog id={id} onDone={done} onClose={close} /> : null}
      {open === "resume" ? <ResumeDialog id={id} etag={etag} onDone={done} onClose={close} /> : null}
      {open === "all" ? <RevokeAllDialog agentId={delegation.agent_id} agentName={agentName} onDone={done} onClose={close} /> : null}
    </>
  );
  if (!isLive(delegation)) return dialogs;
  return (
    <>
      {delegation.status === "paused" ? (
        <Gate ask={{ type: "delegations", id: delegation.agent_id, action: "create" }}>
          <Button variant="default" onClick={() => setOpen("resume")}>
            {words.delegations.resume}
          </Button>
        </Gate>
      ) : null}
      <Gate ask={{ type: "delegations", id, action: "revoke" }}>
        {delegation.status === "active" ? (
          <Button variant="default" onClick={() => setOpen("pause")}>
            {words.delegations.pause}
          </Button>
        ) : null}
        {delegation.delegator_id === subject.id ? (
          <Button variant="default" onClick={() => setOpen("all")}>
            {words.delegations.revokeAll(agentName)}
          </Button>
        ) : null}
        <Button color="red.9" onClick={() => setOpen("revoke")}>
          {words.delegations.revoke}
        </Button>
      </Gate>
      {dialogs}
    </>
  );
};
