import { useQuery } from "@tanstack/react-query";
import type { ReactElement } from "react";
import { listDelegations, revokeDelegation, revokeMany, type Delegation } from "#contract/delegations.ts";
import { useEndpoint } from "../../api/use-endpoint.ts";
import { useSession } from "../../session/session-context.ts";
import { delegationWords } from "../../strings/delegations.ts";
import { formatCount, formatMoment, visibleText } from "../../strings/format.ts";
import { DialogWithReason, type ReasonedActProps } from "../../ui/dialog-with-reason.tsx";
import { Foreign } from "../../ui/foreign.tsx";
import { Panel } from "../../ui/panel.tsx";
import { QueryView } from "../../ui/query-view.tsx";
import { StatusChip } from "../../ui/status-chip.tsx";
import { isLive } from "./facts.ts";
import { ImpactView, useIsImpactRead } from "./impact-view.tsx";

const text = delegationWords;
const asked = { label: text.reasonLabel, hint: text.reasonHint, issue: text.reasonIssue, least: 3, max: 200 };

/** An act on a delegation. */
export const ReasonedDialog = <T,>(props: ReasonedActProps<T>): ReactElement => (
  <DialogWithReason {...props} asked={asked} rereads="delegations" />
);

interface DialogProps {
  /** Told with the server's fact, to be shown where the person is. */
  readonly onDone: (fact: string) => void;
  readonly onClose: () => void;
}

export const RevokeDialog = ({
  delegation: { delegation_id: id, purpose },
  onPause,
  onDone,
  onClose,
}: DialogProps & { readonly delegation: Delegation; readonly onPause: (() => void) | undefined }): ReactElement => {
  const revoke = useEndpoint(revokeDelegation);
  return (
    <ReasonedDialog
      title={text.revokeTitle(visibleText(purpose))}
      sentence={text.revokeSentence}
      verb={text.revoke}
      isDangerous
      isReady={useIsImpactRead(id)}
      instead={onPause && { verb: text.pauseInstead, go: onPause }}
      act={async (reason) => await revoke.ask({ params: { id }, body: { reason } })}
      onDone={(done) => onDone(text.revokedFact(formatMoment(done.ended_at ?? new Date().toISOString()), formatCount(done.graph_version)))}
      onClose={onClose}
    >
      <ImpactView id={id} />
    </ReasonedDialog>
  );
};

const Held = ({ delegation }: { readonly delegation: Delegation }): ReactElement => (
  <Panel title={visibleText(delegation.purpose)} aside={<StatusChip delegation={delegation} />}>
    <p className="sp-dim sp-small">
      <Foreign text={delegation.delegation_id} isCode />
    </p>
    <ImpactView id={delegation.delegation_id} covers={{ tools: delegation.capabilities }} />
  </Panel>
);

/** Ends everything that one agent holds from the signed-in person, in one step. */
export const RevokeAllDialog = ({
  agentId,
  agentName,
  onDone,
  onClose,
}: DialogProps & { readonly agentId: string; readonly agentName: string }): ReactElement => {
  const revoke = useEndpoint(revokeMany);
  const { subject } = useSession();
  const query = useQuery({ ...useEndpoint(listDelegations).query({ query: { user_id: subject.id, agent_id: agentId } }), staleTime: 0 });
  const live = query.data?.items.filter(isLive) ?? [];
  return (
    <ReasonedDialog
      title={text.manyTitle(agentName)}
      sentence={text.manySentence}
      verb={text.revoke}
      isDangerous
      isReady={query.isSuccess && live.length > 0}
      act={async (reason) => await revoke.ask({ body: { agent_id: agentId, delegator_id: subject.id, mode: "revoke", reason } })}
      onDone={(done) => onDone(text.manyFact(done.delegations.length, formatCount(done.graph_version)))}
      onClose={onClose}
    >
      <QueryView query={query} service="membership">
        {() =>
          live.length === 0 ? (
            <p className="sp-dim">{text.manyNone}</p>
          ) : (
            <div className="sp-stack">
              {live.map((delegation) => (
                <Held key={delegation.delegation_id} delegation={delegation} />
              ))}
              <p>{text.manyAfter(agentName)}</p>
            </div>
          )
        }
      </QueryView>
    </ReasonedDialog>
  );
};
