import { screenGates, type PageGate, type ScreenId } from "#contract/screens.ts";
import type { Ask } from "../decisions/ask.ts";
import { words } from "../strings/en.ts";
import type { IconName } from "../ui/icon.tsx";

/** A screen as the client shows it: while its module is on and its question is answered with yes. */
export interface Screen {
  readonly id: ScreenId;
  readonly path: (typeof screenGates)[ScreenId]["path"];
  readonly label: string;
  readonly icon: IconName;
  /** Pressed after `g`. */
  readonly letter: string;
  readonly ask: Ask | undefined;
  readonly module: PageGate["module"];
}

const screen = (id: ScreenId, icon: IconName, letter: string): Screen => {
  const { path } = screenGates[id];
  const { pair, module }: PageGate = screenGates[id];
  return { id, path, label: words.nav[id], icon, letter, ask: pair && { ...pair, key: `nav:${id}` }, module };
};

export const screens: Readonly<Record<ScreenId, Screen>> = {
  home: screen("home", "home", "h"),
  tools: screen("tools", "tool", "t"),
  delegations: screen("delegations", "delegation", "d"),
  why: screen("why", "why", "w"),
  requests: screen("requests", "request", "r"),
  secrets: screen("secrets", "lock", "s"),
  systems: screen("systems", "system", "y"),
  policies: screen("policies", "policy", "p"),
};

/** In the order of the navigation. */
export const screenList: readonly Screen[] = Object.values(screens);
