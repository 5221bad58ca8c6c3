import { Link } from "@tanstack/react-router";
import type { ReactElement } from "react";
import { useRequests } from "../../api/access-requests.ts";
import { formatRelative } from "../../strings/format.ts";
import { requestWords } from "../../strings/requests.ts";
import { Foreign } from "../../ui/foreign.tsx";
import { Panel } from "../../ui/panel.tsx";
import { QueryView } from "../../ui/query-view.tsx";

const MAX = 5;

/** Requests of others that wait for this person's answer. */
export const WaitingPanel = (): ReactElement => {
  const query = useRequests("approver", "pending");
  return (
    <Panel title={requestWords.waiting.title}>
      <QueryView query={query} service="pdp">
        {({ pages }) => {
          const rows = pages.flatMap((page) => page.requests);
          if (rows.length === 0) return <p className="sp-dim">{requestWords.emptyToAnswer}</p>;
          return (
            <div className="sp-stack">
              <ul className="sp-list">
                {rows.slice(0, MAX).map((task) => (
                  <li key={task.id} className="sp-list-row">
                    <Link className="sp-link" to="/requests/$id" params={{ id: task.id }}>
                      <Foreign text={task.display.title} />
                    </Link>
                    <Foreign text={task.subject.name ?? task.subject.id} />
                    <span className="sp-small sp-dim">{formatRelative(task.created_at, new Date())}</span>
                  </li>
                ))}
              </ul>
              {rows.length <= MAX ? null : (
                <Link className="sp-link" to="/requests" search={{ as: "approver", status: "pending" }}>
                  {requestWords.waiting.all}
                </Link>
              )}
            </div>
          );
        }}
      </QueryView>
    </Panel>
  );
};
