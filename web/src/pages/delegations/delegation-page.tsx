import { useQuery } from "@tanstack/react-query";
import { getRouteApi } from "@tanstack/react-router";
import { useState, type ReactElement } from "react";
import { getDelegation, type Delegation } from "#contract/delegations.ts";
import { useClient } from "../../api/client-context.ts";
import { delegationWords } from "../../strings/delegations.ts";
import { words } from "../../strings/en.ts";
import { visibleText } from "../../strings/format.ts";
import { CopyButton } from "../../ui/copy-button.tsx";
import { DelegationMeters } from "../../ui/delegation-meters.tsx";
import { Icon } from "../../ui/icon.tsx";
import { Page } from "../../ui/page.tsx";
import { Panel } from "../../ui/panel.tsx";
import { QueryView } from "../../ui/query-view.tsx";
import { StatusChip } from "../../ui/status-chip.tsx";
import { CapabilitiesPanel } from "./capabilities-panel.tsx";
import { DelegationActs, openAct, type ReadDelegation } from "./delegation-acts.tsx";
import { DelegationFacts } from "./delegation-facts.tsx";
import { HistoryPanel } from "./history-panel.tsx";
import { UsagePanel } from "./usage-panel.tsx";

const leadOf = (delegation: Delegation): string =>
  delegationWords.fromTo(
    visibleText(delegation.delegator_name ?? delegation.delegator_id),
    visibleText(delegation.agent_name ?? delegation.agent_id),
  );

const route = getRouteApi("/delegations/$id");

const useDelegation = (id: string) => {
  const client = useClient();
  return useQuery({
    queryKey: ["delegations", "one", id],
    queryFn: async ({ signal }): Promise<ReadDelegation> => {
      const answered = await client.askAnswer(getDelegation, { params: { id }, signal });
      return { delegation: answered.value, etag: answered.headers.get("etag") ?? undefined, readAt: new Date() };
    },
    structuralSharing: false,
  });
};

/** One delegation: its meters live, what it covers, what was called under it, who changed it, and how to stop it. */
export const DelegationPage = (): ReactElement => {
  const { id } = route.useParams();
  const { act } = route.useSearch();
  const navigate = route.useNavigate();
  const query = useDelegation(id);
  const [fact, setFact] = useState<string>();
  return (
    <Page
      title={query.data === undefined ? delegationWords.oneTitle : visibleText(query.data.delegation.purpose)}
      lead={query.data === undefined ? undefined : leadOf(query.data.delegation)}
      actions={
        <>
          {query.data === undefined ? null : (
            <DelegationActs
              read={query.data}
              open={openAct(act)}
              onOpen={(next) => void navigate({ search: { act: next }, replace: true })}
              onFact={setFact}
            />
          )}
          <CopyButton label={words.common.copyLink} text={() => location.href} />
        </>
      }
    >
      <div role="status">
        {fact === undefined ? null : (
          <div className="sp-notice" data-tone="allow">
            <Icon name="check" />
            {fact}
          </div>
        )}
      </div>
      <QueryView query={query} service="membership" rows={6}>
        {({ delegation, readAt }) => (
          <div className="sp-stack">
            <div className="sp-columns">
              <Panel title={delegationWords.oneTitle} aside={<StatusChip delegation={delegation} />}>
                <DelegationFacts delegation={delegation} />
              </Panel>
              <Panel title={`${words.meters.steps}, ${words.meters.money}`}>
                <div className="sp-stack">
                  <DelegationMeters delegation={delegation} readAt={readAt} />
                </div>
              </Panel>
              <CapabilitiesPanel delegation={delegation} />
            </div>
            <UsagePanel id={id} />
            <HistoryPanel id={id} />
          </div>
        )}
      </QueryView>
    </Page>
  );
};
