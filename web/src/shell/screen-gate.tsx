import { Button } from "@mantine/core";
import { Link, useLocation } from "@tanstack/react-router";
import { useQueryClient } from "@tanstack/react-query";
import { useEffect, type ReactElement, type ReactNode } from "react";
import { AUTHZ } from "../decisions/use-can.ts";
import { words } from "../strings/en.ts";
import { Page } from "../ui/page.tsx";
import { Waiting } from "../ui/query-view.tsx";
import { forgetRefusal, refusedByGateway } from "./refused-page.ts";
import type { Screen } from "./screens.ts";
import { useScreenStanding } from "./use-screen.ts";

const HomeLink = (): ReactElement => (
  <Link className="sp-link" to="/">
    {words.gate.toHome}
  </Link>
);

/** Not there, or not for you: one page for both. */
export const NotFound = (): ReactElement => (
  <Page title={words.gate.notFound}>
    <div className="sp-state">
      <p>{words.gate.notFoundHint}</p>
      <HomeLink />
    </div>
  </Page>
);

/** A screen behind its question: waits while it is open, says so when the answer is no or cannot be had. */
export const ScreenGate = ({ screen, children }: { readonly screen: Screen; readonly children: ReactNode }): ReactElement => {
  const { state, decisionId: answered } = useScreenStanding(screen);
  const path = useLocation({ select: (location) => location.pathname });
  const queries = useQueryClient();
  useEffect(() => {
    if (state === "allowed") forgetRefusal(path);
  }, [state, path]);
  if (state === "allowed") return <>{children}</>;
  if (state === "pending") return <Waiting rows={6} />;
  if (state === "off") return <NotFound />;
  if (state === "unknown")
    return (
      <Page title={screen.label}>
        <div className="sp-state sp-failure" data-tone="quiet" role="alert">
          <p>{words.gate.pageUnknown}</p>
          <Button variant="default" onClick={() => void queries.invalidateQueries({ queryKey: [AUTHZ] })}>
            {words.common.retry}
          </Button>
        </div>
      </Page>
    );
  const decisionId = refusedByGateway(path) ?? answered;
  return (
    <Page title={screen.label}>
      <div className="sp-state sp-failure" role="alert">
        <strong>{words.gate.pageDenied}</strong>
        <p>{words.gate.pageDeniedHint}</p>
        {decisionId === undefined ? null : (
          <p>
            <Link className="sp-link" to="/why/$decisionId" params={{ decisionId }}>
              {words.gate.whyDenied}
            </Link>{" "}
            <span className="sp-mono sp-small sp-dim">{decisionId}</span>
          </p>
        )}
        <HomeLink />
      </div>
    </Page>
  );
};
