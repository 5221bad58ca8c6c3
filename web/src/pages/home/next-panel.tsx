import { Link } from "@tanstack/react-router";
import type { ReactElement } from "react";
import { AskSomebody } from "../../shell/ask-somebody.tsx";
import { useScreens } from "../../shell/use-screen.ts";
import { words } from "../../strings/en.ts";
import { Panel } from "../../ui/panel.tsx";

const steps = [
  { screen: "tools", to: "/tools", title: words.home.nextTools, hint: words.home.nextToolsHint },
  { screen: "delegations", to: "/delegations/new", title: words.home.nextGrant, hint: words.home.nextGrantHint },
  { screen: "delegations", to: "/delegations", title: words.home.nextDelegations, hint: words.home.nextDelegationsHint },
  { screen: "requests", to: "/requests", title: words.home.nextRequests, hint: words.home.nextRequestsHint },
  { screen: "why", to: "/why", title: words.home.nextWhy, hint: words.home.nextWhyHint },
] as const;

/** The next steps that are open to this person; if none is, whom to ask. */
export const NextPanel = (): ReactElement | null => {
  const may = useScreens();
  const states = [may.tools, may.delegations, may.why, may.requests, may.policies];
  const open = steps.filter((step) => may[step.screen] === "allowed");
  if (open.length > 0)
    return (
      <Panel title={words.home.nextTitle}>
        <ul className="sp-list">
          {open.map((step) => (
            <li key={step.to}>
              <Link className="sp-link" to={step.to}>
                {step.title}
              </Link>
              <div className="sp-small sp-dim">{step.hint}</div>
            </li>
          ))}
        </ul>
      </Panel>
    );
  // Only a clear no for everything says that nothing is granted; an answer that is missing does not.
  if (!states.every((state) => state === "denied" || state === "off")) return null;
  return (
    <Panel title={words.home.nothingTitle}>
      <div className="sp-stack">
        <p>{words.home.nothingSentence}</p>
        <AskSomebody what={words.product} />
      </div>
    </Panel>
  );
};
