import { lazyRouteComponent } from "@tanstack/react-router";
import { useQuery } from "@tanstack/react-query";
import type { ReactElement } from "react";
import { getDecision } from "#contract/decisions.ts";
import { isAskedForHere } from "../requests/asked-for-here.ts";
import { useSession } from "../../session/session-context.ts";
import { words } from "../../strings/en.ts";
import { Foreign } from "../../ui/foreign.tsx";
import { DecisionLink } from "../../ui/links.tsx";
import { Page } from "../../ui/page.tsx";
import { AskSomebody } from "../../shell/ask-somebody.tsx";
import { Late } from "../../ui/late.tsx";
import { useEndpoint } from "../../api/use-endpoint.ts";
import { HomeLink } from "./home-link.tsx";

const AskAgainPanel = lazyRouteComponent(async () => await import("../requests/ask-again-panel.tsx"), "AskAgainPanel");

/** A screen that is not for this person: why, how to ask for it, who can open it, and the way back. */
export const DeniedScreen = ({ title, decisionId }: { readonly title: string; readonly decisionId: string | undefined }): ReactElement => {
  const { subject } = useSession();
  const query = useQuery({
    ...useEndpoint(getDecision).query({ params: { id: decisionId ?? "" }, query: {} }),
    staleTime: 60_000,
    enabled: decisionId !== undefined,
  });
  const record = query.data;
  const isAsked = record !== undefined && isAskedForHere(record, subject.id);
  return (
    <Page title={title}>
      <div className="sp-stack">
        <div className="sp-state sp-failure" role="alert">
          <strong>{words.gate.pageDenied}</strong>
          {record === undefined ? null : (
            <p>
              <Foreign text={record.sentence} />
            </p>
          )}
          {isAsked ? null : <AskSomebody what={title} decisionId={decisionId} />}
          {decisionId === undefined ? null : (
            <p>
              <DecisionLink id={decisionId}>{words.gate.whyDenied}</DecisionLink>{" "}
              <span className="sp-mono sp-small sp-dim">{decisionId}</span>
            </p>
          )}
          <HomeLink />
        </div>
        {isAsked ? (
          <Late>
            <AskAgainPanel record={record} />
          </Late>
        ) : null}
      </div>
    </Page>
  );
};
