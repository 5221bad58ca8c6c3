import type { UiModule } from "./tools.ts";

/** What opens a screen of the web client: its module is on, and its pair is allowed. */
export interface PageGate {
  readonly path: string;
  readonly pair?: { readonly type: string; readonly action: string };
  readonly module?: UiModule;
}

const viewAll = <Type extends string>(type: Type) => ({ type, action: "view_all" }) as const;

/** The screens of the web client, in the order of its navigation. Whoever has tasks may have requests to answer. */
export const screenGates = {
  home: { path: "/" },
  tools: { path: "/tools", pair: viewAll("tools") },
  delegations: { path: "/delegations", pair: viewAll("delegations"), module: "agents" },
  why: { path: "/why", pair: viewAll("decisions") },
  requests: { path: "/requests", pair: viewAll("tasks") },
  secrets: { path: "/secrets", pair: viewAll("secrets"), module: "secrets" },
  systems: { path: "/systems", pair: { type: "system", action: "view" } },
  policies: { path: "/policies", pair: { type: "policies", action: "view" }, module: "pdp" },
} as const satisfies Readonly<Record<string, PageGate>>;

export type ScreenId = keyof typeof screenGates;

/**
 * The pages that there are (`{name}` is one segment), and the screen whose gate each has. Home, one decision, one request and
 * the definitions of what one owns may be opened by anybody signed in: the server says how much of it they see. The gateway answers these paths with the client, which has a route for each.
 */
export const pages = {
  "/": undefined,
  "/tools": "tools",
  "/tools/{name}": "tools",
  "/delegations": "delegations",
  "/delegations/new": "delegations",
  "/delegations/{id}": "delegations",
  "/why": "why",
  "/why/{decisionId}": undefined,
  "/requests": "requests",
  "/requests/{id}": undefined,
  "/secrets": "secrets",
  "/secrets/one": "secrets",
  "/systems": "systems",
  "/systems/new": "systems",
  "/systems/import": "systems",
  "/systems/{name}": "systems",
  "/definitions": undefined,
  "/policies": "policies",
  "/policies/{id}": "policies",
  "/policies/versions/new": "policies",
  "/policies/versions/{version}": "policies",
} as const satisfies Readonly<Record<string, ScreenId | undefined>>;

export type PagePath = keyof typeof pages;
