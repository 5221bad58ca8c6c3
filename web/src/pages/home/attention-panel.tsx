import { useQuery } from "@tanstack/react-query";
import { Link } from "@tanstack/react-router";
import type { ReactElement } from "react";
import { listDelegations } from "#contract/delegations.ts";
import { useEndpoint } from "../../api/use-endpoint.ts";
import { useSession } from "../../session/session-context.ts";
import { words } from "../../strings/en.ts";
import { formatRelative, visibleText } from "../../strings/format.ts";
import { DelegationMeters } from "../../ui/delegation-meters.tsx";
import { Panel } from "../../ui/panel.tsx";
import { QueryView } from "../../ui/query-view.tsx";
import { StatusChip } from "../../ui/status-chip.tsx";

/** My delegations that are nearly used up or about to end. */
export const AttentionPanel = (): ReactElement => {
  const { subject } = useSession();
  const query = useQuery(useEndpoint(listDelegations).query({ query: { user_id: subject.id, status: "active", attention: "true" } }));
  return (
    <Panel title={words.home.attentionTitle}>
      <QueryView query={query} service="membership">
        {({ items }) =>
          items.length === 0 ? (
            <p className="sp-dim">{words.home.attentionEmpty}</p>
          ) : (
            <>
              <p className="sp-dim sp-small">{words.home.attentionWhy}</p>
              <ul className="sp-list">
                {items.slice(0, 5).map((delegation) => (
                  <li key={delegation.delegation_id}>
                    <div className="sp-list-row">
                      <Link className="sp-link" to="/delegations/$id" params={{ id: delegation.delegation_id }}>
                        {visibleText(delegation.agent_name ?? delegation.agent_id)}
                      </Link>
                      <StatusChip delegation={delegation} />
                      {delegation.expires_at === null ? null : (
                        <span className="sp-small sp-dim">{formatRelative(delegation.expires_at, new Date())}</span>
                      )}
                    </div>
                    <DelegationMeters delegation={delegation} />
                  </li>
                ))}
              </ul>
            </>
          )
        }
      </QueryView>
    </Panel>
  );
};
