import { useQuery } from "@tanstack/react-query";
import type { ReactElement } from "react";
import { delegationUsage } from "#contract/delegations.ts";
import { useEndpoint } from "../../api/use-endpoint.ts";
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
    <Panel title={words.delegations.usage}>
      <QueryView query={query} service="membership">
        {(usage) => (
          <div className="sp-stack">
            {usage.by_tool.length === 0 ? (
              <p className="sp-dim">{words.delegations.usageEmpty}</p>
            ) : (
              <Rows
                caption={words.delegations.usage}
                rows={usage.by_tool}
                keyOf={(row) => row.tool_id}
                columns={[
                  { key: "tool", title: words.delegations.tool, cell: (row) => <Foreign text={row.tool_id} isCode /> },
                  { key: "calls", title: words.delegations.calls, isNumber: true, cell: (row) => formatCount(row.calls) },
                  { key: "steps", title: words.delegations.steps, isNumber: true, cell: (row) => formatCount(row.steps) },
                  { key: "usd", title: words.delegations.money, isNumber: true, cell: (row) => formatMoney(row.usd) },
                ]}
              />
            )}
            <h3>{words.delegations.running}</h3>
            {usage.open.length === 0 ? (
              <p className="sp-dim">{words.delegations.runningNone}</p>
            ) : (
              <ul className="sp-list">
                {usage.open.map((open) => (
                  <li key={open.reservation_id} className="sp-list-row">
                    <Foreign text={open.tool_id} isCode />
                    <span className="sp-small sp-dim">
                      {words.common.facts(
                        formatRelative(open.created_at, new Date()),
                        `${formatMoney(open.usd)} ${words.delegations.held}`,
                      )}
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
