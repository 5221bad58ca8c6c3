import { useQuery } from "@tanstack/react-query";
import type { ReactElement } from "react";
import { delegationUsage } from "#contract/delegations.ts";
import { useEndpoint } from "../../api/use-endpoint.ts";
import { delegationWords } from "../../strings/delegations.ts";
import { words } from "../../strings/en.ts";
import { formatCount, formatMoney, formatRelative } from "../../strings/format.ts";
import { Foreign } from "../../ui/foreign.tsx";
import { Panel } from "../../ui/panel.tsx";
import { QueryView } from "../../ui/query-view.tsx";
import { Rows } from "../../ui/rows.tsx";

/** What was called under it, and what runs now. */
export const UsagePanel = ({ id }: { readonly id: string }): ReactElement => {
  const query = useQuery(useEndpoint(delegationUsage).query({ params: { id }, query: {} }));
  return (
    <Panel title={delegationWords.usage}>
      <QueryView query={query} service="membership">
        {(usage) => (
          <div className="sp-stack">
            {usage.by_tool.length === 0 ? (
              <p className="sp-dim">{delegationWords.usageEmpty}</p>
            ) : (
              <Rows
                caption={delegationWords.usage}
                rows={usage.by_tool}
                keyOf={(row) => row.tool_id}
                columns={[
                  { key: "tool", title: delegationWords.tool, cell: (row) => <Foreign text={row.tool_id} isCode /> },
                  { key: "calls", title: delegationWords.calls, isNumber: true, cell: (row) => formatCount(row.calls) },
                  { key: "steps", title: words.meters.steps, isNumber: true, cell: (row) => formatCount(row.steps) },
                  { key: "usd", title: words.meters.money, isNumber: true, cell: (row) => formatMoney(row.usd) },
                ]}
              />
            )}
            <h3>{delegationWords.running}</h3>
            {usage.open.length === 0 ? (
              <p className="sp-dim">{delegationWords.runningNone}</p>
            ) : (
              <ul className="sp-list">
                {usage.open.map((open) => (
                  <li key={open.reservation_id} className="sp-list-row">
                    <Foreign text={open.tool_id} isCode />
                    <span className="sp-small sp-dim">
                      {words.common.facts(formatRelative(open.created_at, new Date()), `${formatMoney(open.usd)} ${delegationWords.held}`)}
                    </span>
                  </li>
                ))}
              </ul>
            )}
          </div>
        )}
      </QueryView>
    </Panel>
  );
};
