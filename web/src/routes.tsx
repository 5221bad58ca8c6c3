import { createRootRoute, createRoute, createRouter, type RouteComponent } from "@tanstack/react-router";
import type { ComponentType, ReactElement } from "react";
import { pages, type PagePath, type PageRow } from "#contract/screens.ts";
import { StepUpProvider } from "./ui/step-up-provider.tsx";
import { lazyPage } from "./shell/lazy-page.tsx";
import { NotFound, ScreenGate } from "./pages/denied/screen-gate.tsx";
import { screens, type Screen } from "./shell/screens.ts";
import { parseSearch, searchReader, stringifySearch } from "./shell/search.ts";
import { Shell } from "./shell/shell.tsx";
import { HomePage } from "./pages/home/home-page.tsx";
import { Waiting } from "./ui/query-view.tsx";

const Root = (): ReactElement => (
  <StepUpProvider>
    <Shell />
  </StepUpProvider>
);

const root = createRootRoute({ component: Root, notFoundComponent: NotFound });

const files = import.meta.glob<Readonly<Record<string, ComponentType>>>(["./pages/*/*-page.tsx", "!./pages/home/*"]);

/** The component of a page's module, which is loaded when it is opened: `tools/tool-list-page` exports `ToolListPage`. */
const lazyFile = (file: string): RouteComponent => {
  const name = file.replaceAll(/(?:^.*\/|-)(\w)/g, (_match, first: string) => first.toUpperCase());
  return lazyPage(async () => (await files[`./pages/${file}.tsx`]?.()) ?? {}, name);
};

/** A page's path as the router writes it. */
type RouterPath<Path extends string> = Path extends `${infer Before}{${infer Name}}${infer After}`
  ? `${Before}$${Name}${RouterPath<After>}`
  : Path;

const gatedBy = (screen: Screen, Content: RouteComponent) => (): ReactElement => (
  <ScreenGate screen={screen}>
    <Content />
  </ScreenGate>
);

type SearchName<Path extends PagePath> = (typeof pages)[Path] extends { readonly search: infer Search }
  ? Extract<keyof Search, string>
  : never;

/** A page of the list, behind the gate of its screen where it has one, with what may be asked of it in its address. */
const page = <Path extends PagePath>(path: Path) => {
  const { file, screen, search = {} }: PageRow = pages[path];
  // What is opened first is part of what is loaded first.
  const Content = path === "/" ? HomePage : lazyFile(file);
  return createRoute({
    getParentRoute: () => root,
    path: path.replaceAll(/\{(\w+)\}/g, "$$$1") as RouterPath<Path>,
    component: screen === undefined ? Content : gatedBy(screens[screen], Content),
    validateSearch: searchReader<SearchName<Path>>(search),
  });
};

type PageRoutes = { readonly [Path in PagePath]: ReturnType<typeof page<Path>> };

const paths = Object.keys(pages) as PagePath[];

export const router = createRouter({
  routeTree: root.addChildren(Object.fromEntries(paths.map((path) => [path, page(path)])) as unknown as PageRoutes),
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
