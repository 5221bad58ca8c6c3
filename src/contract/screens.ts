import { decisionSorts } from "./decisions.ts";
import { freeText, idText, momentText, nodeText, spans, uriText, type Allowed } from "./page-search.ts";
import type { UiModule } from "./tools.ts";

/** What opens a screen of the web client: its module is on, and its pair is allowed. */
export interface PageGate {
  readonly pair?: { readonly type: string; readonly action: string };
  readonly module?: UiModule;
}

/** Groups of the navigation, in its order. */
export const screenGroups = ["Work", "Access", "Tools", "Decisions", "Platform"] as const;

export interface ScreenRow extends PageGate {
  readonly path: string;
  readonly label: string;
  /** None: it stands above the groups. */
  readonly group?: (typeof screenGroups)[number];
  /** A picture of `web/src/ui/icon.tsx`. */
  readonly icon: string;
  /** Pressed after `g`. */
  readonly letter: string;
}

const viewAll = <Type extends string>(type: Type) => ({ type, action: "view_all" }) as const;

/** The screens of the web client by group, in the order of its navigation. People with tasks may have requests to answer. */
export const screens = {
  home: { path: "/", label: "Home", icon: "home", letter: "h" },
  tasks: { path: "/tasks", label: "Tasks", group: "Work", icon: "task", letter: "k", pair: viewAll("tasks"), module: "tasks" },
  workflows: {
    path: "/workflows",
    label: "Workflows",
    group: "Work",
    icon: "workflow",
    letter: "f",
    pair: viewAll("workflows"),
    module: "workflows",
  },
  delegations: {
    path: "/delegations",
    label: "Delegations",
    group: "Access",
    icon: "delegation",
    letter: "d",
    pair: viewAll("delegations"),
    module: "agents",
  },
  requests: { path: "/requests", label: "Requests", group: "Access", icon: "request", letter: "r", pair: viewAll("tasks") },
  tools: { path: "/tools", label: "Tools", group: "Tools", icon: "tool", letter: "t", pair: viewAll("tools") },
  systems: {
    path: "/systems",
    label: "Systems",
    group: "Tools",
    icon: "system",
    letter: "y",
    pair: { type: "system", action: "view" },
  },
  why: { path: "/why", label: "Decisions", group: "Decisions", icon: "decision", letter: "w", pair: viewAll("decisions") },
  policies: {
    path: "/policies",
    label: "Policies",
    group: "Decisions",
    icon: "policy",
    letter: "p",
    pair: { type: "policies", action: "view" },
    module: "pdp",
  },
  secrets: {
    path: "/secrets",
    label: "Secrets",
    group: "Platform",
    icon: "lock",
    letter: "s",
    pair: viewAll("secrets"),
    module: "secrets",
  },
} as const satisfies Readonly<Record<string, ScreenRow>>;

export type ScreenId = keyof typeof screens;

export interface PageRow {
  /** Its module below `web/src/pages/`: `tools/tool-list-page` exports `ToolListPage`. */
  readonly file: string;
  /** The screen whose gate it has. Without one, anybody signed in may open it: the server decides how much they see. */
  readonly screen?: ScreenId;
  /** Limit after gzip of what the page adds to the shell; of Home, of both together. 1 kB is 1000 bytes. */
  readonly maxKilobytes: number;
  /** The parameters of its address. */
  readonly search?: Readonly<Record<string, Allowed>>;
}

/** The first is the one that the inbox opens on. */
export const taskTabs = ["all", "mine", "approve", "overdue"] as const;

/**
 * The pages by path (`{name}` is one segment). The gateway answers these paths with the client; the client has a route for
 * each.
 */
export const pages = {
  "/": { file: "home/home-page", maxKilobytes: 240 },
  "/tools": {
    file: "tools/tool-list-page",
    screen: "tools",
    maxKilobytes: 20,
    search: { q: freeText, provider: freeText, source: ["system", "workflow"], tag: freeText, explain: idText },
  },
  "/tools/{name}": { file: "tools/tool-page", screen: "tools", maxKilobytes: 40, search: { tab: ["try"] } },
  "/delegations": {
    file: "delegations/delegation-list-page",
    screen: "delegations",
    maxKilobytes: 32,
    search: {
      whose: ["mine", "all"],
      status: ["active", "paused", "revoked", "expired", "any"],
      agent: nodeText,
      attention: ["true"],
    },
  },
  "/delegations/new": {
    file: "delegations/grant-page",
    screen: "delegations",
    maxKilobytes: 30,
    search: { step: ["agent", "tools", "limits", "check"], agent: nodeText, tool: idText },
  },
  "/delegations/{id}": {
    file: "delegations/delegation-page",
    screen: "delegations",
    maxKilobytes: 30,
    search: { act: ["revoke", "pause", "resume", "all"] },
  },
  "/why": {
    file: "why/decision-list-page",
    screen: "why",
    maxKilobytes: 20,
    search: {
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
    },
  },
  "/why/{decisionId}": { file: "why/decision-page", maxKilobytes: 20 },
  "/requests": {
    file: "requests/request-list-page",
    screen: "requests",
    maxKilobytes: 15,
    search: {
      as: ["requester", "approver"],
      status: ["pending", "approved", "denied", "expired", "cancelled", "failed"],
    },
  },
  "/requests/{id}": { file: "requests/request-page", maxKilobytes: 15 },
  "/tasks": { file: "tasks/task-list-page", screen: "tasks", maxKilobytes: 20, search: { tab: taskTabs, q: freeText } },
  "/tasks/{id}": { file: "tasks/task-page", screen: "tasks", maxKilobytes: 25, search: { tab: taskTabs, q: freeText, act: ["delegate"] } },
  "/approvals/{id}": { file: "tasks/approval-page", maxKilobytes: 15 },
  "/workflows": {
    file: "workflows/workflow-list-page",
    screen: "workflows",
    maxKilobytes: 20,
    search: { q: freeText, tag: freeText, status: ["serving", "degraded"], pages: /^[1-9][0-9]?$/ },
  },
  "/workflows/{name}": {
    file: "workflows/workflow-page",
    screen: "workflows",
    maxKilobytes: 40,
    search: { tab: ["start", "runs", "versions"], runs: ["live", "mine"] },
  },
  "/workflows/runs/{id}": {
    file: "runs/run-page",
    screen: "workflows",
    maxKilobytes: 25,
    search: { step: /^\/\P{Cc}{1,2000}$/u, act: ["cancel", "suspend", "unsuspend", "retry", "rerun", "takeover"] },
  },
  "/secrets": {
    file: "secrets/secret-list-page",
    screen: "secrets",
    maxKilobytes: 20,
    search: { q: freeText, under: uriText, act: ["write"] },
  },
  "/secrets/one": {
    file: "secrets/secret-page",
    screen: "secrets",
    maxKilobytes: 20,
    search: {
      uri: uriText,
      key: /^\P{Cc}{1,256}$/u,
      version: /^[1-9][0-9]{0,9}$/,
      act: ["write", "rotate", "remove", "copy", "move", "delete", "destroy", "restore"],
    },
  },
  "/systems": {
    file: "systems/system-list-page",
    screen: "systems",
    maxKilobytes: 20,
    search: { q: freeText, state: ["serving", "degraded", "off", "switched_off", "deleted"] },
  },
  "/systems/new": { file: "systems/new-system-page", screen: "systems", maxKilobytes: 140 },
  "/systems/import": {
    file: "imports/import-page",
    screen: "systems",
    maxKilobytes: 42,
    search: { step: ["document", "pick", "connect", "check"], system: idText, q: freeText, tag: freeText },
  },
  "/systems/{name}": {
    file: "systems/system-page",
    screen: "systems",
    maxKilobytes: 170,
    search: { version: /^[1-9][0-9]{0,8}$/, tool: idText, act: ["delete", "rollback", "publish"] },
  },
  "/definitions": {
    file: "definitions/definition-list-page",
    maxKilobytes: 32,
    search: { state: ["proposed", "approved", "drifted", "rejected"], tool: idText },
  },
  "/policies": {
    file: "policies/policy-list-page",
    screen: "policies",
    maxKilobytes: 30,
    search: { q: freeText, status: ["active", "shadow", "draft"], act: ["rollback"] },
  },
  "/policies/{id}": { file: "policies/policy-page", screen: "policies", maxKilobytes: 130, search: { version: idText } },
  "/policies/versions/new": {
    file: "policies/draft-page",
    screen: "policies",
    maxKilobytes: 130,
    search: { from: idText, file: idText },
  },
  "/policies/versions/{version}": {
    file: "policies/version-page",
    screen: "policies",
    maxKilobytes: 130,
    search: { file: idText, replay: idText, act: ["shadow", "unshadow", "activate", "rollback", "delete"] },
  },
} as const satisfies Readonly<Record<string, PageRow>>;

export type PagePath = keyof typeof pages;
