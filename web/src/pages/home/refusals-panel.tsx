import { useQuery } from "@tanstack/react-query";
import type { ReactElement } from "react";
import { listDecisions } from "#contract/decisions.ts";
import { useEndpoint } from "../../api/use-endpoint.ts";
import { useSession } from "../../session/session-context.ts";
import { words } from "../../strings/en.ts";
import { formatMoment, formatRelative, visibleText } from "../../strings/format.ts";
import { DecisionLink } from "../../ui/links.tsx";
import { Panel } from "../../ui/panel.tsx";
import { QueryView } from "../../ui/query-view.tsx";
import { useClock } from "../../ui/timers.ts";

/** Tool calls of mine and of my agents that were refused, newest first, each with its explanation. */
export const RefusalsPanel = (): ReactElement => {
  const { subject } = useSession();
  const now = useClock(30_000);
  const query = useQuery(
    useEndpoint(listDecisions).query({ query: { subject: subject.id, action: "tools/call", decision: "false", limit: 5 } }),
  );
  return (
    <Panel title={words.home.refusalsTitle}>
      <QueryView query={query} service="pdp">
        {({ decisions }) =>
          decisions.length === 0 ? (
            <p className="sp-dim">{words.home.refusalsEmpty}</p>
          ) : (
            <ul className="sp-list">
              {decisions.map((decision) => (
                <li key={decision.decision_id}>
                  <DecisionLink id={decision.decision_id}>{visibleText(decision.sentence)}</DecisionLink>
                  <div className="sp-small sp-dim">
                    <time dateTime={decision.decided_at} title={formatMoment(decision.decided_at)}>
                      {words.common.facts(
                        formatRelative(decision.decided_at, now),
                        decision.reason === undefined ? "" : (words.reasons[decision.reason] ?? visibleText(decision.reason)),
                      )}
                    </time>
                  </div>
                </li>
              ))}
            </ul>
          )
        }
      </QueryView>
    </Panel>
  );
};
