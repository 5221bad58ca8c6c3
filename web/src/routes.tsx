import { createRootRoute, createRoute, createRouter, type RouteComponent } from "@tanstack/react-router";
import type { ReactElement } from "react";
import { decisionSorts } from "#contract/decisions.ts";
import { pages, type PagePath } from "#contract/screens.ts";
import { StepUpProvider } from "./session/step-up-provider.tsx";
import { lazyPage } from "./shell/lazy-page.tsx";
import { NotFound, ScreenGate } from "./shell/screen-gate.tsx";
import { screens, type Screen } from "./shell/screens.ts";
import { freeText, idText, nodeText, parseSearch, searchReader, stringifySearch, uriText, type Allowed } from "./shell/search.ts";
import { Shell } from "./shell/shell.tsx";
import { HomePage } from "./pages/home/home-page.tsx";
import { momentText, spans } from "./pages/why/search-values.ts";
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
const SystemList = lazyPage(async () => await import("./pages/systems/system-list-page.tsx"), "SystemListPage");
const NewSystem = lazyPage(async () => await import("./pages/systems/new-system-page.tsx"), "NewSystemPage");
const DefinitionList = lazyPage(async () => await import("./pages/definitions/definition-list-page.tsx"), "DefinitionListPage");
const SystemPage = lazyPage(async () => await import("./pages/systems/system-page.tsx"), "SystemPage");
const ImportPage = lazyPage(async () => await import("./pages/imports/import-page.tsx"), "ImportPage");
const PolicyList = lazyPage(async () => await import("./pages/policies/policy-list-page.tsx"), "PolicyListPage");
const PolicyPage = lazyPage(async () => await import("./pages/policies/policy-page.tsx"), "PolicyPage");
const VersionPage = lazyPage(async () => await import("./pages/policies/version-page.tsx"), "VersionPage");
const DraftPage = lazyPage(async () => await import("./pages/policies/draft-page.tsx"), "DraftPage");

const SecretList = lazyPage(async () => await import("./pages/secrets/secret-list-page.tsx"), "SecretListPage");
const SecretPage = lazyPage(async () => await import("./pages/secrets/secret-page.tsx"), "SecretPage");

/** A page's path as the router writes it. */
type RouterPath<Path extends string> = Path extends `${infer Before}{${infer Name}}${infer After}`
  ? `${Before}$${Name}${RouterPath<After>}`
  : Path;

const gatedBy = (screen: Screen, Content: RouteComponent) => (): ReactElement => (
  <ScreenGate screen={screen}>
    <Content />
  </ScreenGate>
);

/** A page of the list, behind the gate of its screen where it has one, with what may be asked of it in its address. */
const page = <Path extends PagePath, Name extends string = never>(
  path: Path,
  Component: RouteComponent,
  allowed: Readonly<Record<Name, Allowed>>,
) => {
  const screen = pages[path];
  return createRoute({
    getParentRoute: () => root,
    path: path.replaceAll(/\{(\w+)\}/g, "$$$1") as RouterPath<Path>,
    component: screen === undefined ? Component : gatedBy(screens[screen], Component),
    validateSearch: searchReader(allowed),
  });
};

export const router = createRouter({
  routeTree: root.addChildren([
    page("/", HomePage, {}),
    page("/tools", ToolList, {
      q: freeText,
      provider: freeText,
      source: ["system", "workflow"],
      tag: freeText,
      explain: idText,
    }),
    page("/tools/{name}", ToolPage, {}),
    page("/delegations", DelegationList, {
      whose: ["mine", "all"],
      status: ["active", "paused", "revoked", "expired", "any"],
      agent: nodeText,
      attention: ["true"],
    }),
    page("/delegations/new", GrantPage, { step: ["agent", "tools", "limits", "check"], agent: nodeText, tool: idText }),
    page("/delegations/{id}", DelegationPage, {}),
    page("/why", DecisionList, {
      whose: ["mine", "all"],
      subject: freeText,
      agent: freeText,
      action: freeText,
      type: freeText,
      resource: freeText,
      verdict: ["denied", "allowed", "any"],
      asked: ["done", "shown", "any"],
      reason: idText,
      correlation: idText,
      span: spans,
      from: momentText,
      to: momentText,
      sort: decisionSorts,
      order: ["asc", "desc"],
      live: ["off"],
    }),
    page("/why/{decisionId}", DecisionPage, {}),
    page("/requests", RequestList, {
      as: ["requester", "approver"],
      status: ["pending", "approved", "denied", "expired", "cancelled", "failed"],
    }),
    page("/requests/{id}", RequestPage, {}),
    page("/secrets", SecretList, { q: freeText, under: uriText, act: ["write"] }),
    page("/secrets/one", SecretPage, {
      uri: uriText,
      key: /^\P{Cc}{1,256}$/u,
      version: /^[1-9][0-9]{0,9}$/,
      act: ["write", "rotate", "remove", "copy", "move", "delete", "destroy", "restore"],
    }),
    page("/systems", SystemList, { q: freeText, state: ["serving", "degraded", "off", "switched_off", "deleted"] }),
    page("/systems/new", NewSystem, {}),
    page("/systems/import", ImportPage, {
      step: ["document", "pick", "connect", "check"],
      system: idText,
      q: freeText,
      tag: freeText,
    }),
    page("/systems/{name}", SystemPage, {
      version: /^[1-9][0-9]{0,8}$/,
      tool: idText,
      act: ["delete", "rollback", "publish"],
    }),
    page("/definitions", DefinitionList, { state: ["proposed", "approved", "drifted", "rejected"], tool: idText }),
    page("/policies", PolicyList, { q: freeText, status: ["active", "shadow", "draft"], act: ["rollback"] }),
    page("/policies/{id}", PolicyPage, { version: idText }),
    page("/policies/versions/new", DraftPage, { from: idText, file: idText }),
    page("/policies/versions/{version}", VersionPage, {
      file: idText,
      replay: idText,
      act: ["shadow", "unshadow", "activate", "rollback", "delete"],
    }),
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

/** Every page of the list has its route. */
true satisfies [Exclude<RouterPath<PagePath>, keyof (typeof router)["routesByPath"]>] extends [never] ? true : never;
