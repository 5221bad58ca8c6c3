import { useQuery } from "@tanstack/react-query";
import type { ReactElement } from "react";
import type { Delegation } from "#contract/delegations.ts";
import { useClient } from "../../api/client-context.ts";
import { delegationListQuery, pause, resume, revoke, revokeAllOf } from "../../api/delegations.ts";
import { useSession } from "../../session/session-context.ts";
import { words } from "../../strings/en.ts";
import { formatCount, formatMoment, visibleText } from "../../strings/format.ts";
import { Foreign } from "../../ui/foreign.tsx";
import { Panel } from "../../ui/panel.tsx";
import { QueryView } from "../../ui/query-view.tsx";
import { StatusChip } from "../../ui/status-chip.tsx";
import { isLive } from "./facts.ts";
import { ImpactView, useIsImpactRead } from "./impact-view.tsx";
import { ReasonedActDialog } from "./reasoned-act-dialog.tsx";

export interface DialogProps {
  /** Told with the server's fact, to be shown where the person is. */
  readonly onDone: (fact: string) => void;
  readonly onClose: () => void;
}

export const RevokeDialog = ({ id, onDone, onClose }: DialogProps & { readonly id: string }): ReactElement => {
  const client = useClient();
  return (
    <ReasonedActDialog
      title={words.delegations.revokeTitle}
      sentence={words.delegations.revokeSentence}
      verb={words.delegations.revoke}
      isDangerous
      isReady={useIsImpactRead(id)}
      act={async (reason) => await revoke(client, id, reason)}
      onDone={(done) =>
        onDone(words.delegations.revokedFact(formatMoment(done.ended_at ?? new Date().toISOString()), formatCount(done.graph_version)))
      }
      onClose={onClose}
    >
      <ImpactView id={id} />
    </ReasonedActDialog>
  );
};

export const PauseDialog = ({ id, onDone, onClose }: DialogProps & { readonly id: string }): ReactElement => {
  const client = useClient();
  return (
    <ReasonedActDialog
      title={words.delegations.pauseTitle}
      sentence={words.delegations.pauseSentence}
      verb={words.delegations.pause}
      act={async (reason) => await pause(client, id, reason)}
      onDone={() => onDone(words.delegations.pausedFact)}
      onClose={onClose}
    />
  );
};

export const ResumeDialog = ({
  id,
  etag,
  onDone,
  onClose,
}: DialogProps & { readonly id: string; readonly etag: string | undefined }): ReactElement => {
  const client = useClient();
  return (
    <ReasonedActDialog
      title={words.delegations.resumeTitle}
      sentence={words.delegations.resumeSentence}
      verb={words.delegations.resume}
      act={async (reason) => await resume(client, id, reason, etag)}
      onDone={() => onDone(words.delegations.resumedFact)}
      onClose={onClose}
    />
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
  const client = useClient();
  const { subject } = useSession();
  const query = useQuery({ ...delegationListQuery(client, { user_id: subject.id, agent_id: agentId }), staleTime: 0 });
  const live = query.data?.items.filter(isLive) ?? [];
  return (
    <ReasonedActDialog
      title={words.delegations.manyTitle(agentName)}
      sentence={words.delegations.manySentence}
      verb={words.delegations.revoke}
      isDangerous
      isReady={query.isSuccess && live.length > 0}
      act={async (reason) => await revokeAllOf(client, agentId, subject.id, reason)}
      onDone={(done) => onDone(words.delegations.manyFact(done.delegations.length, formatCount(done.graph_version)))}
      onClose={onClose}
    >
      <QueryView query={query} service="membership">
        {() =>
          live.length === 0 ? (
            <p className="sp-dim">{words.delegations.manyNone}</p>
          ) : (
            <div className="sp-stack">
              {live.map((delegation) => (
                <Held key={delegation.delegation_id} delegation={delegation} />
              ))}
              <p>{words.delegations.manyAfter(agentName)}</p>
            </div>
          )
        }
      </QueryView>
    </ReasonedActDialog>
  );
};
