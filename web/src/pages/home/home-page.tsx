import { lazyRouteComponent } from "@tanstack/react-router";
import { type ReactElement } from "react";
import { useSession } from "../../session/session-context.ts";
import { useScreens } from "../../shell/use-screen.ts";
import { words } from "../../strings/en.ts";
import { visibleText } from "../../strings/format.ts";
import { Page } from "../../ui/page.tsx";
import { AttentionPanel } from "./attention-panel.tsx";
import { NextPanel } from "./next-panel.tsx";
import { RefusalsPanel } from "./refusals-panel.tsx";
import { WhoPanel } from "./who-panel.tsx";
import { Late } from "../../ui/late.tsx";

const WaitingPanel = lazyRouteComponent(async () => await import("../requests/waiting-panel.tsx"), "WaitingPanel");

/** Where everybody arrives: who I am, what needs a look, what was refused, what I can do next. */
export const HomePage = (): ReactElement => {
  const { subject } = useSession();
  const may = useScreens();
  return (
    <Page title={words.home.title(visibleText(subject.name))}>
      <div className="sp-columns">
        <WhoPanel />
        {may.requests === "allowed" ? (
          <Late>
            <WaitingPanel />
          </Late>
        ) : null}
        {may.delegations === "allowed" ? <AttentionPanel /> : null}
        {may.tools === "allowed" || may.delegations === "allowed" ? <RefusalsPanel /> : null}
        <NextPanel />
      </div>
    </Page>
  );
};
