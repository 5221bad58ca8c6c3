import { Button } from "@mantine/core";
import { lazyRouteComponent, useLocation } from "@tanstack/react-router";
import { useQueryClient } from "@tanstack/react-query";
import { useEffect, type ReactElement, type ReactNode } from "react";
import { AUTHZ } from "../../decisions/use-can.ts";
import { words } from "../../strings/en.ts";
import { Page } from "../../ui/page.tsx";
import { Waiting } from "../../ui/query-view.tsx";
import { Late } from "../../ui/late.tsx";
import { HomeLink } from "./home-link.tsx";
import { forgetRefusal, refusedByGateway } from "../../shell/refused-page.ts";
import type { Screen } from "../../shell/screens.ts";
import { useScreenStanding } from "../../shell/use-screen.ts";

const DeniedScreen = lazyRouteComponent(async () => await import("./denied-screen.tsx"), "DeniedScreen");

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
  return (
    <Late>
      <DeniedScreen title={screen.label} decisionId={refusedByGateway(path) ?? answered} />
    </Late>
  );
};
