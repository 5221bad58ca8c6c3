import { createRootRoute, createRoute, createRouter } from "@tanstack/react-router";
import type { ReactElement } from "react";
import { StepUpProvider } from "./session/step-up-dialog.tsx";
import { lazyPage } from "./shell/lazy-page.tsx";
import { NotFound, ScreenGate } from "./shell/screen-gate.tsx";
import { delegations, policies, requests, tools, why } from "./shell/screens.ts";
import { freeText, idText, nodeText, parseSearch, searchReader, stringifySearch } from "./shell/search.ts";
import { Shell } from "./shell/shell.tsx";
import { HomePage } from "./pages/home/home-page.tsx";
import { Waiting } from "./ui/query-view.tsx";

const Root = (): ReactElement => (
  <StepUpProvider>
    <Shell />
  </StepUpProvider>
);

const root = createRootRoute({ component: Root, notFoundComponent: NotFound });

const ToolList = lazyPage(async () => await import("./pages/tools/tool-list-page.tsx"), "ToolListPage");
const ToolPage = lazyPage(async () => await import("./pages/tools/tool-page.tsx"), "ToolPage");
const DelegationList = lazyPage(async () => await import("./pages/delegations/delegation-list-page.tsx"), "DelegationListPage");
const GrantPage = lazyPage(async () => await import("./pages/delegations/grant-page.tsx"), "GrantPage");
const DelegationPage = lazyPage(async () => await import("./pages/delegations/delegation-page.tsx"), "DelegationPage");
const DecisionList = lazyPage(async () => await import("./pages/why/decision-list-page.tsx"), "DecisionListPage");
const DecisionPage = lazyPage(async () => await import("./pages/why/decision-page.tsx"), "DecisionPage");
const RequestList = lazyPage(async () => await import("./pages/requests/request-list-page.tsx"), "RequestListPage");
const RequestPage = lazyPage(async () => await import("./pages/requests/request-page.tsx"), "RequestPage");
const PolicyList = lazyPage(async () => await import("./pages/policies/policy-list-page.tsx"), "PolicyListPage");
const PolicyPage = lazyPage(async () => await import("./pages/policies/policy-page.tsx"), "PolicyPage");
const VersionPage = lazyPage(async () => await import("./pages/policies/version-page.tsx"), "VersionPage");
const DraftPage = lazyPage(async () => await import("./pages/policies/draft-page.tsx"), "DraftPage");

const homeRoute = createRoute({ getParentRoute: () => root, path: "/", component: HomePage, validateSearch: searchReader({}) });

const toolsRoute = createRoute({
  getParentRoute: () => root,
  path: "/tools",
  validateSearch: searchReader({ q: freeText, provider: freeText, source: ["system", "workflow"], tag: freeText, explain: idText }),
  component: () => (
    <ScreenGate screen={tools}>
      <ToolList />
    </ScreenGate>
  ),
});

const toolRoute = createRoute({
  getParentRoute: () => root,
  path: "/tools/$name",
  validateSearch: searchReader({}),
  component: () => (
    <ScreenGate screen={tools}>
      <ToolPage />
    </ScreenGate>
  ),
});

const delegationsRoute = createRoute({
  getParentRoute: () => root,
  path: "/delegations",
  validateSearch: searchReader({
    whose: ["mine", "all"],
    status: ["active", "paused", "revoked", "expired", "any"],
    agent: nodeText,
    attention: ["true"],
  }),
  component: () => (
    <ScreenGate screen={delegations}>
      <DelegationList />
    </ScreenGate>
  ),
});

const grantRoute = createRoute({
  getParentRoute: () => root,
  path: "/delegations/new",
  validateSearch: searchReader({ step: ["agent", "tools", "limits", "check"], agent: nodeText, tool: idText }),
  component: () => (
    <ScreenGate screen={delegations}>
      <GrantPage />
    </ScreenGate>
  ),
});

const delegationRoute = createRoute({
  getParentRoute: () => root,
  path: "/delegations/$id",
  validateSearch: searchReader({}),
  component: () => (
    <ScreenGate screen={delegations}>
      <DelegationPage />
    </ScreenGate>
  ),
});

const whyRoute = createRoute({
  getParentRoute: () => root,
  path: "/why",
  validateSearch: searchReader({
    whose: ["mine", "all"],
    subject: idText,
    agent: idText,
    action: freeText,
    type: idText,
    verdict: ["denied", "allowed", "any"],
    asked: ["done", "shown", "any"],
    reason: idText,
    correlation: idText,
  }),
  component: () => (
    <ScreenGate screen={why}>
      <DecisionList />
    </ScreenGate>
  ),
});

/** One decision may be opened by anybody signed in: the server says how much of it they see. */
const decisionRoute = createRoute({
  getParentRoute: () => root,
  path: "/why/$decisionId",
  validateSearch: searchReader({}),
  component: DecisionPage,
});

const requestsRoute = createRoute({
  getParentRoute: () => root,
  path: "/requests",
  validateSearch: searchReader({
    as: ["requester", "approver"],
    status: ["pending", "approved", "denied", "expired", "cancelled", "failed"],
  }),
  component: () => (
    <ScreenGate screen={requests}>
      <RequestList />
    </ScreenGate>
  ),
});

/** Like a decision, one request may be opened by anybody signed in. */
const requestRoute = createRoute({
  getParentRoute: () => root,
  path: "/requests/$id",
  validateSearch: searchReader({}),
  component: RequestPage,
});

const policiesRoute = createRoute({
  getParentRoute: () => root,
  path: "/policies",
  validateSearch: searchReader({ q: freeText, status: ["active", "shadow", "draft"], act: ["rollback"] }),
  component: () => (
    <ScreenGate screen={policies}>
      <PolicyList />
    </ScreenGate>
  ),
});

const policyRoute = createRoute({
  getParentRoute: () => root,
  path: "/policies/$id",
  validateSearch: searchReader({ version: idText }),
  component: () => (
    <ScreenGate screen={policies}>
      <PolicyPage />
    </ScreenGate>
  ),
});

const versionRoute = createRoute({
  getParentRoute: () => root,
  path: "/policies/versions/$version",
  validateSearch: searchReader({ file: idText, replay: idText, act: ["shadow", "unshadow", "activate", "rollback", "delete"] }),
  component: () => (
    <ScreenGate screen={policies}>
      <VersionPage />
    </ScreenGate>
  ),
});

const draftRoute = createRoute({
  getParentRoute: () => root,
  path: "/policies/versions/new",
  validateSearch: searchReader({ from: idText, file: idText }),
  component: () => (
    <ScreenGate screen={policies}>
      <DraftPage />
    </ScreenGate>
  ),
});

export const router = createRouter({
  routeTree: root.addChildren([
    homeRoute,
    toolsRoute,
    toolRoute,
    delegationsRoute,
    grantRoute,
    delegationRoute,
    whyRoute,
    decisionRoute,
    requestsRoute,
    requestRoute,
    policiesRoute,
    policyRoute,
    draftRoute,
    versionRoute,
  ]),
  pathParamsAllowedCharacters: [":", "@", "+"],
  parseSearch,
  stringifySearch,
  defaultPendingComponent: () => <Waiting rows={6} />,
  defaultPreload: "intent",
  scrollRestoration: false,
});

declare module "@tanstack/react-router" {
  interface Register {
    router: typeof router;
  }
}
