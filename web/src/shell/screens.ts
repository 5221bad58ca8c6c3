import type { Ask } from "../decisions/ask.ts";
import { words } from "../strings/en.ts";
import type { IconName } from "../ui/icon.tsx";

/** The screens that there are: shown while their module is on and their question is answered with yes. */
export interface Screen {
  readonly id: "home" | "tools" | "delegations" | "why" | "requests" | "policies";
  readonly path: "/" | "/tools" | "/delegations" | "/why" | "/requests" | "/policies";
  readonly label: string;
  readonly icon: IconName;
  /** Pressed after `g`. */
  readonly letter: string;
  readonly ask?: Ask;
  readonly module?: string;
}

const view = (type: string, id: string): Ask => ({ type, action: "view_all", key: `nav:${id}` });

export const home: Screen = { id: "home", path: "/", label: words.nav.home, icon: "home", letter: "h" };
export const tools: Screen = {
  id: "tools",
  path: "/tools",
  label: words.nav.tools,
  icon: "tool",
  letter: "t",
  ask: view("tools", "tools"),
};
export const delegations: Screen = {
  id: "delegations",
  path: "/delegations",
  label: words.nav.delegations,
  icon: "delegation",
  letter: "d",
  ask: view("delegations", "delegations"),
  module: "agents",
};
export const why: Screen = { id: "why", path: "/why", label: words.nav.why, icon: "why", letter: "w", ask: view("decisions", "why") };
/** Whoever has tasks may have requests to answer. */
export const requests: Screen = {
  id: "requests",
  path: "/requests",
  label: words.nav.requests,
  icon: "request",
  letter: "r",
  ask: view("tasks", "requests"),
};
export const policies: Screen = {
  id: "policies",
  path: "/policies",
  label: words.nav.policies,
  icon: "policy",
  letter: "p",
  ask: { type: "policies", action: "view", key: "nav:policies" },
  module: "pdp",
};

export const screens: readonly Screen[] = [home, tools, delegations, why, requests, policies];
