import { randomUUID } from "node:crypto";
import { requireScope, type Caller } from "#authn/model/caller.ts";
import { callResolved, callTool } from "./call/call-tool.ts";
import { decideCall } from "./call/decide-call.ts";
import type { AuthorizedCall } from "./call/steps/check-chain.ts";
import { parseIdempotencyKey } from "./call/steps/idempotency.ts";
import type { CallParts, Dialect, ToolCall, ToolReply } from "#crud/tools/tool-call.ts";
import { requireView } from "./call/steps/resolve-tool.ts";
import { createCallLimits } from "./call-limits.ts";
import type { CatalogueKeeper } from "./catalogue-store.ts";
import type { Snapshot } from "#crud/tools/catalogue.ts";
import { guardClient } from "./guard-client.ts";
import type { SealedCursors } from "#authn/sealing/sealed-cursors.ts";
import { listPermitted, type ListAsk, type ListedTools, type ListParts } from "./list-tools.ts";
import { listRouters, resolveRouted } from "./tool-router.ts";
import { watchList, type Watch } from "./protocol-log.ts";
import type { Tool } from "#crud/tools/tool.ts";
import type { View } from "#crud/tools/views.ts";

export const scopes = { list: "mcp.tools.discovery", call: "mcp.tools.invoke" } as const;

/** One request at the tool protocol, past the caller and view steps; keeps one snapshot to its end. */
export interface Visit {
  readonly caller: Caller;
  readonly view: View;
  readonly snapshot: Snapshot;
  readonly dialect: Dialect;
  readonly correlationId: string;
}

export interface ToolServiceParts extends CallParts, Watch {
  readonly catalogue: CatalogueKeeper;
  readonly cursor: SealedCursors<string>;
  readonly decided: ListParts["decided"];
  readonly firstPartyClients: readonly string[];
  readonly maxCalls: number;
  /** Tools are listed by their short names, and may be called by them. */
  readonly enableRouter: boolean;
}

/** Both dialects meet here: one way to list and one way to call. */
export const createToolService = (parts: ToolServiceParts) => {
  const enterCall = createCallLimits(parts.maxCalls);
  const listOf = parts.enableRouter ? listRouters : listPermitted;
  return {
    /** Throws `unknown_client`, `unknown_view`. */
    enter: (caller: Caller, viewName: string, dialect: Dialect, correlationId: string): Visit => {
      guardClient(caller, parts.firstPartyClients);
      const { snapshot } = parts.catalogue;
      return { caller, snapshot, view: requireView(snapshot, viewName, caller.tenant), dialect, correlationId };
    },
    hasView: (viewName: string): boolean => parts.catalogue.snapshot.views.has(viewName),
    list: (visit: Visit, page: Pick<ListAsk, "limit" | "cursor">): Promise<ListedTools> => {
      requireScope(visit.caller, [scopes.list]);
      return watchList({ ...visit, view: visit.view.name }, page.limit, parts, () => listOf({ ...visit, ...page }, parts));
    },
    /** Starts a workflow for who came by its own endpoint. */
    start: async (visit: Visit, tool: Tool, ask: Pick<ToolCall, "arguments" | "signal" | "idempotencyKey">): Promise<ToolReply> => {
      const leave = enterCall(visit.caller);
      try {
        const call = { ...visit, ...ask, method: "start", name: tool.name, isStart: true, callId: randomUUID() };
        return await callResolved({ call, tool }, parts);
      } finally {
        leave();
      }
    },
    /** Decides the start of a workflow, then works on what it would do: one call of the caller's limit. */
    simulate: async <T>(
      visit: Visit,
      tool: Tool,
      { work, ...ask }: Pick<ToolCall, "arguments" | "signal"> & { readonly work: (decided: AuthorizedCall) => Promise<T> },
    ): Promise<T> => {
      const leave = enterCall(visit.caller);
      try {
        const known = { ...visit, ...ask, method: "simulate", name: tool.name, callId: randomUUID(), idempotencyKey: undefined };
        return await work(await decideCall({ call: { ...known, isSimulation: true }, tool }, parts));
      } finally {
        leave();
      }
    },
    call: async (
      visit: Visit,
      ask: Pick<ToolCall, "method" | "name" | "arguments" | "signal" | "concealed"> & { readonly idempotencyKey?: unknown },
    ): Promise<ToolReply> => {
      requireScope(visit.caller, [scopes.call]);
      const idempotencyKey = parseIdempotencyKey(ask.idempotencyKey);
      const leave = enterCall(visit.caller);
      try {
        const resolved = parts.enableRouter ? resolveRouted(visit.snapshot, ask) : ask;
        return await callTool({ ...visit, ...resolved, idempotencyKey, callId: randomUUID() }, parts);
      } finally {
        leave();
      }
    },
  };
};
export type ToolService = ReturnType<typeof createToolService>;
