import { useQuery } from "@tanstack/react-query";
import type { ReactElement } from "react";
import { delegationHistory } from "#contract/delegations.ts";
import { useEndpoint } from "../../api/use-endpoint.ts";
import { delegationWords } from "../../strings/delegations.ts";
import { words } from "../../strings/en.ts";
import { formatCount, formatMoment } from "../../strings/format.ts";
import { Foreign } from "../../ui/foreign.tsx";
import { Panel } from "../../ui/panel.tsx";
import { QueryView } from "../../ui/query-view.tsx";
import { Rows } from "../../ui/rows.tsx";
import { changeOf } from "./change-of.ts";

/** Who changed it, when and why: the graph's own log. */
export const HistoryPanel = ({ id }: { readonly id: string }): ReactElement => {
  const query = useQuery(useEndpoint(delegationHistory).query({ params: { id } }));
  return (
    <Panel title={delegationWords.history}>
      <QueryView query={query} service="membership">
        {({ items, truncated }) =>
          items.length === 0 ? (
            <p className="sp-dim">{delegationWords.historyEmpty}</p>
          ) : (
            <>
              {truncated ? <p className="sp-dim">{delegationWords.historyCut}</p> : null}
              <Rows
                caption={delegationWords.history}
                rows={items}
                keyOf={(row) => String(row.version)}
                columns={[
                  { key: "version", title: delegationWords.version, isNumber: true, cell: (row) => formatCount(row.version) },
                  { key: "at", title: delegationWords.when, cell: (row) => <span className="sp-nowrap">{formatMoment(row.at)}</span> },
                  { key: "actor", title: delegationWords.who, cell: (row) => <Foreign text={row.actor} isCode /> },
                  { key: "reason", title: words.common.reason, wraps: true, cell: ({ reason }) => reason && <Foreign text={reason} /> },
                  {
                    key: "change",
                    title: delegationWords.change,
                    wraps: true,
                    cell: (row) => (
                      <ul className="sp-list sp-small">
                        {changeOf(row.before, row.after).map((line) => (
                          <li key={line}>
                            <Foreign text={line} />
                          </li>
                        ))}
                      </ul>
                    ),
                  },
                ]}
              />
            </>
          )
        }
      </QueryView>
    </Panel>
  );
};
