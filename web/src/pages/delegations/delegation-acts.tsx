import { Button } from "@mantine/core";
import type { ReactElement } from "react";
import { pauseDelegation, resumeDelegation, type Delegation } from "#contract/delegations.ts";
import { ifMatch } from "../../api/queries.ts";
import { useEndpoint } from "../../api/use-endpoint.ts";
import { Gate } from "../../decisions/use-can.ts";
import { useSession } from "../../session/session-context.ts";
import { delegationWords } from "../../strings/delegations.ts";
import { visibleText } from "../../strings/format.ts";
import { isLive } from "./facts.ts";
import { ReasonedDialog, RevokeAllDialog, RevokeDialog } from "./revoke-dialogs.tsx";

export interface ReadDelegation {
  readonly delegation: Delegation;
  readonly etag: string | undefined;
  readonly readAt: Date;
}

const acts = ["revoke", "pause", "resume", "all"] as const;
/** An act whose dialog is open. */
type OpenAct = (typeof acts)[number];

/** The act that an address names, if any. */
export const openAct = (named: string | undefined): OpenAct | undefined => acts.find((act) => act === named);

/** What may be done with a delegation, each behind its own question. */
export const DelegationActs = ({
  read,
  open,
  onOpen,
  onFact,
}: {
  readonly read: ReadDelegation;
  readonly open: OpenAct | undefined;
  readonly onOpen: (act: OpenAct | undefined) => void;
  readonly onFact: (fact: string) => void;
}): ReactElement => {
  const { subject } = useSession();
  const pause = useEndpoint(pauseDelegation);
  const resume = useEndpoint(resumeDelegation);
  const { delegation, etag } = read;
  const close = (): void => onOpen(undefined);
  const done = (fact: string): void => {
    close();
    onFact(fact);
  };
  const id = delegation.delegation_id;
  const agentName = visibleText(delegation.agent_name ?? delegation.agent_id);
  const dialogs = (
    <>
      {open === "revoke" ? (
        <RevokeDialog
          delegation={delegation}
          onPause={delegation.status === "active" ? () => onOpen("pause") : undefined}
          onDone={done}
          onClose={close}
        />
      ) : null}
      {open === "pause" ? (
        <ReasonedDialog
          title={delegationWords.pauseTitle}
          sentence={delegationWords.pauseSentence}
          verb={delegationWords.pause}
          act={async (reason) => await pause.ask({ params: { id }, body: { reason } })}
          onDone={() => done(delegationWords.pausedFact)}
          onClose={close}
        />
      ) : null}
      {open === "resume" ? (
        <ReasonedDialog
          title={delegationWords.resumeTitle}
          sentence={delegationWords.resumeSentence}
          verb={delegationWords.resume}
          act={async (reason) => await resume.ask({ params: { id }, body: { reason }, ...ifMatch(etag) })}
          onDone={() => done(delegationWords.resumedFact)}
          onClose={close}
        />
      ) : null}
      {open === "all" ? <RevokeAllDialog agentId={delegation.agent_id} agentName={agentName} onDone={done} onClose={close} /> : null}
    </>
  );
  const buttons = (
    <>
      {delegation.status === "paused" ? (
        <Gate ask={{ type: "delegations", id: delegation.agent_id, action: "create" }}>
          <Button variant="default" onClick={() => onOpen("resume")}>
            {delegationWords.resume}
          </Button>
        </Gate>
      ) : null}
      <Gate ask={{ type: "delegations", id, action: "revoke" }}>
        {delegation.status === "active" ? (
          <Button variant="default" onClick={() => onOpen("pause")}>
            {delegationWords.pause}
          </Button>
        ) : null}
        {delegation.delegator_id === subject.id ? (
          <Button variant="default" onClick={() => onOpen("all")}>
            {delegationWords.revokeAll(agentName)}
          </Button>
        ) : null}
        <Button color="red.9" onClick={() => onOpen("revoke")}>
          {delegationWords.revoke}
        </Button>
      </Gate>
    </>
  );
  // The dialogs keep their place: that the delegation has ended may be heard before the answer to who ended it.
  return (
    <>
      {isLive(delegation) ? buttons : null}
      {dialogs}
    </>
  );
};
