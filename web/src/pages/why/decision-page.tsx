import { useQuery } from "@tanstack/react-query";
import { getRouteApi, Link } from "@tanstack/react-router";
import type { ReactElement } from "react";
import type { DecisionRecord } from "#contract/decisions.ts";
import { useClient } from "../../api/client-context.ts";
import { decisionRecordQuery } from "../../api/decisions.ts";
import { useSession } from "../../session/session-context.ts";
import { useScreens } from "../../shell/use-screen.ts";
import { words } from "../../strings/en.ts";
import { formatMoment, visibleText } from "../../strings/format.ts";
import { whyWords } from "../../strings/why.ts";
import { Verdict } from "../../ui/chip.tsx";
import { CopyButton } from "../../ui/copy-button.tsx";
import { Page } from "../../ui/page.tsx";
import { Panel } from "../../ui/panel.tsx";
import { QueryView } from "../../ui/query-view.tsx";
import { AskAgainPanel } from "../requests/ask-again-panel.tsx";
import { AskSomebody } from "../../shell/ask-somebody.tsx";
import { ASK_PANEL, isAskedForHere } from "../requests/asked-for-here.ts";
import { ChainView } from "./chain-view.tsx";
import { ChecksPanel } from "./checks-panel.tsx";
import { DetailsPanel } from "./details-panel.tsx";
import { EdgesPanel } from "./edges-panel.tsx";
import { PoliciesPanel } from "./policies-panel.tsx";
import { RemedyPanel } from "./remedy-panel.tsx";
import { DecisionReplayPanel } from "./replay-panel.tsx";
import { shownVerdictOf } from "./verdict-of.ts";

const route = getRouteApi("/why/$decisionId");

/** The same question asked again at this moment, where the viewer may know. */
const Now = ({ record }: { readonly record: DecisionRecord }): ReactElement | null => {
  const { now } = record;
  if (now === undefined || (now.decision && record.decision)) return null;
  const reason = now.reason === undefined ? words.common.unknown : (words.reasons[now.reason] ?? now.reason);
  return (
    <p className="sp-dim">
      {now.decision ? whyWords.nowAllowed : record.decision ? whyWords.nowDeniedAfterAll(reason) : whyWords.nowDenied(reason)}
    </p>
  );
};

const Explained = ({ record }: { readonly record: DecisionRecord }): ReactElement => {
  const { subject } = useSession();
  const isCoarse = record.checks === undefined && record.edges === undefined;
  return (
    <div className="sp-stack">
      <section className="sp-panel" aria-label={whyWords.verdict}>
        <div className="sp-actions">
          <Verdict of={shownVerdictOf(record)} />
          <time dateTime={record.decided_at}>{formatMoment(record.decided_at)}</time>
        </div>
        <Now record={record} />
        {record.requestable ? <p className="sp-dim">{whyWords.requestable}</p> : null}
      </section>
      {isAskedForHere(record, subject.id) ? (
        <div id={ASK_PANEL}>
          <AskAgainPanel record={record} />
        </div>
      ) : null}
      {isCoarse ? (
        <Panel title={whyWords.coarseTitle}>
          <div className="sp-stack">
            <p>{whyWords.chainCoarse}</p>
            {record.decision || record.requestable ? null : (
              <AskSomebody what={visibleText(record.sentence)} decisionId={record.decision_id} />
            )}
          </div>
        </Panel>
      ) : (
        <>
          <ChainView record={record} />
          <div className="sp-columns">
            {record.decision ? null : <RemedyPanel record={record} />}
            <PoliciesPanel record={record} />
          </div>
          <DecisionReplayPanel record={record} />
          <ChecksPanel record={record} />
          <EdgesPanel record={record} />
        </>
      )}
      <DetailsPanel record={record} />
    </div>
  );
};

/** Why one decision fell as it did, as far as this person may know. */
export const DecisionPage = (): ReactElement => {
  const { decisionId } = route.useParams();
  const may = useScreens();
  const query = useQuery(decisionRecordQuery(useClient(), decisionId));
  return (
    <Page
      title={query.data === undefined ? whyWords.oneTitle : visibleText(query.data.sentence)}
      lead={<span className="sp-mono">{decisionId}</span>}
      actions={
        <>
          {may.why === "allowed" ? (
            <Link className="sp-link" to="/why">
              {whyWords.backToList}
            </Link>
          ) : null}
          <CopyButton label={words.common.copyLink} text={() => location.href} />
          {query.data === undefined ? null : (
            <CopyButton label={words.common.copyJson} text={() => JSON.stringify(query.data, undefined, 2)} />
          )}
        </>
      }
    >
      <QueryView query={query} service="pdp" rows={8}>
        {(record) => <Explained record={record} />}
      </QueryView>
    </Page>
  );
};
